// SPDX-License-Identifier: Apache-2.0
#include "core/limits/rate_limit.h"

#include <gtest/gtest.h>

#include <string>

#include "core/machine/testing.h"

namespace parley::core {
namespace {

using testing::a_send;
using testing::an_agent;

// FL-19, issue 15: an entry does a bounded part of what a rule brings about.
TEST(RateLimit, AChangedRateIsAppliedToVeryMuchThatWaitsLittleByLittle) {
  testing::Bench bench;
  bench.apply(broker_name, an_agent("ana"));
  bench.apply(broker_name, an_agent("bo"));
  ASSERT_TRUE(bench.set("flow.rate.throttled_max", "100000"));
  ASSERT_TRUE(bench.set("flow.rate.agent_out_per_min", "1"));
  ASSERT_TRUE(bench.set("flow.rate.pair_per_min", "0"));
  ASSERT_TRUE(bench.set("flow.rate.agent_in_per_min", "0"));
  ASSERT_TRUE(bench.set("queue_max", "10000"));
  const Gates& gates = bench.tables().messages.gates;
  constexpr size_t waiting = 2 * due_max + 100;
  for (size_t n = 0; n <= waiting; ++n) {
    const std::string name = "m" + std::to_string(n);
    ASSERT_TRUE(bench.apply("ana", a_send("ana", name).to("bo")));
  }
  ASSERT_EQ(gates.throttled(), waiting);
  ASSERT_TRUE(bench.set("flow.rate.agent_out_per_min", "0"));
  EXPECT_EQ(gates.throttled(), waiting - due_max);
  EXPECT_LE(bench.machine.next_deadline(), bench.now);
  // What is sent meanwhile keeps its place behind what waits.
  ASSERT_TRUE(bench.apply("ana", a_send("ana", "last").to("bo")));
  EXPECT_EQ(gates.throttled(), waiting - 2 * due_max);
  bench.wait({});
  EXPECT_EQ(gates.throttled(), 0u);
  EXPECT_GT(bench.machine.next_deadline(), bench.now);
  const Tables& t = bench.tables();
  Seq before;
  size_t count = 0;
  t.agents[t.agents.find("bo")].inbox.walk(t.messages, [&](DeliveryRef ref) {
    const Seq seq = t.messages.message_of(ref).seq;
    EXPECT_LT(before, seq);
    before = seq;
    return ++count <= waiting + 2;
  });
  EXPECT_EQ(count, waiting + 2);
}

}  // namespace
}  // namespace parley::core
