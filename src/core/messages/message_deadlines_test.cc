// SPDX-License-Identifier: Apache-2.0
#include "core/messages/message_deadlines.h"

#include <gtest/gtest.h>

namespace parley::core {
namespace {

MessageRef add_message(MessageRecords& records, Time expires) {
  Message message;
  message.seq = Seq{7};
  message.expires = expires;
  return records.messages.add(message);
}

DeliveryRef add_delivery(MessageRecords& records, MessageRef message) {
  Delivery delivery;
  delivery.message = message;
  delivery.minor = 1;
  return records.deliveries.add(delivery);
}

TEST(MessageDeadlines, AMessageExpiresOnceUnlessItNeverDoes) {
  MessageRecords records;
  MessageDeadlines deadlines(records);
  const MessageRef lasting = add_message(records, base::time_max);
  const MessageRef ref = add_message(records, Time{50});
  deadlines.start_expiry(lasting);
  EXPECT_TRUE(deadlines.all().empty());
  deadlines.start_expiry(ref);
  deadlines.start_expiry(ref);
  ASSERT_EQ(deadlines.all().size(), 1u);
  EXPECT_EQ(deadlines.all().first().slot, ref);
  EXPECT_EQ(deadlines.all().first().minor, 0u);
  deadlines.set_expiry(ref, Time{20});
  ASSERT_EQ(deadlines.all().size(), 1u);
  EXPECT_EQ(deadlines.all().first().at, Time{20});
  EXPECT_EQ(records.messages[ref].expires, Time{20});
  deadlines.stop_expiry(ref);
  deadlines.stop_expiry(ref);
  EXPECT_TRUE(deadlines.all().empty());
}

TEST(MessageDeadlines, ADeliveryIsDueWhenItWasSaidLast) {
  MessageRecords records;
  MessageDeadlines deadlines(records);
  const DeliveryRef ref = add_delivery(records, add_message(records, base::time_max));
  deadlines.start_due(ref, Time{30});
  deadlines.start_due(ref, Time{40});
  ASSERT_EQ(deadlines.all().size(), 1u);
  EXPECT_EQ(deadlines.all().first().at, Time{40});
  EXPECT_EQ(deadlines.all().first().seq, Seq{7});
  EXPECT_EQ(deadlines.all().first().minor, 1u);
  EXPECT_EQ(records.deliveries[ref].due, Time{40});
  deadlines.stop_due(ref);
  deadlines.stop_due(ref);
  EXPECT_TRUE(deadlines.all().empty());
  EXPECT_EQ(records.deliveries[ref].due, Time{}) << "none runs";
}

}  // namespace
}  // namespace parley::core
