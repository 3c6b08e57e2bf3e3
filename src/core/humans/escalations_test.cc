// SPDX-License-Identifier: Apache-2.0
#include "core/humans/escalations.h"

#include <gtest/gtest.h>

#include "core/machine/testing.h"
#include "core/model/wire.h"

namespace parley::core {
namespace {

using testing::start_time;

Escalation about(uint64_t message) {
  Escalation escalation;
  escalation.about = Seq{message};
  escalation.agent = "ana";
  escalation.since = start_time;
  return escalation;
}

TEST(Escalations, OneThatIsResolvedGoesBeforeOneThatIsOpenAlsoAfterASnapshot) {
  Escalations before;
  const uint64_t open = before.add(about(1), 2);
  const uint64_t resolved = before.add(about(2), 2);
  before.resolve(resolved, "done by hand", "mia", start_time);
  std::string bytes;
  Writer out(bytes);
  before.encode(out);

  Escalations escalations;
  Reader in(bytes);
  ASSERT_TRUE(escalations.decode(in));
  EXPECT_EQ(escalations.open(), 1u);
  const uint64_t added = escalations.add(about(3), 2);
  EXPECT_EQ(escalations.find(resolved), nullptr);
  EXPECT_NE(escalations.find(open), nullptr);
  EXPECT_NE(escalations.find(added), nullptr);
  EXPECT_EQ(escalations.dropped(), 0u);
}

}  // namespace
}  // namespace parley::core
