// SPDX-License-Identifier: Apache-2.0
// What the broker does with dead letters by itself. A pass looks at each within dead_letter_pass:
// what another try may help is tried again after a pause that doubles; what cannot be helped is
// passed on to a human when it is critical, and discarded when it is twice as old as it should have
// lived. Each letter has one moment when it is looked at next, so a pass costs what it finds.
#include <algorithm>
#include <array>
#include <optional>

#include "core/delivery/dispatch.h"
#include "core/topics/broker_topics.h"

namespace parley::core {

namespace {

constexpr std::string_view system_name = "system";

// Passes are at whole multiples of their distance.
Time next_pass(const Rules& rules, Time after) {
  const int64_t distance = rules.dead_letter_pass.us;
  return after.us > base::time_max.us - distance ? base::time_max
                                                 : Time{(after.us / distance + 1) * distance};
}

Duration backoff(const Rules& rules, uint32_t tries) {
  return Duration{rules.dead_letter_backoff.us << std::min(tries, 20u)};
}

// Whose sender was told at once sends it again itself, or not: only a person may do it for it.
bool can_be_tried(const Tables& t, const DeadLetter& letter) {
  const MessageRef ref = t.messages.find(letter.message);
  const bool refused = ref != none && t.messages.message(ref).refused;
  return is_retryable(letter.reason) && !refused && letter.tries < t.rules.dead_letter_tries_max;
}

// A collab sender's messages are tried again after its own pauses, and not at the next pass.
std::optional<Duration> own_pause(const Tables& t, const DeadLetter& letter) {
  const MessageRef ref = t.messages.find(letter.message);
  if (ref == none || t.messages.message(ref).dialect != Dialect::collab ||
      !can_be_tried(t, letter)) {
    return std::nullopt;
  }
  return retry_pause(t.rules, Dialect::collab, false, letter.tries);
}

// When it is no use any more: at twice its time to live. A malformed one has that of any message.
Time stale_at(const Tables& t, const DeadLetter& letter) {
  const MessageRef ref = t.messages.find(letter.message);
  if (ref == none) {
    return letter.failed_at + t.rules.flow_ttl_normal + t.rules.flow_ttl_normal;
  }
  const Message& message = t.messages.message(ref);
  return message.ttl.us == 0 ? base::time_max : message.time + message.ttl + message.ttl;
}

}  // namespace

void Dispatch::plan_retry(DeadLetter& letter) {
  const bool tried_before = letter.tries > 0 && can_be_tried(t_, letter);
  const std::optional<Duration> pause = own_pause(t_, letter);
  letter.inspected = tried_before || pause;
  t_.dead_letters.set_due(letter, pause          ? t_.now + *pause
                                  : tried_before ? t_.now + backoff(t_.rules, letter.tries)
                                                 : next_pass(t_.rules, t_.now));
  if (t_.dead_letters.is_alarming(t_.now, t_.rules.dead_letter_alert,
                                  t_.rules.dead_letter_alert_window)) {
    raise_alarm();
  }
}

void Dispatch::retry_dead_letters() {
  for (size_t n = 0; n < due_max && t_.dead_letters.next_due_at() <= t_.now; ++n) {
    retry_or_escalate(*t_.dead_letters.next_due());
  }
}

void Dispatch::retry_or_escalate(DeadLetter& letter) {
  if (letter.inspected && stale_at(t_, letter) <= t_.now) {
    resolve_letter(letter, Resolution::discarded);
  } else if (letter.inspected && can_be_tried(t_, letter)) {
    try_again(letter);
  } else if (can_be_tried(t_, letter) && stale_at(t_, letter) > t_.now) {
    letter.inspected = true;
    t_.dead_letters.set_due(letter, t_.now + backoff(t_.rules, letter.tries));
  } else {
    leave_to_humans(letter);
  }
}

// One that fails again comes back as another letter, which knows how often it was tried.
void Dispatch::try_again(DeadLetter& letter) {
  const AgentRef receiver = t_.agents.find(letter.receiver);
  if (receiver == none || !t_.agents[receiver].is_registered()) {
    leave_to_humans(letter);
    return;
  }
  ++letter.tries;
  if (t_.load_of(receiver) < t_.rules.queue_max) {
    const DeliveryRef ref = t_.messages.delivery_to(t_.messages.find(letter.message), receiver);
    revive(ref);
    Delivery& delivery = t_.messages.delivery(ref);
    delivery.revivals = static_cast<uint8_t>(letter.tries);
    if (letter.reason == Reason::receiver_unavailable) {
      delivery.failures = static_cast<uint8_t>(t_.rules.attempts_max - 1);  // one try is one
    }
    resolve_letter(letter, Resolution::retried);
    pump(receiver);
  } else if (can_be_tried(t_, letter)) {
    t_.dead_letters.set_due(letter, t_.now + backoff(t_.rules, letter.tries));
  } else {
    leave_to_humans(letter);
  }
}

void Dispatch::leave_to_humans(DeadLetter& letter) {
  letter.inspected = true;
  const MessageRef ref = t_.messages.find(letter.message);
  if (ref != none && t_.messages.message(ref).priority == Priority::critical) {
    escalate(letter, system_name);
    emit(DeadLetterResolved{
        .id = letter.id, .message = letter.message, .resolution = Resolution::escalated});
    broker_topics::audit(t_, *this, "dead_letter_resolved", system_name, std::to_string(letter.id));
    return;
  }
  const Time stale = stale_at(t_, letter);
  t_.dead_letters.set_due(letter, stale == base::time_max
                                      ? base::time_max
                                      : next_pass(t_.rules, std::max(stale, t_.now)));
}

void Dispatch::escalate(DeadLetter& letter, std::string_view by) {
  escalate({.cause = EscalationCause::dead_letter,
            .about = letter.has_original ? letter.message : Seq{},
            .agent = letter.sender,
            .receiver = letter.receiver,
            .why = "dead letter " + std::to_string(letter.id) + ", " +
                   std::string(reason_name(letter.reason)) + ": " + letter.last_error});
  t_.dead_letters.resolve(letter, Resolution::escalated, by, t_.now);
}

void Dispatch::resolve_letter(DeadLetter& letter, Resolution resolution) {
  release(letter);
  t_.dead_letters.resolve(letter, resolution, system_name, t_.now);
  emit(DeadLetterResolved{.id = letter.id, .message = letter.message, .resolution = resolution});
  broker_topics::audit(t_, *this, "dead_letter_resolved", system_name, std::to_string(letter.id));
}

// With what a health report would say of them.
void Dispatch::raise_alarm() {
  constexpr size_t told_max = 16;
  std::array<int64_t, static_cast<size_t>(reason_last) + 1> counts{};
  uint64_t count = 0;
  for (auto at = t_.dead_letters.all().rbegin();
       at != t_.dead_letters.all().rend() && count < t_.rules.dead_letter_alert; ++at, ++count) {
    ++counts[static_cast<size_t>(at->second.reason)];
  }
  const uint64_t newest = t_.dead_letters.all().rbegin()->first;
  std::vector<Fact> facts = {{"dead_letters", static_cast<int64_t>(t_.rules.dead_letter_alert)},
                             {"window", t_.rules.dead_letter_alert_window},
                             {"pending", static_cast<int64_t>(t_.dead_letters.open())},
                             {"newest", static_cast<int64_t>(newest)}};
  for (size_t n = 0; n < counts.size(); ++n) {
    if (counts[n] > 0) {
      facts.push_back({std::string(reason_name(static_cast<Reason>(n))), counts[n]});
    }
  }
  std::vector<AgentRef> stewards = t_.agents.stewards();
  stewards.resize(std::min(stewards.size(), told_max));
  for (const AgentRef steward : stewards) {
    owe({.kind = OutboxKind::dead_letter_alert,
         .to = t_.agents[steward].name,
         .about = {},
         .priority = Priority::high,
         .facts = facts});
  }
  emit(DeadLettersAlarming{.count = t_.rules.dead_letter_alert});
}

}  // namespace parley::core
