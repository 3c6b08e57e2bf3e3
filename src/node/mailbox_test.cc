// SPDX-License-Identifier: Apache-2.0
#include "node/mailbox.h"

#include <gtest/gtest.h>

#include "core/testing.h"

namespace parley::node {
namespace {

core::Entry entry_with(uint64_t number, core::Command command = core::Tick{}) {
  core::Entry entry;
  entry.id = {1, number};
  entry.command = std::move(command);
  return entry;
}

TEST(Mailbox, BatchHoldsTheEntriesInOrder) {
  Mailbox mailbox({});
  ASSERT_TRUE(mailbox.put(entry_with(5, core::Subscribe{"a.b"}), false).has_value());
  ASSERT_TRUE(mailbox.put(entry_with(6), true).has_value());
  Mailbox::Batch batch;
  mailbox.take(batch);
  EXPECT_TRUE(mailbox.empty());
  EXPECT_EQ(batch.first, 5u);
  EXPECT_EQ(batch.last, 6u);
  EXPECT_TRUE(batch.needs_sync);
  const auto payloads = batch.payloads();
  ASSERT_EQ(payloads.size(), 2u);
  const auto first = core::decode_entry({}, {}, payloads[0]);
  ASSERT_TRUE(first.has_value());
  EXPECT_EQ(first->command, core::Command(core::Subscribe{"a.b"}));
  EXPECT_TRUE(core::decode_entry({}, {}, payloads[1]).has_value());
  batch.clear();
  EXPECT_TRUE(batch.empty());
  EXPECT_TRUE(batch.payloads().empty());
}

TEST(Mailbox, BuffersOfAnOldBatchLeaveNothingInTheNext) {
  Mailbox mailbox({});
  Mailbox::Batch batch;
  ASSERT_TRUE(mailbox.put(entry_with(1), true).has_value());
  mailbox.take(batch);
  batch.clear();
  ASSERT_TRUE(mailbox.put(entry_with(2), false).has_value());
  mailbox.take(batch);
  EXPECT_EQ(batch.first, 2u);
  EXPECT_FALSE(batch.needs_sync);
  EXPECT_EQ(batch.payloads().size(), 1u);
}

TEST(Mailbox, RefusesBeyondItsNumber) {
  Mailbox mailbox({.commands_max = 2, .bytes_max = 1'000'000});
  EXPECT_TRUE(mailbox.put(entry_with(1), true).has_value());
  EXPECT_TRUE(mailbox.put(entry_with(2), true).has_value());
  const auto refused = mailbox.put(entry_with(3), true);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, base::Code::overloaded);
}

TEST(Mailbox, RefusesBeyondItsBytesButTakesOneThatIsLarge) {
  Mailbox mailbox({.commands_max = 100, .bytes_max = 100});
  const std::string large(5'000, 'x');
  EXPECT_TRUE(mailbox.put(entry_with(1, core::Subscribe{large}), true).has_value());
  EXPECT_EQ(mailbox.put(entry_with(2), true).error().code, base::Code::overloaded);
}

// What collected during a long sync is stored in parts, each of which takes the loop a short turn.
TEST(Mailbox, MuchIsSeveralBatchesOldestFirst) {
  Mailbox mailbox({.commands_max = 100, .bytes_max = 40'000, .batch_bytes = 10'000});
  const std::string text(4'000, 'x');
  for (uint64_t number = 1; number <= 7; ++number) {
    ASSERT_TRUE(mailbox.put(entry_with(number, core::Subscribe{text}), number == 5).has_value());
  }
  EXPECT_TRUE(mailbox.half_full());
  std::vector<std::pair<uint64_t, uint64_t>> batches;
  std::vector<bool> synced;
  Mailbox::Batch batch;
  while (!mailbox.empty()) {
    mailbox.take(batch);
    batches.emplace_back(batch.first, batch.last);
    synced.push_back(batch.needs_sync);
    EXPECT_EQ(batch.payloads().size(), batch.last - batch.first + 1);
    batch.clear();
  }
  EXPECT_EQ(batches, (std::vector<std::pair<uint64_t, uint64_t>>{{1, 3}, {4, 6}, {7, 7}}));
  EXPECT_EQ(synced, (std::vector<bool>{false, true, false}));
  EXPECT_FALSE(mailbox.half_full());
}

// The limits count all batches, and what was taken is room again.
TEST(Mailbox, TheLimitsAreOfAllBatchesTogether) {
  Mailbox mailbox({.commands_max = 3, .bytes_max = 1'000'000, .batch_bytes = 1});
  for (uint64_t number = 1; number <= 3; ++number) {
    ASSERT_TRUE(mailbox.put(entry_with(number), true).has_value());
  }
  EXPECT_EQ(mailbox.put(entry_with(4), true).error().code, base::Code::overloaded);
  Mailbox::Batch batch;
  mailbox.take(batch);
  EXPECT_EQ(batch.last, 1u);
  EXPECT_TRUE(mailbox.put(entry_with(4), true).has_value());
}

}  // namespace
}  // namespace parley::node
