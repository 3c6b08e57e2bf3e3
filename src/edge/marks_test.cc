// SPDX-License-Identifier: Apache-2.0
#include "edge/marks.h"

#include <gtest/gtest.h>

#include "core/machine/testing.h"

namespace parley::edge {
namespace {

using base::Code;
using core::ResumeMark;
using core::testing::a_send;
using core::testing::an_agent;

TEST(Marks, AreReadAsTheyAreWritten) {
  for (const ResumeMark mark : {ResumeMark{12, 5}, {1, 0}, {UINT32_MAX, UINT32_MAX}}) {
    EXPECT_EQ(parse_mark(mark_text(mark)), mark);
  }
  EXPECT_EQ(mark_text({12, 5}), "12-5");
  for (const std::string_view text : {"", "12", "12-", "-5", "0-5", "12-5-1", "12 -5", "a-b",
                                      "+1-2", "4294967296-1", "1-4294967296", "12--5"}) {
    EXPECT_FALSE(parse_mark(text)) << text;
  }
}

// An agent with a stream that was pushed the first of two messages.
class MarkUpto : public testing::Test {
 protected:
  MarkUpto() {
    bench_.apply(core::broker_name, an_agent("ana"));
    bench_.apply(core::broker_name, an_agent("bo"));
    bo_ = bench_.tables().agents.find("bo");
    open(1);
    first_ = send("m1");
    place_.pushed = mark_;
  }
  void open(uint64_t number) {
    place_.stream = {bench_.origin, number};
    ASSERT_TRUE(bench_.apply(
        "bo", core::OpenStream{.stream = place_.stream, .window = 10, .after = place_.after}));
    const core::Streams& streams = bench_.tables().streams;
    place_.pushed = {streams[streams.find(place_.stream)].number, 0};
  }
  base::Seq send(std::string_view name) {
    const core::Outcome outcome = bench_.apply("ana", a_send("ana", name).to("bo"));
    mark_ = bench_.seen<core::Deliver>().at(0).mark;
    return outcome->message;
  }
  std::expected<ResumeMark, base::Error> upto(const std::string& json) {
    return mark_upto(bench_.tables(), bo_, place_, *document_.parse(json));
  }
  std::expected<ResumeMark, base::Error> upto(base::Seq seq) { return upto(std::to_string(seq.n)); }
  Code refusal(const std::expected<ResumeMark, base::Error>& mark) {
    EXPECT_FALSE(mark);
    EXPECT_EQ(mark ? "" : mark.error().field, "/upto");
    return mark ? Code::conflict : mark.error().code;
  }

  core::testing::Bench bench_;
  core::AgentRef bo_ = core::none;
  StreamPlace place_;
  base::Seq first_;
  ResumeMark mark_;  // of the newest message
  lib::JsonDocument document_;
};

TEST_F(MarkUpto, IsAMarkOrTheSeqOfWhatWasPushed) {
  EXPECT_EQ(upto('"' + mark_text(mark_) + '"'), mark_);
  EXPECT_EQ(upto(first_), mark_);
  for (const std::string json : {"true", "null", "-1", "1.5", "{}", R"("nonsense")", R"("")"}) {
    EXPECT_EQ(refusal(upto(json)), Code::bad_request) << json;
  }
}

TEST_F(MarkUpto, DoesNotCoverWhatWasNotPushedYet) {
  const base::Seq second = send("m2");
  EXPECT_EQ(refusal(upto(second)), Code::not_delivered);
  EXPECT_EQ(refusal(upto('"' + mark_text(mark_) + '"')), Code::not_delivered);
  place_.pushed = mark_;
  EXPECT_EQ(upto(second), mark_);
}

TEST_F(MarkUpto, IsNoneForWhatTheStreamDoesNotHold) {
  bench_.apply("bo", core::Ack{.target = {.seq = first_, .id = {}}});
  EXPECT_EQ(refusal(upto(first_)), Code::not_delivered);
  EXPECT_EQ(refusal(upto(base::Seq{9'999})), Code::not_delivered);
  EXPECT_EQ(refusal(upto(R"("7777-1")")), Code::not_delivered);
}

TEST_F(MarkUpto, StandsForAllThatWasSeenBeforeWhereItIsTheMarkThatWasResumed) {
  place_.after = mark_;
  open(2);
  const ResumeMark seen{place_.pushed.stream, 0};
  EXPECT_EQ(upto('"' + mark_text(place_.after) + '"'), seen);
  EXPECT_EQ(upto('"' + mark_text(seen) + '"'), seen);
  const auto by_seq = upto(first_);
  EXPECT_EQ(refusal(by_seq), Code::not_delivered);
  EXPECT_NE(by_seq.error().detail.find(mark_text(seen)), std::string::npos);
}

// Who names the first of two pushes has not seen what came between them.
TEST_F(MarkUpto, IsNotTheSeqOfWhatWasHandedOutBefore) {
  bench_.apply("bo", core::Nack{.target = {.seq = first_, .id = {}}, .failed = false});
  place_.pushed = bench_.seen<core::Deliver>().at(0).mark;
  EXPECT_EQ(refusal(upto(first_)), Code::not_delivered);
  EXPECT_EQ(upto('"' + mark_text(place_.pushed) + '"'), place_.pushed);
}

}  // namespace
}  // namespace parley::edge
