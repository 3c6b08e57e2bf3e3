// SPDX-License-Identifier: Apache-2.0
#include "core/delivery/forgetting.h"

#include <gtest/gtest.h>

#include <string>

#include "core/delivery/dispatch.h"
#include "core/machine/faults_test.h"
#include "core/machine/testing.h"

namespace parley::core {
namespace {

using testing::a_send;
using testing::an_agent;
using testing::Bench;

// So many messages that were settled are remembered.
Bench with_remembered(size_t count) {
  Bench bench;
  for (const std::string_view rule :
       {"flow.rate.agent_in_per_min", "flow.rate.agent_out_per_min", "flow.rate.pair_per_min",
        "guard.messages_per_day", "guard.ping_pong_max"}) {
    EXPECT_TRUE(bench.set(rule, "0")) << rule;
  }
  bench.apply(broker_name, an_agent("ana"));
  bench.apply(broker_name, an_agent("bo"));
  for (size_t n = 0; n < count; ++n) {
    const auto sent = bench.apply("ana", a_send("ana", "m" + std::to_string(n)).to("bo"));
    EXPECT_TRUE(sent);
    bench.apply("bo", Take{1});
    bench.apply("bo", Ack{.target = {.seq = sent ? sent->message : Seq{}, .id = {}}});
  }
  EXPECT_EQ(bench.tables().remembered.size(), count);
  return bench;
}

TEST(Forgetting, MessagesBeyondALoweredLimitGoInParts) {
  Bench bench = with_remembered(due_max + 3);
  ASSERT_TRUE(bench.set("settled_max", "2"));
  EXPECT_EQ(bench.tables().remembered.size(), 3u);
  EXPECT_LE(bench.machine.next_deadline(), bench.now);
  bench.wait({});
  EXPECT_EQ(bench.tables().remembered.size(), 1u);
  EXPECT_GT(bench.machine.next_deadline(), bench.now);
  EXPECT_EQ(testing::fault_in(bench.tables()), "");
}

TEST(Forgetting, MessagesWhoseTimeIsOverGoInParts) {
  Bench bench = with_remembered(due_max + 3);
  bench.wait(bench.tables().rules.settled_retention);
  bench.wait(base::minutes(1));  // old ones go at whole minutes
  EXPECT_EQ(bench.tables().remembered.size(), 3u);
  EXPECT_LE(bench.machine.next_deadline(), bench.now + base::minutes(1));
  bench.wait(base::minutes(1));
  EXPECT_TRUE(bench.tables().remembered.size() == 0);
}

}  // namespace
}  // namespace parley::core
