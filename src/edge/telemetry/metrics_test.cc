// SPDX-License-Identifier: Apache-2.0
#include "edge/telemetry/metrics.h"

#include <gtest/gtest.h>

#include "core/machine/testing.h"

namespace parley::edge {
namespace {

using core::testing::a_send;
using core::testing::an_agent;

// A machine whose entries are counted.
class MetricsTest : public testing::Test {
 protected:
  MetricsTest() {
    act(core::broker_name, an_agent("ana"));
    act(core::broker_name, an_agent("bo"));
  }
  void act(std::string_view actor, const core::Command& command) {
    const core::Entry entry{
        bench_.machine.seq().next(), bench_.now, {bench_.origin, ++bench_.number},
        core::workspace_first,       actor,      command};
    const core::Outcome outcome = bench_.apply(entry);
    metrics_.messages.applied(bench_.machine, entry, outcome, bench_.effects);
  }
  void pass(base::Duration duration) {
    bench_.now = bench_.now + duration;
    act(core::broker_name, core::Tick{});
  }
  bool tells(const std::string& line) {
    text_ = metrics_.text(bench_.machine, {}, bench_.now);
    return text_.find("\n" + line + "\n") != std::string::npos;
  }

  core::testing::Bench bench_;
  Metrics metrics_{{}, "1"};
  std::string text_;
};

TEST_F(MetricsTest, ARequestThatIsAskedAgainIsAnErrorOnlyWhenItIsGivenUp) {
  core::testing::SendBuilder request = a_send("ana", "m1").to("bo");
  request.send.envelope.kind = core::Kind::request;
  request.send.envelope.response_timeout = base::minutes(1);
  request.send.envelope.on_timeout = core::OnTimeout::retry;
  act("ana", request);
  act("bo", core::Take{1});
  const std::string error = R"(errors_total{agent="ana",type="TIMEOUT"} )";
  pass(base::minutes(1));
  ASSERT_EQ(bench_.seen<core::RequestTimedOut>().size(), 1u);
  EXPECT_FALSE(tells(error + "1")) << text_;
  while (bench_.tables().pending.requests().size() > 0) {
    pass(base::minutes(1));
  }
  EXPECT_TRUE(tells(error + "1")) << text_;
}

TEST_F(MetricsTest, DeadLettersThatHadToGoForOthersAreCounted) {
  for (const char* id : {"m1", "m2", "m3"}) {
    act("ana", a_send("ana", id).to("nobody"));
  }
  EXPECT_TRUE(tells("parley_dead_letters_dropped_total 0")) << text_;
  bench_.set("dead_letters_max", "1");
  EXPECT_TRUE(tells("parley_dead_letters_dropped_total 2")) << text_;
}

// Names that users choose must not make the metrics grow without end.
TEST_F(MetricsTest, ErrorsNameTheFirstAgentsAndCountTheOthersTogether) {
  for (size_t n = 0; n < MessageMetrics::named_agents_max + 2; ++n) {
    metrics_.messages.refused(base::Code::bad_request, "agent-" + std::to_string(n));
  }
  metrics_.messages.refused(base::Code::bad_request, "agent-0");
  EXPECT_TRUE(tells(R"(errors_total{agent="agent-0",type="BAD_REQUEST"} 2)")) << text_;
  EXPECT_TRUE(tells(R"(errors_total{agent="agent-99",type="BAD_REQUEST"} 1)")) << text_;
  EXPECT_TRUE(tells(R"(errors_total{agent="other",type="BAD_REQUEST"} 2)")) << text_;
}

TEST_F(MetricsTest, WhatWaitsInAllInboxesIsTold) {
  act("ana", a_send("ana", "m1").to("bo"));
  act("ana", a_send("ana", "m2").to("bo").urgent(core::Priority::high));
  EXPECT_TRUE(tells("parley_queue_depth 2")) << text_;
  EXPECT_TRUE(tells(R"(queue_depth{priority="high"} 1)")) << text_;
}

}  // namespace
}  // namespace parley::edge
