// SPDX-License-Identifier: Apache-2.0
#include "sim/checks/delivery/order.h"

#include <algorithm>

#include "sim/text.h"

namespace parley::sim {

void OrderChecks::check(const Step& step, const SentMessage& sent, const Delivery& delivery) {
  if (delivery.receiver == model_.changed_dialect) {
    return;
  }
  if (model_.discipline_of(delivery.receiver) == core::Discipline::bands) {
    check_bands(step, sent, delivery);
  } else {
    check_channels(step, sent, delivery);
  }
}

void OrderChecks::check_bands(const Step& step, const SentMessage& sent, const Delivery& delivery) {
  for (const auto& [seq, other] : model_.messages) {
    for (const Delivery& waiting : other.deliveries) {
      if (waiting.receiver != delivery.receiver || &waiting == &delivery ||
          waiting.state != State::queued || !is_certain(step, other, waiting)) {
        continue;
      }
      const bool passed_over =
          other.priority != sent.priority ? other.priority > sent.priority : other.seq < sent.seq;
      if (passed_over) {
        model_.fail(Check::order, step,
                    text("{} is handed out to {} before {}", sent.seq.n, delivery.receiver, seq.n));
      }
    }
  }
}

void OrderChecks::check_channels(const Step& step, const SentMessage& sent,
                                 const Delivery& delivery) {
  struct Channel {
    Seq head;  // The first that certainly waits. Zero: none does.
    bool ready = false;
    bool is_held_up = false;  // One that is delayed stands before the next by seq.
    core::Priority urgency = core::Priority::low;
  };
  using Key = std::pair<std::string_view, std::string_view>;
  const Key own{sent.topic, sent.sender};
  core::Priority urgency = sent.priority;  // The highest that its own channel may have.
  std::map<Key, Channel> others;
  for (const auto& [seq, other] : model_.messages) {
    for (const Delivery& waiting : other.deliveries) {
      if (waiting.receiver != delivery.receiver || &waiting == &delivery) {
        continue;
      }
      const Key key{other.topic, other.sender};
      const bool certain = is_certain(step, other, waiting);
      if (key == own && certain && other.seq < sent.seq) {
        model_.fail(Check::order, step,
                    text("{} is handed out to {} before {} of its channel", sent.seq.n,
                         delivery.receiver, seq.n));
      }
      if (key == own && !core::is_final(waiting.state) &&
          model_.may_be_free(step, other, waiting)) {
        urgency = std::max(urgency, other.priority);
      }
      if (key != own && certain) {
        Channel& channel = others[key];
        if (channel.head.n == 0) {  // The loop goes by seq, so the first one is the head.
          channel.head = seq;
          channel.ready = waiting.state == State::queued && !channel.is_held_up;
        }
        channel.urgency = std::max(channel.urgency, other.priority);
      }
      // A message that has expired holds its channel up until the core comes to it.
      if (key != own && waiting.state == State::delayed && !waiting.tried &&
          !model_.is_held_up(other) && !is_kept(step, other, waiting)) {
        others[key].is_held_up = true;
      }
    }
  }
  if (done<core::Nack>(step) != nullptr) {
    return;  // The delay of the nack may have stopped any channel.
  }
  for (const auto& [key, channel] : others) {
    const bool first =
        channel.urgency != urgency ? channel.urgency > urgency : channel.head < sent.seq;
    if (channel.ready && first) {
      model_.fail(Check::order, step,
                  text("{} is handed out to {} before the channel of {}", sent.seq.n,
                       delivery.receiver, channel.head.n));
    }
  }
}

// True when the delivery waited before the entry and certainly waits now.
bool OrderChecks::is_certain(const Step& step, const SentMessage& sent,
                             const Delivery& delivery) const {
  const bool waits = delivery.state == State::queued || delivery.state == State::delayed;
  return waits && !delivery.tried && delivery.touched < step.entry.seq &&
         !model_.is_held_up(sent) && !is_kept(step, sent, delivery) &&
         std::min(sent.expires, sent.expires_before) > model_.now;
}

// True when its receiver gets what people decided about it first, and had not got that before this
// entry.
bool OrderChecks::is_kept(const Step& step, const SentMessage& sent,
                          const Delivery& delivery) const {
  const auto decision = sent.decisions.find(delivery.receiver);
  const Delivery* const told =
      decision == sent.decisions.end() ? nullptr : model_.find(decision->second, delivery.receiver);
  return told != nullptr && (told->touched == step.entry.seq ||
                             lacks_decision(model_.messages, sent, delivery.receiver));
}

// After the start of a node an expired message may be at the head, because time passes only with
// the next command.
std::map<std::string, Seq> OrderChecks::ready(bool with_expired) const {
  std::map<std::string, Seq> ready;
  std::set<std::tuple<std::string_view, std::string_view, std::string_view>> seen;
  for (const auto& [seq, sent] : model_.messages) {
    for (const Delivery& delivery : sent.deliveries) {
      if ((delivery.state != State::queued && delivery.state != State::delayed) || delivery.tried ||
          sent.passage != Passage::open || model_.is_paused(sent) ||
          lacks_decision(model_.messages, sent, delivery.receiver)) {
        continue;
      }
      const bool bands = model_.discipline_of(delivery.receiver) == core::Discipline::bands;
      // In a channel only the head can be handed out.
      const bool head = bands || seen.emplace(delivery.receiver, sent.topic, sent.sender).second;
      if (head && delivery.state == State::queued && (with_expired || sent.expires > model_.now)) {
        ready.emplace(delivery.receiver, seq);
      }
    }
  }
  return ready;
}

void OrderChecks::check_idle(const Step& step) {
  const std::map<std::string, Seq> waiting = ready(false);
  for (const auto& [receiver, message] : waiting) {
    for (const auto& [id, stream] : model_.streams) {
      const core::StreamRef ref = step.after.tables().streams.find(id);
      if (stream.agent == receiver && ref != core::none &&
          step.after.tables().streams[ref].held < stream.window) {
        model_.fail(Check::idle, step,
                    text("message {} waits for {} beside a stream with room", message.n, receiver));
      }
    }
    if (!ready_before_.contains(receiver) && !notified_.contains(receiver)) {
      model_.fail(Check::idle, step,
                  text("message {} waits for {}, who was not told", message.n, receiver));
    }
  }
  ready_before_ = ready(true);
}

}  // namespace parley::sim
