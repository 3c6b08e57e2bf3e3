// SPDX-License-Identifier: Apache-2.0
#include "core/delivery/messages.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace parley::core {
namespace {

MessageId id_of(uint8_t sender, uint8_t name) {
  MessageId id;
  id.bytes[0] = sender;
  id.bytes[8] = name;
  return id;
}

Message a_message(uint64_t seq, AgentRef sender, const MessageId& id, bool named) {
  Message message;
  message.seq = Seq{seq};
  message.sender = sender;
  message.id = id;
  message.named = named;
  return message;
}

// XD-01: two senders may name a message alike; a receiver is told of those that it got.
TEST(Messages, AreFoundByTheHalfThatIsOfTheirNameAlone) {
  Messages messages(7);
  constexpr AgentRef ana = 1;
  constexpr AgentRef bo = 2;
  constexpr AgentRef cy = 3;
  const MessageRef of_ana = messages.add(a_message(1, ana, id_of(1, 9), true));
  const MessageRef of_bo = messages.add(a_message(2, bo, id_of(2, 9), true));
  const MessageRef other = messages.add(a_message(3, bo, id_of(2, 8), true));
  const MessageRef uuid = messages.add(a_message(4, bo, id_of(3, 9), false));
  for (const MessageRef ref : {of_ana, of_bo, other, uuid}) {
    messages.add_delivery(ref, cy, Time{});
  }
  const uint64_t half = id_of(0, 9).low();
  std::vector<MessageRef> found = messages.find_named(cy, half);
  std::ranges::sort(found);
  EXPECT_EQ(found, (std::vector<MessageRef>{of_ana, of_bo}));
  EXPECT_TRUE(messages.find_named(ana, half).empty()) << "it did not get them";
  messages.remove(of_ana);
  EXPECT_EQ(messages.find_named(cy, half), std::vector<MessageRef>{of_bo});
}

// CO-01: what is open in an agent's outbox is counted by message, not by receiver.
TEST(Messages, CountsWhatIsOpenOfASender) {
  Messages messages(7);
  constexpr AgentRef ana = 5;
  EXPECT_EQ(messages.open_of(ana), 0u);
  const MessageRef first = messages.add(a_message(1, ana, id_of(1, 1), false));
  const MessageRef second = messages.add(a_message(2, ana, id_of(1, 2), false));
  const DeliveryRef to_one = messages.add_delivery(first, 1, Time{});
  const DeliveryRef to_two = messages.add_delivery(first, 2, Time{});
  messages.add_delivery(second, 1, Time{});
  EXPECT_EQ(messages.open_of(ana), 2u);
  messages.note_end(to_one);
  EXPECT_EQ(messages.open_of(ana), 2u);
  messages.note_end(to_two);
  EXPECT_EQ(messages.open_of(ana), 1u);
  messages.note_revival(to_one);
  EXPECT_EQ(messages.open_of(ana), 2u);
  messages.remove(first);
  EXPECT_EQ(messages.open_of(ana), 1u);
}

// One agent's mail is found without a walk over everyone's.
TEST(Messages, FindsWhatIsOpenToOneReceiver) {
  Messages messages(7);
  constexpr AgentRef ana = 5;
  std::vector<DeliveryRef> to_bo;
  std::vector<MessageRef> sent;
  for (uint64_t n = 1; n <= 6; ++n) {
    Message message = a_message(n, ana, id_of(1, static_cast<uint8_t>(n)), false);
    message.time = Time{static_cast<int64_t>(n)};
    sent.push_back(messages.add(message));
    to_bo.push_back(messages.add_delivery(sent.back(), 2, Time{}));
    messages.add_delivery(sent.back(), 3, Time{});
  }
  const auto open = [&](AgentRef receiver) {
    std::vector<uint64_t> seqs;
    messages.each_open(receiver, [&](DeliveryRef ref, const Delivery& delivery) {
      EXPECT_EQ(delivery.receiver, receiver);
      seqs.push_back(messages.message_of(ref).seq.n);
    });
    return seqs;
  };
  EXPECT_EQ(open(2), (std::vector<uint64_t>{6, 5, 4, 3, 2, 1}));
  EXPECT_EQ(messages.open_by_priority()[static_cast<size_t>(Priority::normal)], 12u);
  EXPECT_EQ(messages.oldest_open(), Time{1});
  EXPECT_TRUE(open(1).empty());
  EXPECT_TRUE(open(99).empty());
  messages.note_end(to_bo[5]);
  messages.note_end(to_bo[2]);
  messages.note_end(to_bo[0]);
  EXPECT_EQ(open(2), (std::vector<uint64_t>{5, 4, 2}));
  messages.note_revival(to_bo[2]);
  messages.remove(sent[3]);
  EXPECT_EQ(open(2), (std::vector<uint64_t>{3, 5, 2}));
  EXPECT_EQ(open(3), (std::vector<uint64_t>{6, 5, 3, 2, 1}));
  messages.set_receiver(to_bo[1], 3);
  messages.set_receiver(to_bo[5], 3);
  EXPECT_EQ(open(2), (std::vector<uint64_t>{3, 5}));
  EXPECT_EQ(open(3), (std::vector<uint64_t>{2, 6, 5, 3, 2, 1})) << "one that ended stays ended";
  for (const MessageRef ref : {sent[0], sent[1], sent[2], sent[4], sent[5]}) {
    messages.remove(ref);
  }
  EXPECT_TRUE(open(2).empty());
  EXPECT_TRUE(open(3).empty());
  EXPECT_EQ(messages.open_by_priority()[static_cast<size_t>(Priority::normal)], 0u);
  EXPECT_EQ(messages.oldest_open(), base::time_max);
}

}  // namespace
}  // namespace parley::core
