// SPDX-License-Identifier: Apache-2.0
#include "sim/checks/delivery/retries.h"

#include <algorithm>
#include <utility>

#include "sim/text.h"

namespace parley::sim {

// CO-08
void RetryChecks::note_try(const Step& step, const SentMessage& sent, Delivery& delivery,
                           const core::Delivery& actual) const {
  const bool was_tried = std::exchange(delivery.tried, core::is_tried(actual.gate));
  if (!delivery.tried || (was_tried && delivery.due == actual.due)) {
    return;
  }
  delivery.retries = was_tried ? delivery.retries + 1 : 0;
  const core::Delays& delays = model_.rules.collab_retry_delays;
  const uint64_t places = model_.places_for(sent, delivery.receiver);
  const bool full = was_tried ? was_full(step, sent, delivery)
                              : step.after.tables().load_of(actual.receiver) >= places ||
                                    model_.queue_sizes[delivery.receiver] >= places;
  const bool may_be =
      sent.dialect == core::Dialect::collab && sent.topic.empty() &&
      (full || (actual.gate == core::Gate::presence &&
                (model_.is_away(delivery.receiver) || delivery.receiver == step.entry.actor)));
  if (!may_be || delivery.retries >= delays.count ||
      actual.due != model_.now + delays.pauses[delivery.retries]) {
    model_.fail(Check::care, step,
                text("{} to {} is tried again, and should not be, or not then", sent.seq.n,
                     delivery.receiver));
  }
}

// The core does what is due by its time, and at one time by the message's seq. So an entry may fill
// an inbox and empty it again after the try. Where the effects do not say which came first, the
// inbox counts as the fuller one.
bool RetryChecks::was_full(const Step& step, const SentMessage& tried,
                           const Delivery& delivery) const {
  const auto before = model_.queue_sizes.find(delivery.receiver);
  uint64_t load = before == model_.queue_sizes.end() ? 0 : before->second;
  uint64_t freed = 0;
  for (const auto& [seq, sent] : model_.messages) {
    for (const Delivery& other : sent.deliveries) {
      if (seq != tried.seq && other.receiver == delivery.receiver) {
        load += went_in(step, sent, other, tried, delivery.due_before) ? 1 : 0;
        freed += went_out(step, sent, other, tried, delivery.due_before) ? 1 : 0;
      }
    }
  }
  return load >= model_.places_for(tried, delivery.receiver) + freed;
}

// True when `delivery`, which was tried as well, may have gone into the queue before `tried`, which
// was due at `due`. It goes in when it is due, or before its time together with a newer message of
// its sender: no message overtakes an older one of the same sender.
bool RetryChecks::went_in(const Step& step, const SentMessage& sent, const Delivery& delivery,
                          const SentMessage& tried, Time due) const {
  if (!delivery.tried_before) {
    return false;
  }
  const core::Tables& t = step.after.tables();
  const core::MessageRef message = t.messages.find(sent.seq);
  const core::DeliveryRef ref =
      message == core::none ? core::none
                            : t.messages.delivery_to(message, t.agents.find(delivery.receiver));
  const State state = ref == core::none ? delivery.state : t.messages.delivery(ref).state;
  const bool still_tried = ref != core::none && core::is_tried(t.messages.delivery(ref).gate);
  const bool handed_out = ref != core::none && t.messages.delivery(ref).attempts > 0;
  if (still_tried || (state == State::dead && !handed_out)) {
    return false;
  }
  return std::ranges::any_of(model_.messages, [&](const auto& item) {
    const SentMessage& newer = item.second;
    const auto same = std::ranges::find(newer.deliveries, delivery.receiver, &Delivery::receiver);
    return newer.seq >= sent.seq && newer.sender == sent.sender && same != newer.deliveries.end() &&
           same->tried_before &&
           std::pair(same->due_before, newer.seq) <= std::pair(due, tried.seq) &&
           (state != State::expired || same->due_before < sent.expires_before);
  });
}

// True when `delivery`, which was in the queue, has certainly left it before `tried`, which was due
// at `due`: it expired while it waited, or its last lease ended.
bool RetryChecks::went_out(const Step& step, const SentMessage& sent, const Delivery& delivery,
                           const SentMessage& tried, Time due) const {
  if (delivery.tried_before || core::is_final(delivery.state_before)) {
    return false;
  }
  const bool was_held = core::is_held(delivery.state_before);
  const bool by_command =
      done<core::Nack>(step) != nullptr || done<core::CloseStream>(step) != nullptr;
  const bool given_up =
      delivery.state == State::dead && was_held && delivery.due_before <= model_.now &&
      !by_command && std::ranges::any_of(model_.dead_letters, [&](const auto& item) {
        const DeadLetter& letter = item.second;
        return letter.message == sent.seq && letter.receiver == delivery.receiver &&
               letter.reason == core::Reason::receiver_unavailable && letter.failed == model_.now;
      });
  if (delivery.state != State::expired && !given_up) {
    return false;
  }
  const Time left = given_up   ? delivery.due_before
                    : was_held ? std::max(delivery.due_before, sent.expires_before)
                               : sent.expires_before;
  return std::pair(left, sent.seq) < std::pair(due, tried.seq);
}

}  // namespace parley::sim
