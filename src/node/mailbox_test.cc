// SPDX-License-Identifier: Apache-2.0
#include "node/mailbox.h"

#include <gtest/gtest.h>

#include "core/machine/testing.h"

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

// What collects during a long sync is one batch all the same, for one sync.
TEST(Mailbox, AllThatCollectedIsOneBatchInOrder) {
  Mailbox mailbox({});
  Mailbox::Batch batch;
  for (uint64_t from = 1; from <= 101; from += 50) {  // again with the buffers of the one before
    for (uint64_t number = from; number < from + 50; ++number) {
      const std::string text(100'000 + number, 'x');
      ASSERT_TRUE(mailbox.put(entry_with(number, core::Subscribe{text}), number == 5).has_value());
    }
    mailbox.take(batch);
    EXPECT_TRUE(mailbox.empty());
    EXPECT_GT(batch.parts.size(), 3u);
    EXPECT_EQ(batch.first, from);
    EXPECT_EQ(batch.last, from + 49);
    EXPECT_EQ(batch.needs_sync, from == 1);
    const auto payloads = batch.payloads();
    ASSERT_EQ(payloads.size(), 50u);
    size_t bytes = 0;
    for (size_t n = 0; n < payloads.size(); ++n) {
      const auto entry = core::decode_entry({}, {}, payloads[n]);
      ASSERT_TRUE(entry.has_value());
      EXPECT_EQ(std::get<core::Subscribe>(entry->command).topic.size(), 100'000 + from + n);
      bytes += payloads[n].size();
    }
    EXPECT_EQ(batch.bytes, bytes);
    batch.clear();
    EXPECT_TRUE(batch.empty());
    EXPECT_TRUE(batch.payloads().empty());
  }
}

}  // namespace
}  // namespace parley::node
