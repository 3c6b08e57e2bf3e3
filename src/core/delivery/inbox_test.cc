// SPDX-License-Identifier: Apache-2.0
#include "core/delivery/inbox.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "core/machine/testing.h"

namespace parley::core {
namespace {

// The same inbox, written down as simply as can be: everything is worked out anew each time.
class Model {
 public:
  struct Item {
    Seq seq;
    uint64_t channel;
    Priority priority;
    bool delayed;
  };

  explicit Model(Discipline discipline) : discipline_(discipline) {}

  std::map<DeliveryRef, Item>& items() { return items_; }

  void end_delays_before_critical() {
    if (discipline_ == Discipline::bands) {
      return;
    }
    for (auto& [ref, item] : items_) {
      for (const auto& [other_ref, other] : items_) {
        item.delayed &= !(other.channel == item.channel && other.seq > item.seq && !other.delayed &&
                          other.priority == Priority::critical);
      }
    }
  }

  // All that can be handed out, in order.
  std::vector<DeliveryRef> order() const {
    std::vector<DeliveryRef> served;
    std::map<DeliveryRef, Item> left = items_;
    while (true) {
      const DeliveryRef next = first_of(left);
      if (next == none) {
        return served;
      }
      served.push_back(next);
      left.erase(next);
    }
  }

 private:
  DeliveryRef first_of(const std::map<DeliveryRef, Item>& items) const {
    DeliveryRef best = none;
    std::pair<int, uint64_t> best_rank;
    for (const auto& [ref, item] : items) {
      if (item.delayed) {
        continue;
      }
      bool is_head = true;
      Priority urgency = item.priority;
      if (discipline_ == Discipline::channels) {
        for (const auto& [other_ref, other] : items) {
          if (other.channel == item.channel) {
            is_head &= other.seq >= item.seq;
            urgency = std::max(urgency, other.priority);
          }
        }
      }
      const std::pair rank{-static_cast<int>(urgency), item.seq.n};
      if (is_head && (best == none || rank < best_rank)) {
        best = ref;
        best_rank = rank;
      }
    }
    return best;
  }

