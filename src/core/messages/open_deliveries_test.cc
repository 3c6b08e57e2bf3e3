// SPDX-License-Identifier: Apache-2.0
#include "core/messages/open_deliveries.h"

#include <gtest/gtest.h>

#include "core/messages/messages.h"

namespace parley::core {
namespace {

MessageRef add_message(Messages& messages, AgentRef sender, uint64_t n) {
  Message message;
  message.seq = Seq{n};
  message.time = Time{static_cast<int64_t>(n)};
  message.sender = sender;
  message.id.bytes[8] = static_cast<uint8_t>(n);
  return messages.add(message);
}

// CO-01: what is open in an agent's outbox is counted by message, not by receiver.
TEST(OpenDeliveries, CountsWhatIsOpenOfASender) {
  Messages messages(7);
  constexpr AgentRef ana = 5;
  EXPECT_EQ(messages.open.messages_of(ana), 0u);
  const MessageRef first = add_message(messages, ana, 1);
  const MessageRef second = add_message(messages, ana, 2);
  const DeliveryRef to_one = messages.add_delivery(first, 1, Time{});
  const DeliveryRef to_two = messages.add_delivery(first, 2, Time{});
  messages.add_delivery(second, 1, Time{});
  EXPECT_EQ(messages.open.messages_of(ana), 2u);
  messages.open.remove(to_one);
  EXPECT_EQ(messages.open.messages_of(ana), 2u);
  messages.open.remove(to_two);
  EXPECT_EQ(messages.open.messages_of(ana), 1u);
  messages.open.add(to_one);
  EXPECT_EQ(messages.open.messages_of(ana), 2u);
  messages.remove(first);
  EXPECT_EQ(messages.open.messages_of(ana), 1u);
}

// One agent's mail is found without a walk over everyone's.
TEST(OpenDeliveries, FindsWhatIsOpenToOneReceiver) {
  Messages messages(7);
  constexpr AgentRef ana = 5;
  std::vector<DeliveryRef> to_bo;
  std::vector<MessageRef> sent;
  for (uint64_t n = 1; n <= 6; ++n) {
    sent.push_back(add_message(messages, ana, n));
    to_bo.push_back(messages.add_delivery(sent.back(), 2, Time{}));
    messages.add_delivery(sent.back(), 3, Time{});
  }
  const auto open = [&](AgentRef receiver) {
    std::vector<uint64_t> seqs;
    messages.open.each_to(receiver, [&](DeliveryRef ref, const Delivery& delivery) {
      EXPECT_EQ(delivery.receiver, receiver);
      seqs.push_back(messages.message_of(ref).seq.n);
    });
    return seqs;
  };
  EXPECT_EQ(open(2), (std::vector<uint64_t>{6, 5, 4, 3, 2, 1}));
  EXPECT_EQ(messages.open.by_priority()[static_cast<size_t>(Priority::normal)], 12u);
  EXPECT_EQ(messages.open.oldest(), Time{1});
  EXPECT_TRUE(open(1).empty());
  EXPECT_TRUE(open(99).empty());
  messages.open.remove(to_bo[5]);
  messages.open.remove(to_bo[2]);
  messages.open.remove(to_bo[0]);
  EXPECT_EQ(open(2), (std::vector<uint64_t>{5, 4, 2}));
  messages.open.add(to_bo[2]);
  messages.remove(sent[3]);
  EXPECT_EQ(open(2), (std::vector<uint64_t>{3, 5, 2}));
  EXPECT_EQ(open(3), (std::vector<uint64_t>{6, 5, 3, 2, 1}));
  messages.open.set_receiver(to_bo[1], 3);
  messages.open.set_receiver(to_bo[5], 3);
  EXPECT_EQ(open(2), (std::vector<uint64_t>{3, 5}));
  EXPECT_EQ(open(3), (std::vector<uint64_t>{2, 6, 5, 3, 2, 1})) << "one that ended stays ended";
  for (const MessageRef ref : {sent[0], sent[1], sent[2], sent[4], sent[5]}) {
    messages.remove(ref);
  }
  EXPECT_TRUE(open(2).empty());
  EXPECT_TRUE(open(3).empty());
  EXPECT_EQ(messages.open.by_priority()[static_cast<size_t>(Priority::normal)], 0u);
  EXPECT_EQ(messages.open.oldest(), base::time_max);
}

}  // namespace
}  // namespace parley::core
