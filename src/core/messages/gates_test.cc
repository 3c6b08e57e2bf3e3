// SPDX-License-Identifier: Apache-2.0
#include "core/messages/gates.h"

#include <gtest/gtest.h>

namespace parley::core {
namespace {

constexpr AgentRef ana = 1;
constexpr AgentRef bo = 2;
constexpr AgentRef cy = 3;
constexpr Time now{100};

struct Gated {
  MessageRecords records;
  MessageDeadlines deadlines{records};
  Gates gates{records, deadlines};

  MessageRef send(AgentRef sender) {
    Message message;
    message.seq = Seq{records.messages.size() + 1};
    message.sender = sender;
    return records.messages.add(message);
  }

  DeliveryRef deliver(MessageRef message, AgentRef receiver) {
    Delivery delivery;
    delivery.message = message;
    delivery.receiver = receiver;
    delivery.minor = ++records.messages[message].delivery_count;
    delivery.sibling = records.messages[message].deliveries;
    return records.messages[message].deliveries = records.deliveries.add(delivery);
  }

  std::pair<Time, Time> passing_of(AgentRef sender) const { return gates.passing_of(sender, now); }
};

TEST(Gates, CountAMessageOnceHoweverManyOfItsDeliveriesWait) {
  Gated t;
  const MessageRef message = t.send(ana);
  const DeliveryRef to_bo = t.deliver(message, bo);
  const DeliveryRef to_cy = t.deliver(message, cy);
  t.gates.hold_up(to_bo, Gate::sender, Time{200});
  t.gates.hold_up(to_cy, Gate::sender, Time{300});
  EXPECT_EQ(t.gates.throttled(), 1u);
  EXPECT_EQ(t.gates.throttled_of(ana), 1u);
  EXPECT_EQ(t.gates.throttled_of(bo), 0u);
  t.gates.let_pass(to_bo);
  EXPECT_TRUE(t.gates.is_throttled(message));
  EXPECT_TRUE(t.gates.take_drained().empty());
  t.gates.let_pass(to_cy);
  EXPECT_FALSE(t.gates.is_throttled(message));
  EXPECT_EQ(t.gates.throttled_of(ana), 0u);
}

TEST(Gates, NameASenderOnceWhenItsLastMessageIsThrough) {
  Gated t;
  const DeliveryRef first = t.deliver(t.send(ana), bo);
  const DeliveryRef second = t.deliver(t.send(ana), bo);
  t.gates.hold_up(first, Gate::receiver, Time{200});
  t.gates.hold_up(second, Gate::receiver, Time{300});
  t.gates.let_pass(first);
  EXPECT_TRUE(t.gates.take_drained().empty());
  t.gates.let_pass(second);
  EXPECT_EQ(t.gates.take_drained(), std::vector<AgentRef>{ana});
  EXPECT_TRUE(t.gates.take_drained().empty()) << "it was asked before";
}

TEST(Gates, SayWhenASendersFirstAndLastGetThrough) {
  Gated t;
  EXPECT_EQ(t.passing_of(ana), std::pair(now, now)) << "nothing waits";
  const DeliveryRef first = t.deliver(t.send(ana), bo);
  const DeliveryRef second = t.deliver(t.send(ana), bo);
  t.gates.hold_up(first, Gate::sender, Time{200});
  t.gates.hold_up(second, Gate::sender, Time{300});
  EXPECT_EQ(t.passing_of(ana), std::pair(Time{200}, Time{300}));
  t.gates.hold_up(first, Gate::receiver, Time{400});
  EXPECT_EQ(t.passing_of(ana), std::pair(Time{300}, Time{400})) << "one gate after the other";
  EXPECT_EQ(t.gates.throttled_of(ana), 2u) << "it is held up once";
  t.gates.let_pass(first);
  EXPECT_EQ(t.passing_of(ana), std::pair(Time{300}, Time{300}));
}

TEST(Gates, CountWhatIsOutsideByReceiverAndDoNotThrottleIt) {
  Gated t;
  const DeliveryRef away = t.deliver(t.send(ana), bo);
  const DeliveryRef full = t.deliver(t.send(ana), bo);
  t.gates.hold_up(away, Gate::presence, Time{200});
  t.gates.hold_up(full, Gate::room, Time{200});
  t.gates.hold_up(full, Gate::room, Time{300});
  EXPECT_EQ(t.gates.outside_of(bo), 2u) << "tried twice, it waits once";
  EXPECT_EQ(t.gates.outside_of(bo, ana), 2u);
  EXPECT_EQ(t.gates.outside_of(bo, cy), 0u);
  EXPECT_EQ(t.gates.outside_of(ana), 0u);
  EXPECT_EQ(t.gates.throttled(), 0u);
  EXPECT_EQ(t.passing_of(ana), std::pair(now, now));
  t.gates.let_pass(away);
  t.gates.let_pass(full);
  EXPECT_EQ(t.gates.outside_of(bo), 0u);
  EXPECT_EQ(t.gates.outside_of(bo, ana), 0u);
  EXPECT_TRUE(t.gates.take_drained().empty()) << "no limit held it up";
}

TEST(Gates, KnowTheOldestThatIsTriedAgainOfASender) {
  Gated t;
  const DeliveryRef first = t.deliver(t.send(ana), bo);
  const DeliveryRef second = t.deliver(t.send(ana), bo);
  const DeliveryRef of_cy = t.deliver(t.send(cy), bo);
  const DeliveryRef away = t.deliver(t.send(ana), bo);
  for (const DeliveryRef ref : {of_cy, second, first}) {
    t.gates.hold_up(ref, Gate::room, Time{200});
  }
  t.gates.hold_up(away, Gate::presence, Time{100});
  EXPECT_EQ(t.gates.first_tried(bo, ana, Gate::room), first);
  EXPECT_EQ(t.gates.first_tried(bo, ana, Gate::presence), away);
  EXPECT_EQ(t.gates.first_tried(bo, cy, Gate::presence), none);
  EXPECT_EQ(t.gates.first_tried(cy, ana, Gate::room), none);
  t.gates.hold_up(first, Gate::presence, Time{300});
  EXPECT_EQ(t.gates.first_tried(bo, ana, Gate::room), second);
  EXPECT_EQ(t.gates.first_tried(bo, ana, Gate::presence), first);
  t.gates.let_pass(second);
  EXPECT_EQ(t.gates.first_tried(bo, ana, Gate::room), none);
  t.gates.hold_up(of_cy, Gate::removed, Time{300});
  EXPECT_EQ(t.gates.tried_of(bo), (std::vector<DeliveryRef>{first, away}));
}

TEST(Gates, CountNothingOfAFormerOneOfTheName) {
  Gated t;
  const auto publish = [&t](AgentRef sender) {
    const MessageRef message = t.send(sender);
    t.records.messages[message].everyone = true;
    return t.deliver(message, bo);
  };
  const DeliveryRef old = publish(ana);
  const DeliveryRef older = publish(ana);
  t.gates.hold_up(old, Gate::channel, Time{200});
  t.gates.hold_up(older, Gate::turn, Time{300});
  t.gates.part(ana, Seq{3});
  EXPECT_EQ(t.gates.throttled_of(ana), 0u);
  EXPECT_EQ(t.passing_of(ana), std::pair(now, now));
  EXPECT_EQ(t.gates.throttled(), 2u) << "they wait nevertheless";
  const DeliveryRef young = publish(ana);
  EXPECT_FALSE(t.gates.is_behind(t.records.deliveries[young].message));
  t.gates.hold_up(young, Gate::channel, Time{400});
  EXPECT_EQ(t.gates.throttled_of(ana), 1u);
  EXPECT_EQ(t.passing_of(ana), std::pair(Time{400}, Time{400}));
  // Once more: the lines of both go on as one.
  t.gates.part(ana, Seq{4});
  const DeliveryRef youngest = publish(ana);
  EXPECT_EQ(t.gates.throttled_of(ana), 0u);
  t.gates.hold_up(youngest, Gate::channel, Time{500});
  t.gates.let_pass(old);
  EXPECT_EQ(t.records.deliveries[older].due, Time{200}) << "its turn has come";
  t.gates.let_pass(older);
  t.gates.let_pass(young);
  EXPECT_TRUE(t.gates.take_drained().empty()) << "nothing of it is through";
  t.gates.let_pass(youngest);
  EXPECT_EQ(t.gates.take_drained(), std::vector<AgentRef>{ana});
  EXPECT_EQ(t.gates.throttled(), 0u);
}

TEST(Gates, GiveADeliveryItsDeadlineAndEndIt) {
  Gated t;
  const DeliveryRef ref = t.deliver(t.send(ana), bo);
  t.gates.hold_up(ref, Gate::sender, Time{200});
  t.gates.hold_up(ref, Gate::channel, Time{300});
  ASSERT_EQ(t.deadlines.all().size(), 1u);
  EXPECT_EQ(t.deadlines.all().first().at, Time{300});
  EXPECT_EQ(t.records.deliveries[ref].gate, Gate::channel);
  t.gates.let_pass(ref);
  EXPECT_TRUE(t.deadlines.all().empty());
  EXPECT_EQ(t.records.deliveries[ref].gate, Gate::open);
  t.deadlines.start_due(ref, Time{400});  // a lease, say
  t.gates.let_pass(ref);
  EXPECT_TRUE(t.deadlines.all().empty()) << "nothing held it up, but its deadline ends too";
}

TEST(Gates, ListWhatLimitsHoldUpTheOldestFirst) {
  Gated t;
  const MessageRef of_cy = t.send(cy);
  const MessageRef of_ana = t.send(ana);
  const DeliveryRef second = t.deliver(of_ana, cy);
  const DeliveryRef third = t.deliver(of_ana, bo);
  const DeliveryRef first = t.deliver(of_cy, bo);
  t.gates.hold_up(third, Gate::sender, Time{200});
  t.gates.hold_up(second, Gate::sender, Time{300});
  t.gates.hold_up(first, Gate::receiver, Time{400});
  t.gates.hold_up(t.deliver(t.send(ana), bo), Gate::room, Time{100});
  const auto from = [&t](Seq seq, size_t enough) {
    return t.gates.throttled_deliveries(seq, enough);
  };
  EXPECT_EQ(from(Seq{}, 9), (std::vector<DeliveryRef>{first, second, third}));
  EXPECT_EQ(from(Seq{}, 1), std::vector<DeliveryRef>{first});
  EXPECT_EQ(from(Seq{}, 2), (std::vector<DeliveryRef>{first, second, third})) << "all of a message";
  const Seq newer = t.records.messages[of_ana].seq;
  EXPECT_EQ(from(newer, 1), (std::vector<DeliveryRef>{second, third}));
}

}  // namespace
}  // namespace parley::core