  Discipline discipline_;
  std::map<DeliveryRef, Item> items_;
};

// What a tick does with it: the first of the rest is due since before the others.
void end_what_is_hurried(Messages& messages, Inbox& inbox, Discipline discipline) {
  const Deadlines& due = messages.deadlines.all();
  while (!due.empty() && due.first().at < Time{1}) {
    inbox.end_delay(messages, discipline, due.first().slot);
  }
}

class InboxDiscipline : public ::testing::TestWithParam<Discipline> {};

TEST_P(InboxDiscipline, AgreesWithTheModelUnderRandomWork) {
  const Discipline discipline = GetParam();
  for (uint32_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    testing::Random random(seed);
    Messages messages(seed);
    Inbox inbox;
    Model model(discipline);
    std::vector<DeliveryRef> outside;  // held: to be put back some time
    uint64_t next_seq = 1;
    const auto put = [&](DeliveryRef ref, bool delayed) {
      messages.delivery(ref).state = delayed ? State::delayed : State::queued;
      if (delayed) {
        messages.deadlines.start_due(ref, Time{1});
      }
      const Message& message = messages.message_of(ref);
      const uint64_t topic = message.topic == none ? 0 : message.topic + 1;
      model.items()[ref] = {message.seq, topic * 100 + message.sender, message.priority, delayed};
      inbox.put(messages, discipline, ref);
    };
    for (int step = 0; step < 120; ++step) {
      const uint32_t dice = random.below(10);
      if (dice < 4) {
        Message message;
        message.seq = Seq{next_seq++};
        message.sender = random.below(3);
        message.topic = random.below(4) == 0 ? random.below(2) : none;
        message.priority = static_cast<Priority>(random.below(8) == 0 ? 3 : random.below(3));
        put(messages.add_delivery(messages.add(message), 9, Time{}), false);
      } else if (dice < 6 && inbox.first() != none) {
        const DeliveryRef ref = inbox.first();
        inbox.take(messages, discipline, ref);
        model.items().erase(ref);
        outside.push_back(ref);
      } else if (dice < 7 && !model.items().empty()) {
        // Any one leaves: expired, or read by name.
        const DeliveryRef ref =
            std::next(model.items().begin(), static_cast<int>(random.below(model.items().size())))
                ->first;
        inbox.take(messages, discipline, ref);
        messages.deadlines.stop_due(ref);
        model.items().erase(ref);
        outside.push_back(ref);
      } else if (dice < 8 && outside.size() > 1) {
        // All at once: a session goes on.
        const auto by_seq = [&](DeliveryRef ref) { return messages.message_of(ref).seq; };
        std::ranges::sort(outside, {}, by_seq);
        for (const DeliveryRef ref : outside) {
          messages.delivery(ref).state = State::queued;
          const Message& message = messages.message_of(ref);
          const uint64_t topic = message.topic == none ? 0 : message.topic + 1;
          model.items()[ref] = {message.seq, topic * 100 + message.sender, message.priority, false};
        }
        inbox.put_all(messages, discipline, outside);
        outside.clear();
      } else if (dice < 9 && !outside.empty()) {
        const size_t at = random.below(outside.size());
        const DeliveryRef ref = outside[at];
        outside.erase(outside.begin() + static_cast<std::ptrdiff_t>(at));
        put(ref, random.below(2) == 0);
      } else {
        for (auto& [ref, item] : model.items()) {
          if (item.delayed && random.below(2) == 0) {
            inbox.end_delay(messages, discipline, ref);
            item.delayed = false;
            break;
          }
        }
      }
      end_what_is_hurried(messages, inbox, discipline);
      model.end_delays_before_critical();
      const std::vector<DeliveryRef> expected = model.order();
      std::vector<DeliveryRef> walked;
      inbox.walk(messages, [&](DeliveryRef ref) {
        walked.push_back(ref);
        return true;
      });
      ASSERT_EQ(walked, expected) << "step " << step;
      ASSERT_EQ(inbox.ready(messages), expected.size()) << "step " << step;
      ASSERT_EQ(inbox.first(), expected.empty() ? none : expected.front()) << "step " << step;
      for (const auto& [ref, item] : model.items()) {
        const Delivery& delivery = messages.delivery(ref);
        ASSERT_EQ(delivery.state == State::delayed, item.delayed) << "step " << step;
        ASSERT_EQ(delivery.timer != none, item.delayed) << "step " << step;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Both, InboxDiscipline,
                         ::testing::Values(Discipline::channels, Discipline::bands),
                         [](const auto& discipline) {
                           return discipline.param == Discipline::channels ? "Channels" : "Bands";
                         });

TEST(Inbox, HurriesFewAtOnceAndTheOthersInOrder) {
  Messages messages(1);
  Inbox inbox;
  std::vector<DeliveryRef> refs;
  const auto put = [&](Priority priority) {
    Message message;
    message.seq = Seq{refs.size() + 1};
    message.sender = 1;
    message.priority = priority;
    refs.push_back(messages.add_delivery(messages.add(message), 9, Time{}));
    if (priority != Priority::critical) {
      messages.delivery(refs.back()).state = State::delayed;
      messages.gates.hold_up(refs.back(), Gate::sender, Time{static_cast<int64_t>(refs.size())});
    }
    inbox.put(messages, Discipline::channels, refs.back());
  };
  for (int n = 0; n < 1'000; ++n) {
    put(Priority::normal);
  }
  EXPECT_EQ(inbox.first(), none);
  put(Priority::critical);
  put(Priority::normal);
  EXPECT_EQ(inbox.first(), refs.front());
  uint64_t ready = inbox.ready(messages);
  EXPECT_LE(ready, 16u);
  while (ready < refs.size() - 1) {
    ASSERT_EQ(messages.deadlines.all().first().at, Time{}) << "the next is due at once";
    ASSERT_EQ(messages.deadlines.all().first().slot, refs[ready]) << "and is the oldest";
    inbox.end_delay(messages, Discipline::channels, refs[ready]);
    ASSERT_LE(inbox.ready(messages), ready + 16);
    ready = inbox.ready(messages);
  }
  EXPECT_EQ(messages.delivery(refs.back()).state, State::delayed) << "it is behind the urgent one";
}

TEST(Inbox, OnlyFlowHasChannels) {
  for (const std::string& name : dialect_list()) {
    const Dialect dialect = *find_dialect(name);
    EXPECT_EQ(policy_of(dialect).discipline.value,
              dialect == Dialect::flow ? Discipline::channels : Discipline::bands);
  }
}

TEST(Inbox, WalkEndsWhenTheVisitorSaysSo) {
  Messages messages(1);
  Inbox inbox;
  for (uint64_t n = 1; n <= 3; ++n) {
    Message message;
    message.seq = Seq{n};
    message.sender = 1;
    inbox.put(messages, Discipline::channels,
              messages.add_delivery(messages.add(message), 9, Time{}));
  }
  int visits = 0;
  inbox.walk(messages, [&](DeliveryRef) { return ++visits < 2; });
  EXPECT_EQ(visits, 2);
}

}  // namespace
}  // namespace parley::core
