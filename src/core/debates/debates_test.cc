// SPDX-License-Identifier: Apache-2.0
#include "core/debates/debates.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "core/machine/testing.h"
#include "core/model/wire.h"

namespace parley::core {
namespace {

using testing::start_time;

DebateStep a_step(uint64_t seq, std::string agent, DebateAct act) {
  return {.message = Seq{seq},
          .id = "m" + std::to_string(seq),
          .agent = std::move(agent),
          .subject = {},
          .act = act,
          .at = start_time};
}

// Bo challenges what ana said in message `seq - 1`.
Debate a_debate(uint64_t seq, std::string thread = "t") {
  Debate debate{.challenger = "bo",
                .challenged = "ana",
                .thread = std::move(thread),
                .opened = Seq{seq},
                .since = start_time,
                .due = start_time + base::minutes(30)};
  debate.steps = {a_step(seq - 1, "ana", DebateAct::claim),
                  a_step(seq, "bo", DebateAct::challenge)};
  return debate;
}

// What is written is the same again, and finds the same.
Debates restored(const Debates& debates) {
  std::string bytes;
  Writer out(bytes);
  debates.encode(out);
  Debates read;
  Reader in(bytes);
  EXPECT_TRUE(read.decode(in) && in.done());
  std::string again;
  Writer second(again);
  read.encode(second);
  EXPECT_EQ(bytes, again);
  return read;
}

// SQ-06
TEST(Debates, AnOpenOneIsFoundByItsMessagesAndAClosedOneByItsPeopleAlone) {
  Debates debates;
  const uint64_t id = debates.add(a_debate(2), 10);
  debates.add_step(id, a_step(3, "ana", DebateAct::defend));
  EXPECT_EQ(debates.find_by_message(Seq{1}), nullptr);  // a claim may be in several
  EXPECT_EQ(debates.find_by_message(Seq{2})->id, id);
  EXPECT_EQ(restored(debates).find_by_message(Seq{3})->id, id);
  EXPECT_EQ(debates.find_between("t", "bo", "ana")->id, id);
  EXPECT_EQ(debates.find_between("t", "ana", "bo"), nullptr);
  EXPECT_EQ(debates.find_between("u", "bo", "ana"), nullptr);
  debates.end(id, {DebateState::revised, "ana", "so be it", start_time});
  EXPECT_EQ(debates.find_by_message(Seq{2}), nullptr);
  EXPECT_EQ(debates.find_between("t", "bo", "ana"), nullptr);
  for (const std::string_view name : {"ana", "bo"}) {
    EXPECT_TRUE(restored(debates).of(name)->contains(id));
  }
  EXPECT_EQ(debates.of("cy"), nullptr);
}

// SQ-06
TEST(Debates, EachChallengeIsAnsweredOnceAndCountsOneRound) {
  Debates debates;
  const uint64_t id = debates.add(a_debate(2), 10);
  EXPECT_EQ(debates.next_due(), start_time + base::minutes(30));
  debates.await(id, start_time + base::hours(9));  // its time runs already
  EXPECT_EQ(debates.next_due(), start_time + base::minutes(30));
  debates.note_answer(id, true);
  debates.note_answer(id, true);  // once more to the same challenge
  EXPECT_EQ(debates.find(id)->rounds, 1u);
  EXPECT_EQ(debates.next_due(), base::time_max);
  debates.await(id, start_time + base::hours(1));
  EXPECT_EQ(restored(debates).first_due(), id);
  EXPECT_EQ(restored(debates).next_due(), start_time + base::hours(1));
  debates.escalate(id, 7);
  EXPECT_EQ(debates.next_due(), base::time_max);  // nobody waits for the agents any more
  EXPECT_EQ(restored(debates).next_due(), base::time_max);
  EXPECT_TRUE(debates.find(id)->is_open());
}

// SQ-02
TEST(Debates, WorkIsHeldByEachDebateOfItsThreadThatHoldsIt) {
  Debates debates;
  debates.note_work("t", Seq{10});
  debates.note_work("t", Seq{11});
  debates.note_work("u", Seq{12});
  const uint64_t first = debates.add(a_debate(2), 10);
  const uint64_t second = debates.add(a_debate(5), 10);
  EXPECT_TRUE(debates.holds_in("t").empty());
  debates.note_severity(first, Severity::critical, true);
  debates.note_severity(second, Severity::critical, true);
  debates.note_severity(second, Severity::minor, false);  // it stays so
  EXPECT_EQ(restored(debates).holds_in("t").size(), 2u);
  EXPECT_EQ(debates.find(second)->severity, Severity::critical);
  EXPECT_TRUE(debates.holds_in("u").empty());
  debates.end(second, {DebateState::withdrawn, "bo", "", start_time});
  EXPECT_EQ(debates.holds_in("t"), (std::vector<Hold>{{HoldReason::challenge, Seq{2}}}));
  debates.done_with(Seq{10});
  debates.done_with(Seq{99});
  EXPECT_EQ(*restored(debates).work_in("t"), (std::set<Seq>{Seq{11}}));
  debates.done_with(Seq{11});
  EXPECT_EQ(debates.work_in("t"), nullptr);
}

// SQ-06: dissent is kept until there must be room.
TEST(Debates, TheOldestEndedOneGoesForRoomAndNoOpenOne) {
  Debates debates;
  const uint64_t open = debates.add(a_debate(2), 2);
  const uint64_t ended = debates.add(a_debate(5), 2);
  debates.end(ended, {DebateState::revised, "ana", "", start_time});
  const uint64_t next = debates.add(a_debate(8), 2);
  EXPECT_NE(debates.find(open), nullptr);
  EXPECT_EQ(debates.find(ended), nullptr);
  EXPECT_EQ(*debates.of("ana"), (std::set<uint64_t>{open, next}));
  EXPECT_EQ(debates.open_of("bo"), 2u);
  std::vector<Seq> live;
  debates.add_live(live);
  EXPECT_EQ(live.size(), 4u);
}

TEST(Debates, BytesThatCannotBeDebatesAreRefused) {
  Debates debates;
  const uint64_t id = debates.add(a_debate(2), 10);
  std::string bytes;
  Writer out(bytes);
  debates.encode(out);
  for (size_t size = 0; size < bytes.size(); ++size) {
    Debates read;
    Reader in(std::string_view(bytes).substr(0, size));
    EXPECT_FALSE(read.decode(in) && in.done()) << size;
  }
  // One that is open, and ended by someone.
  std::string wrong;
  Writer second(wrong);
  Cases<Debate> cases;
  Debate debate = *debates.find(id);
  debate.ended_by = "ana";
  cases.add(debate, 10);
  cases.encode(second);
  second.varint(0);
  Debates read;
  Reader in(wrong);
  EXPECT_FALSE(read.decode(in));
}

}  // namespace
}  // namespace parley::core
