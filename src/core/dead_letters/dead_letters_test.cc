// SPDX-License-Identifier: Apache-2.0
#include "core/dead_letters/dead_letters.h"

#include <gtest/gtest.h>

#include <set>
#include <utility>

#include "core/model/wire.h"

namespace parley::core {
namespace {

TEST(DeadLetters, IdsAreNeverUsedAgain) {
  DeadLetters letters;
  EXPECT_EQ(letters.add({}), 1u);
  EXPECT_EQ(letters.add({}), 2u);
  letters.remove(2);
  EXPECT_EQ(letters.add({}), 3u);
  EXPECT_EQ(letters.find(2), nullptr);
}

TEST(DeadLetters, OldestResolvedGoesFirstElseTheOldest) {
  DeadLetters letters;
  for (int n = 0; n < 4; ++n) {
    letters.add({});
  }
  EXPECT_EQ(letters.first_to_go(), 1u);
  letters.resolve(*letters.find(3), Resolution::discarded, "root", Time{5});
  EXPECT_EQ(letters.first_to_go(), 3u);
  letters.resolve(*letters.find(2), Resolution::retried, "root", Time{6});
  EXPECT_EQ(letters.first_to_go(), 2u);
  letters.remove(2);
  letters.remove(3);
  EXPECT_EQ(letters.first_to_go(), 1u);

  // One that is escalated is still open.
  letters.resolve(*letters.find(4), Resolution::escalated, "root", Time{7});
  EXPECT_EQ(letters.first_to_go(), 1u);
  letters.resolve(*letters.find(4), Resolution::retried, "root", Time{8});
  EXPECT_EQ(letters.first_to_go(), 4u);
  EXPECT_EQ(letters.open(), 1u);

  std::string bytes;
  Writer out(bytes);
  letters.encode_counts(out);
  Reader in(bytes);
  DeadLetters copy;
  copy.decode_counts(in);
  EXPECT_TRUE(copy.restore(letters.all()));
  EXPECT_EQ(copy.first_to_go(), 4u);
  EXPECT_EQ(copy.add({}), 5u);
}

DeadLetter undelivered(uint64_t message, std::string receiver, Reason reason = Reason::rejected) {
  DeadLetter letter;
  letter.message = Seq{message};
  letter.receiver = std::move(receiver);
  letter.reason = reason;
  return letter;
}

TEST(DeadLetters, OpenOnesAreFoundByMessageAndReceiver) {
  DeadLetters letters;
  letters.add(undelivered(7, "ana"));
  letters.add(undelivered(7, "bo"));
  letters.add(undelivered(8, "ana"));
  letters.add(undelivered(9, "", Reason::malformed));
  EXPECT_EQ(letters.find_open(Seq{7}, "ana")->id, 1u);
  EXPECT_EQ(letters.find_open(Seq{7}, "bo")->id, 2u);
  EXPECT_EQ(std::as_const(letters).find_open(Seq{8}, "ana")->id, 3u);
  EXPECT_EQ(letters.find_open(Seq{8}, "bo"), nullptr);
  EXPECT_EQ(letters.find_open(Seq{9}, ""), nullptr);
}

TEST(DeadLetters, OneThatIsNotOpenIsNotFoundByItsMessage) {
  DeadLetters letters;
  letters.add(undelivered(7, "ana"));
  letters.resolve(*letters.find(1), Resolution::escalated, "root", Time{5});
  EXPECT_EQ(letters.find_open(Seq{7}, "ana")->id, 1u);  // a person may still retry it
  letters.resolve(*letters.find(1), Resolution::retried, "root", Time{6});
  EXPECT_EQ(letters.find_open(Seq{7}, "ana"), nullptr);

  // It failed again. That the former letter goes changes nothing.
  letters.add(undelivered(7, "ana"));
  letters.remove(1);
  EXPECT_EQ(letters.find_open(Seq{7}, "ana")->id, 2u);
  letters.drop(2);
  EXPECT_EQ(letters.find_open(Seq{7}, "ana"), nullptr);
  EXPECT_EQ(letters.dropped(), 1u);
}

TEST(DeadLetters, RestoredOnesAreFoundByMessageAndReceiver) {
  DeadLetters letters;
  letters.add(undelivered(7, "ana"));
  letters.add(undelivered(7, "bo"));
  letters.resolve(*letters.find(1), Resolution::discarded, "root", Time{5});
  std::string bytes;
  Writer out(bytes);
  letters.encode_counts(out);
  Reader in(bytes);
  DeadLetters copy;
  copy.decode_counts(in);
  ASSERT_TRUE(copy.restore(letters.all()));
  EXPECT_EQ(copy.find_open(Seq{7}, "ana"), nullptr);
  EXPECT_EQ(copy.find_open(Seq{7}, "bo")->id, 2u);
}

TEST(DeadLetters, CountThoseThatNobodyHasDecidedOn) {
  DeadLetters letters;
  for (int n = 0; n < 4; ++n) {
    letters.add({});
  }
  EXPECT_EQ(letters.pending(), 4u);
  letters.resolve(*letters.find(1), Resolution::escalated, "mia", Time{});
  letters.resolve(*letters.find(2), Resolution::discarded, "mia", Time{});
  EXPECT_EQ(letters.pending(), 2u);
  letters.resolve(*letters.find(1), Resolution::retried, "mia", Time{});
  letters.remove(2);
  letters.remove(3);
  EXPECT_EQ(letters.pending(), 1u);
  DeadLetters copy;
  copy.restore(letters.all());
  EXPECT_EQ(copy.pending(), 1u);
}

// FL-23
TEST(DeadLetters, ComeDueInOrderUntilTheyAreResolved) {
  DeadLetters letters;
  for (int n = 0; n < 3; ++n) {
    letters.add({});
  }
  EXPECT_EQ(letters.next_due(), nullptr);
  EXPECT_EQ(letters.next_due_at(), base::time_max);
  letters.set_due(*letters.find(1), Time{30});
  letters.set_due(*letters.find(2), Time{20});
  letters.set_due(*letters.find(3), Time{20});
  EXPECT_EQ(letters.next_due()->id, 2u);
  letters.set_due(*letters.find(2), Time{40});
  EXPECT_EQ(letters.next_due()->id, 3u);
  letters.resolve(*letters.find(3), Resolution::escalated, "system", Time{20});
  EXPECT_EQ(letters.next_due()->id, 1u);
  letters.remove(1);
  EXPECT_EQ(letters.next_due_at(), Time{40});
}

// FL-23
TEST(DeadLetters, AlarmOnceInAWindow) {
  DeadLetters letters;
  const Duration window = base::seconds(10);
  const auto alarms = [&](int64_t second) {
    return letters.is_alarming(Time{second * 1'000'000}, 3, window);
  };
  EXPECT_FALSE(alarms(100));
  EXPECT_FALSE(alarms(101));
  EXPECT_FALSE(alarms(110));  // the first is too old by now
  EXPECT_FALSE(alarms(111));
  EXPECT_TRUE(alarms(112));
  EXPECT_FALSE(alarms(113));
  EXPECT_FALSE(alarms(121));
  EXPECT_TRUE(alarms(122));
  EXPECT_EQ(letters.alerts(), 2u);
  EXPECT_FALSE(letters.is_alarming(Time{200'000'000}, 0, window));
}

TEST(DeadLetters, EveryReasonHasItsOwnName) {
  std::set<std::string_view> names;
  for (uint8_t n = 0; n <= static_cast<uint8_t>(reason_last); ++n) {
    names.insert(reason_name(static_cast<Reason>(n)));
  }
  EXPECT_EQ(names.size(), size_t{6});
  EXPECT_FALSE(names.contains("unknown"));
}

}  // namespace
}  // namespace parley::core
