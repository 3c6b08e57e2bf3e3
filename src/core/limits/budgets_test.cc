// SPDX-License-Identifier: Apache-2.0
#include "core/limits/budgets.h"

#include <gtest/gtest.h>

#include <string>

#include "core/machine/testing.h"

namespace parley::core {
namespace {

using testing::start_time;

constexpr Duration window = base::hours(1);

// A table with a clock, in words.
struct Court {
  Exchanges exchanges;
  Time now = start_time;
  uint64_t size_max = 1'000;

  uint64_t says(std::string_view from, std::string_view to, std::string_view conversation) {
    const Exchange exchange =
        exchanges.with(Exchanges::key_of(conversation), Exchanges::name_of(from),
                       Exchanges::name_of(to), now, window);
    exchanges.put(exchange, now, window, size_max);
    return exchange.turns;
  }
};

// XD-11
TEST(Guard, TurnsAreCountedWhileTwoAnswerEachOther) {
  Court court;
  EXPECT_EQ(court.says("ana", "bo", "t"), 1u);
  EXPECT_EQ(court.says("bo", "ana", "t"), 2u);
  EXPECT_EQ(court.says("bo", "ana", "t"), 2u);  // once more is no answer
  EXPECT_EQ(court.says("ana", "bo", "t"), 3u);
  EXPECT_EQ(court.says("ana", "bo", "u"), 1u);
}

TEST(Guard, AThirdOneOrAPersonOrTimeEndsTheRally) {
  Court court;
  court.says("ana", "bo", "t");
  court.says("bo", "ana", "t");
  EXPECT_EQ(court.says("cy", "ana", "t"), 1u);
  EXPECT_EQ(court.says("ana", "cy", "t"), 2u);
  court.exchanges.end(Exchanges::key_of("t"));
  EXPECT_EQ(court.says("cy", "ana", "t"), 1u);
  court.now = court.now + window;
  EXPECT_EQ(court.says("ana", "cy", "t"), 1u);
}

// XD-11: a ring of any small length, also when two messages go round in it.
TEST(Guard, ARingIsCountedWhenItCloses) {
  Court court;
  EXPECT_EQ(court.says("ana", "bo", "t"), 1u);
  EXPECT_EQ(court.says("bo", "cy", "t"), 1u);
  EXPECT_EQ(court.says("ana", "bo", "t"), 1u);  // a second one sets out
  EXPECT_EQ(court.says("cy", "di", "t"), 1u);
  EXPECT_EQ(court.says("di", "bo", "t"), 3u);  // ana was only on the way there
  EXPECT_EQ(court.says("bo", "cy", "t"), 4u);
  EXPECT_EQ(court.says("di", "bo", "t"), 4u);  // not its turn
  EXPECT_EQ(court.says("cy", "di", "t"), 5u);
  EXPECT_EQ(court.says("di", "ana", "t"), 1u);  // another way
}

TEST(Guard, ALongChainAndAStarAreNoRings) {
  Court court;
  for (int n = 0; n < 40; ++n) {
    ASSERT_EQ(court.says(std::to_string(n), std::to_string(n + 1), "chain"), 1u);
  }
  EXPECT_EQ(court.says("40", "37", "chain"), 4u);
  for (int n = 0; n < 40; ++n) {  // one who asks others, one after the other
    const std::string other = std::to_string(n % 3);
    ASSERT_EQ(court.says("hub", other, "star"), 1u);
    ASSERT_EQ(court.says(other, "hub", "star"), 2u);
  }
}

TEST(Guard, ThoseWithoutAnAnswerMakeRoomFirst) {
  Court court;
  court.size_max = 10;
  court.says("ana", "bo", "played");
  court.says("bo", "ana", "played");
  for (int n = 0; n < 100; ++n) {
    court.says("ana", "bo", "lost" + std::to_string(n));
    ASSERT_LE(court.exchanges.size(), 10u);
  }
  EXPECT_EQ(court.says("ana", "bo", "played"), 3u);
}

TEST(Guard, AnAdminCanLetAnAgentBeginAnew) {
  Court court;
  court.says("ana", "bo", "t");
  court.says("cy", "di", "u");
  court.exchanges.end_all_of(Exchanges::name_of("bo"));
  EXPECT_EQ(court.exchanges.size(), 1u);
  EXPECT_EQ(court.says("di", "cy", "u"), 2u);
}

TEST(Guard, ARallyOfNoConversationIsNotRead) {
  const auto reads = [](uint64_t key) {
    std::string bytes;
    Writer out(bytes);
    put(Exchange::begin(key, Exchanges::name_of("ana"), Exchanges::name_of("bo"), start_time), out);
    Reader in(bytes);
    Exchange read;
    get(read, in);
    return in.done() && read.is_good();
  };
  EXPECT_TRUE(reads(1));
  EXPECT_FALSE(reads(0));
}

// XD-11
TEST(Guard, ABudgetIsForOneDay) {
  Budget budget;
  budget.turn(start_time);
  budget.messages = 5;
  budget.turn(start_time + base::hours(23));
  EXPECT_EQ(budget.messages, 5u);
  EXPECT_EQ(Budget::day_ends(start_time + base::hours(23)), start_time + base::hours(24));
  EXPECT_EQ(budget.on(start_time + base::hours(24)).messages, 0u);
}

}  // namespace
}  // namespace parley::core
