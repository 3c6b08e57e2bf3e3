// SPDX-License-Identifier: Apache-2.0
#include "core/conversation/sessions.h"

#include <gtest/gtest.h>

#include <array>
#include <set>

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

// Against a walk over all of them: which are one's own, and how many live ones one coordinates.
// Both are as before after a snapshot.
TEST(Sessions, EachPrincipalFindsThoseInWhichItTakesPart) {
  const uint64_t seed = 20'261'118;
  testing::Random random(seed);
  const auto name = [&random] { return "a" + std::to_string(random.below(8)); };
  Sessions sessions;
  for (uint64_t step = 1; step <= 3'000; ++step) {
    const std::string id = "s" + std::to_string(random.below(40));
    Session* const session = sessions.find(id);
    const std::string other = name();
    if (session == nullptr) {
      Session begun;
      begun.id = id;
      begun.began = Seq{step};
      begun.coordinator = name();
      begun.participants = {begun.coordinator};
      begun.started = testing::start_time;
      begun.last_activity = testing::start_time;
      sessions.add(std::move(begun));
    } else if (session->is_over()) {
      sessions.remove(session->began);
    } else if (random.below(4) == 0) {
      constexpr std::array statuses = {SessionStatus::paused, SessionStatus::active,
                                       SessionStatus::completed};
      sessions.set_status(*session, statuses[random.below(3)], testing::start_time);
    } else if (!session->has(other)) {
      sessions.join(*session, other);
    } else if (other != session->coordinator) {
      sessions.leave(*session, other);
    }
    std::string bytes;
    Writer out(bytes);
    sessions.encode(out);
    Reader in(bytes);
    Sessions copy;
    ASSERT_TRUE(copy.decode(in)) << "seed " << seed << " step " << step;
    std::set<Seq> wanted;
    size_t led = 0;
    const std::string asked = name();
    for (const auto& [began, each] : sessions.all()) {
      if (each.has(asked)) {
        wanted.insert(began);
      }
      led += !each.is_over() && each.coordinator == asked ? 1 : 0;
    }
    for (const Sessions* const table : {&sessions, &copy}) {
      const std::set<Seq>* const found = table->of(asked);
      ASSERT_EQ(found == nullptr ? std::set<Seq>{} : *found, wanted) << "seed " << seed;
      ASSERT_EQ(table->led_by(asked), led) << "seed " << seed << " step " << step;
    }
  }
}

}  // namespace
}  // namespace parley::core
