// SPDX-License-Identifier: Apache-2.0
#include "core/handoffs/handoffs.h"

#include <gtest/gtest.h>

#include "core/machine/testing.h"
#include "core/model/wire.h"

namespace parley::core {
namespace {

using testing::start_time;

Handoff a_handoff(uint64_t seq, Kind kind = Kind::request) {
  return {.message = Seq{seq},
          .to = "bo",
          .from = "ana",
          .thread = "t",
          .id = "m" + std::to_string(seq),
          .subject = {},
          .kind = kind,
          .since = start_time,
          .due = start_time + base::minutes(seq),
          .heard = start_time};
}

Handoffs::Key key_of(uint64_t seq) { return {Seq{seq}, "bo"}; }

Handoffs restored(const Handoffs& handoffs) {
  std::string bytes;
  Writer out(bytes);
  handoffs.encode(out);
  Handoffs read;
  Reader in(bytes);
  EXPECT_TRUE(read.decode(in) && in.done());
  std::string again;
  Writer second(again);
  read.encode(second);
  EXPECT_EQ(bytes, again);
  return read;
}

// SQ-04, SQ-05
TEST(Handoffs, AHandoffWaitsForItsAcknowledgementAndAQueryForItsAnswer) {
  Handoffs handoffs;
  handoffs.add(a_handoff(1));
  handoffs.add(a_handoff(2, Kind::query));
  EXPECT_EQ(handoffs.overdue(start_time).size(), 0u);
  EXPECT_EQ(handoffs.overdue(start_time + base::minutes(1)).size(), 1u);
  for (const uint64_t seq : {1, 2}) {
    handoffs.change(key_of(seq), [](Handoff& row) { row.acked = true; });
  }
  const Handoffs read = restored(handoffs);
  ASSERT_EQ(read.overdue(start_time + base::hours(1)).size(), 1u);
  EXPECT_EQ(read.overdue(start_time + base::hours(1)).front()->message, Seq{2});
}

// SQ-05
TEST(Handoffs, WhatIsAnnouncedIsOverdueStill) {
  Handoffs handoffs;
  handoffs.add(a_handoff(1));
  ASSERT_EQ(handoffs.unannounced().size(), 1u);
  handoffs.change(key_of(1), [](Handoff& row) { row.announced = true; });
  EXPECT_TRUE(restored(handoffs).unannounced().empty());
  EXPECT_EQ(restored(handoffs).overdue(start_time + base::minutes(1)).size(), 1u);
  handoffs.remove(key_of(1));
  handoffs.remove(key_of(1));
  EXPECT_TRUE(handoffs.overdue(base::time_max).empty());
  EXPECT_EQ(handoffs.of("ana"), nullptr);
  EXPECT_EQ(handoffs.in_thread("bo", "t"), nullptr);
  EXPECT_EQ(handoffs.of_owner("ana"), 0u);
}

// SQ-07
TEST(Handoffs, OneIsSilentWhenItIsAcknowledgedOrItsReceiverIsBlocked) {
  Handoffs handoffs;
  handoffs.add(a_handoff(1));
  EXPECT_TRUE(handoffs.silent().empty());
  handoffs.change(key_of(1), [](Handoff& row) { row.blocked = true; });
  EXPECT_EQ(handoffs.silent().size(), 1u);
  handoffs.change(key_of(1), [](Handoff& row) {
    row.blocked = false;
    row.acked = true;
    row.heard = start_time + base::minutes(3);
  });
  ASSERT_EQ(restored(handoffs).silent().size(), 1u);
  EXPECT_EQ(restored(handoffs).silent().begin()->first, start_time + base::minutes(3));
  handoffs.change(key_of(1), [](Handoff& row) { row.escalated = true; });
  EXPECT_TRUE(restored(handoffs).silent().empty());
  // A query that was acknowledged waits for its answer, which has its own time.
  handoffs.add(a_handoff(2, Kind::query));
  handoffs.change(key_of(2), [](Handoff& row) { row.acked = true; });
  EXPECT_TRUE(handoffs.silent().empty());
}

TEST(Handoffs, EachPrincipalFindsItsOwn) {
  Handoffs handoffs;
  handoffs.add(a_handoff(1));
  Handoff report = a_handoff(2, Kind::notification);
  report.due = base::time_max;
  handoffs.add(report);
  const Handoffs read = restored(handoffs);
  EXPECT_EQ(read.of("ana")->size(), 2u);
  EXPECT_EQ(read.in_thread("bo", "t")->size(), 2u);
  EXPECT_EQ(read.in_thread("bo", "u"), nullptr);
  EXPECT_EQ(read.in_thread("ana", "t"), nullptr);
  EXPECT_EQ(read.of_owner("ana"), 1u);  // a report is its sender's own
  EXPECT_EQ(read.of_owner("bo"), 1u);
}

// SQ-12
TEST(Handoffs, ASessionIsKnownUntilItsAgentIsGone) {
  Handoffs handoffs;
  EXPECT_EQ(handoffs.session_of("bo"), nullptr);
  handoffs.set_session({"bo", start_time, {}});
  EXPECT_FALSE(restored(handoffs).session_of("bo")->is_over());
  handoffs.set_session({"bo", start_time, start_time + base::seconds(1)});
  EXPECT_TRUE(restored(handoffs).session_of("bo")->is_over());
  handoffs.forget_session("bo");
  handoffs.forget_session("bo");
  EXPECT_EQ(handoffs.session_of("bo"), nullptr);
}

TEST(Handoffs, BytesThatCannotBeHandoffsAreRefused) {
  Handoffs handoffs;
  handoffs.add(a_handoff(1));
  handoffs.set_session({"bo", start_time, {}});
  std::string bytes;
  Writer out(bytes);
  handoffs.encode(out);
  for (size_t size = 0; size < bytes.size(); ++size) {
    Handoffs read;
    Reader in(std::string_view(bytes).substr(0, size));
    EXPECT_FALSE(read.decode(in) && in.done()) << size;
  }
}

}  // namespace
}  // namespace parley::core
