// SPDX-License-Identifier: Apache-2.0
#include "core/messages.h"

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
  messages.add_delivery(first, 1, Time{});
  messages.add_delivery(first, 2, Time{});
  messages.add_delivery(second, 1, Time{});
  EXPECT_EQ(messages.open_of(ana), 2u);
  messages.note_end(first);
  EXPECT_EQ(messages.open_of(ana), 2u);
  messages.note_end(first);
  EXPECT_EQ(messages.open_of(ana), 1u);
  messages.note_revival(first);
  EXPECT_EQ(messages.open_of(ana), 2u);
  messages.remove(first);
  EXPECT_EQ(messages.open_of(ana), 1u);
}

}  // namespace
}  // namespace parley::core
