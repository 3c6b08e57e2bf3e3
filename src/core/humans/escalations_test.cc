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

// One's own are found without a look at those of others, also after a snapshot.
TEST(Escalations, EachAgentFindsItsOwn) {
  Escalations before;
  Escalation others = about(1);
  others.agent = "bo";
  const uint64_t first = before.add(about(1), 3);
  before.add(std::move(others), 3);
  const uint64_t second = before.add(about(2), 3);
  std::string bytes;
  Writer out(bytes);
  before.encode(out);
  Escalations escalations;
  Reader in(bytes);
  ASSERT_TRUE(escalations.decode(in));
  ASSERT_NE(escalations.of("ana"), nullptr);
  EXPECT_EQ(*escalations.of("ana"), (std::set<uint64_t>{first, second}));
  EXPECT_EQ(escalations.of("bo")->size(), 1u);
  EXPECT_EQ(escalations.of("cy"), nullptr);
  escalations.resolve(first, "done by hand", "mia", start_time);
  EXPECT_EQ(*escalations.of("ana"), (std::set<uint64_t>{first, second}));
  const uint64_t third = escalations.add(about(3), 3);  // the resolved one goes
  EXPECT_EQ(*escalations.of("ana"), (std::set<uint64_t>{second, third}));
}

}  // namespace
}  // namespace parley::core
