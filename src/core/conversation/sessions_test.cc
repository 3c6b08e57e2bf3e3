// SPDX-License-Identifier: Apache-2.0
#include "core/conversation/sessions.h"

#include <gtest/gtest.h>

#include "core/machine/testing.h"
#include "core/model/wire.h"

namespace parley::core {
namespace {

// The bytes of one session, without their number.
std::string one(std::string id, uint64_t began) {
  Session session;
  session.id = std::move(id);
  session.began = Seq{began};
  session.coordinator = "ana";
  session.participants = {"ana"};
  session.started = testing::start_time;
  session.last_activity = testing::start_time;
  Sessions sessions;
  sessions.add(std::move(session));
  std::string bytes;
  Writer out(bytes);
  sessions.encode(out);
  return bytes.substr(1);
}

bool is_accepted(const std::string& first, const std::string& second) {
  const std::string bytes = '\2' + first + second;
  Sessions sessions;
  Reader in(bytes);
  return sessions.decode(in);
}

TEST(Sessions, ASnapshotHasThemInTheOrderInWhichTheyBegan) {
  EXPECT_TRUE(is_accepted(one("s1", 5), one("s2", 6)));
  EXPECT_FALSE(is_accepted(one("s1", 6), one("s2", 5)));
  EXPECT_FALSE(is_accepted(one("s1", 5), one("s2", 5)));  // one of them would be lost
  EXPECT_FALSE(is_accepted(one("s1", 5), one("s1", 6)));
}

}  // namespace
}  // namespace parley::core
