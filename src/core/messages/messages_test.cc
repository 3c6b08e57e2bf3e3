// SPDX-License-Identifier: Apache-2.0
#include "core/messages/messages.h"

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

// Numbers of removed records are used again: a new delivery has nothing of the one before it.
TEST(Messages, ForgetsAllOfADelivery) {
  Messages messages(7);
  constexpr AgentRef ana = 1;
  constexpr AgentRef bo = 2;
  Message message = a_message(1, ana, id_of(1, 1), false);
  message.key = id_of(4, 4);
  message.expires = Time{50};
  const MessageRef first = messages.add(message);
  const DeliveryRef ref = messages.add_delivery(first, bo, Time{});
  messages.deadlines.start_expiry(first);
  messages.gates.hold_up(ref, Gate::sender, Time{10});
  messages.marks.set(ref, {3, 1}, {2, 5});
  messages.notes.set_last_error(ref, "it was late");
  messages.notes.set_redirected_from(ref, "cy");
  messages.remove(first);

  EXPECT_EQ(messages.size(), 0u);
  EXPECT_EQ(messages.find(Seq{1}), none);
  EXPECT_EQ(messages.find_sent(ana, id_of(1, 1)), none);
  EXPECT_EQ(messages.find_key(ana, id_of(4, 4)), none);
  EXPECT_TRUE(messages.deadlines.all().empty());
  EXPECT_EQ(messages.open.messages_of(ana), 0u);
  EXPECT_EQ(messages.gates.throttled(), 0u);
  ASSERT_EQ(messages.add_delivery(messages.add(a_message(2, ana, id_of(1, 2), false)), bo, Time{}),
            ref);
  EXPECT_EQ(messages.delivery(ref).gate, Gate::open);
  EXPECT_TRUE(messages.delivery(ref).mark.is_none());
  EXPECT_TRUE(messages.marks.former(ref).is_none());
  EXPECT_EQ(messages.notes.last_error(ref), nullptr);
  EXPECT_EQ(messages.notes.redirected_from(ref), nullptr);
}

}  // namespace
}  // namespace parley::core
