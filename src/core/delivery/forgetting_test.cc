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

// What one sender costs has a bound also where there is room for more. Others lose nothing.
TEST(Forgetting, OneSenderIsRememberedNoFurtherThanItsShare) {
  Bench bench;
  for (const std::string_view rule :
       {"flow.rate.agent_out_per_min", "flow.rate.topic_per_min", "guard.messages_per_day",
        "topic.retained_max"}) {
    ASSERT_TRUE(bench.set(rule, "0")) << rule;
  }
  ASSERT_TRUE(bench.set("settled_max", "100000"));
  ASSERT_TRUE(bench.set("threads_max", "60000"));
  bench.apply(broker_name, an_agent("ana"));
  bench.apply(broker_name, an_agent("gus"));
  const auto publishes = [&bench](const std::string& name, size_t count) {
    for (size_t n = 0; n < count; ++n) {
      const std::string id = name + std::to_string(n);
      auto send = a_send(name, id).to("topic:noise.made");
      send.send.envelope.thread = id;
      ASSERT_TRUE(bench.apply(name, send));
    }
  };
  publishes("ana", 10);
  publishes("gus", share_of_done_min * 2 + 5'000);
  const Tables& t = bench.tables();
  EXPECT_EQ(t.remembered.shares().of("gus"), 20'000u);  // share_percent of settled_max
  EXPECT_EQ(t.threads.most_resting(), 12'000u);         // and of threads_max
  EXPECT_EQ(t.remembered.shares().of("ana"), 10u);
  EXPECT_NE(t.threads.find("ana0"), none);
  EXPECT_EQ(testing::fault_in(t), "");
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
