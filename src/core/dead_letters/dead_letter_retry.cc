// SPDX-License-Identifier: Apache-2.0
// What the broker does with dead letters by itself. A pass looks at each within dead_letter_pass:
// what another try may help is tried again after a pause that doubles; what cannot be helped is
// passed on to a human when it is critical, and discarded when it is twice as old as it should have
// lived. Each letter has one moment when it is looked at next, so a pass costs what it finds.
#include "core/dead_letters/dead_letter_retry.h"

#include <algorithm>
#include <array>
#include <optional>

#include "core/dead_letters/dead_letter_acts.h"
#include "core/humans/escalation_acts.h"
#include "core/outbox/outbox_acts.h"
#include "core/topics/broker_topics.h"

namespace parley::core {

namespace {

// Passes are at whole multiples of their distance.
Time next_pass(const Rules& rules, Time after) {
  return base::next_multiple(after, rules.dead_letter_pass);
}

Duration backoff(const Rules& rules, uint32_t tries) {
  return Duration{rules.dead_letter_backoff.us << std::min(tries, 20u)};
}

// A message whose sender was refused at once is not retried by the broker: the sender decides. A
// person may retry it.
bool can_be_tried(const Tables& t, const DeadLetter& letter) {
  const MessageRef ref = t.messages.find(letter.message);
  const bool refused = ref != none && t.messages.message(ref).refused;
  return is_retryable(letter.reason) && !refused && letter.tries < t.rules.dead_letter_tries_max;
}

// What a sender's dialect tries again by itself is tried after its own pauses, and not at the next
// pass.
std::optional<Duration> own_pause(const Tables& t, const DeadLetter& letter) {
  const MessageRef ref = t.messages.find(letter.message);
  if (ref == none || !can_be_tried(t, letter)) {
    return std::nullopt;
  }
  const Dialect sender = t.messages.message(ref).dialect;
  return policy_of(sender).retries_delivery ? retry_pause(t.rules, sender, false, letter.tries)
                                            : std::nullopt;
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

// Its failure is put before people.
bool is_critical(const Tables& t, const DeadLetter& letter) {
  const MessageRef ref = t.messages.find(letter.message);
  return ref != none && t.messages.message(ref).priority == Priority::critical;
}

void leave_to_humans(Dispatch& dispatch, DeadLetter& letter) {
  Tables& t = dispatch.t;
  letter.inspected = true;
  if (is_critical(t, letter)) {
    if (!t.escalations.has_room(t.rules, letter.sender)) {  // the next pass looks again
      t.dead_letters.set_due(letter, next_pass(t.rules, t.now + Duration{1}));
      return;
    }
    escalate_dead_letter(dispatch, letter, broker_word);
    dispatch.emit(DeadLetterResolved{
        .id = letter.id, .message = letter.message, .resolution = Resolution::escalated});
    broker_topics::audit(dispatch, "dead_letter_resolved", broker_word, std::to_string(letter.id));
    return;
  }
  const Time stale = stale_at(t, letter);
  t.dead_letters.set_due(letter, stale == base::time_max
                                     ? base::time_max
                                     : next_pass(t.rules, std::max(stale, t.now)));
}

// One that fails again comes back as another letter, which knows how often it was tried.
void retry_delivery(Dispatch& dispatch, DeadLetter& letter) {
  Tables& t = dispatch.t;
  const AgentRef receiver = t.agents.find(letter.receiver);
  if (receiver == none || !t.agents[receiver].is_registered()) {
    leave_to_humans(dispatch, letter);
    return;
  }
  ++letter.tries;
  const MessageRef message = t.messages.find(letter.message);
  if (t.has_room(receiver, t.messages.message(message).sender)) {
    const DeliveryRef ref = t.messages.delivery_to(message, receiver);
    dispatch.revive(ref);
    Delivery& delivery = t.messages.delivery(ref);
    delivery.revivals = static_cast<uint8_t>(letter.tries);
    if (letter.reason == Reason::receiver_unavailable) {
      // The next failure makes a dead letter again: each pass is one try.
      delivery.failures = static_cast<uint8_t>(t.rules.attempts_max - 1);
    }
    resolve_dead_letter(dispatch, letter, Resolution::retried);
    dispatch.pump(receiver);
  } else if (can_be_tried(t, letter)) {
    t.dead_letters.set_due(letter, t.now + backoff(t.rules, letter.tries));
  } else {
    leave_to_humans(dispatch, letter);
  }
}

void retry_or_escalate(Dispatch& dispatch, DeadLetter& letter) {
  Tables& t = dispatch.t;
  const bool waits_for_humans = is_critical(t, letter) && !can_be_tried(t, letter);
  if (letter.inspected && stale_at(t, letter) <= t.now && !waits_for_humans) {
    resolve_dead_letter(dispatch, letter, Resolution::discarded);
  } else if (letter.inspected && can_be_tried(t, letter)) {
    retry_delivery(dispatch, letter);
  } else if (can_be_tried(t, letter) && stale_at(t, letter) > t.now) {
    letter.inspected = true;
    t.dead_letters.set_due(letter, t.now + backoff(t.rules, letter.tries));
  } else {
    leave_to_humans(dispatch, letter);
  }
}

// There are more than dead_letters_max when very many came at once, or the rule was lowered.
bool has_too_many(const Tables& t) { return t.dead_letters.size() > t.rules.dead_letters_max; }

// With what a health report would say of them.
void alert_stewards(Dispatch& dispatch) {
  Tables& t = dispatch.t;
  std::array<int64_t, static_cast<size_t>(reason_last) + 1> counts{};
  uint64_t count = 0;
  for (auto at = t.dead_letters.all().rbegin();
       at != t.dead_letters.all().rend() && count < t.rules.dead_letter_alert; ++at, ++count) {
    ++counts[static_cast<size_t>(at->second.reason)];
  }
  const uint64_t newest = t.dead_letters.all().rbegin()->first;
  std::vector<Fact> facts = {{"dead_letters", static_cast<int64_t>(t.rules.dead_letter_alert)},
                             {"window", t.rules.dead_letter_alert_window},
                             {"pending", static_cast<int64_t>(t.dead_letters.open())},
                             {"newest", static_cast<int64_t>(newest)}};
  for (size_t n = 0; n < counts.size(); ++n) {
    if (counts[n] > 0) {
      facts.push_back({std::string(reason_name(static_cast<Reason>(n))), counts[n]});
    }
  }
  owe_stewards(dispatch, {.kind = OutboxKind::dead_letter_alert,
                          .to = {},
                          .about = {},
                          .priority = Priority::high,
                          .facts = std::move(facts)});
  dispatch.emit(DeadLettersAlarming{.count = t.rules.dead_letter_alert});
}

}  // namespace

void plan_retry(Dispatch& dispatch, DeadLetter& letter) {
  Tables& t = dispatch.t;
  const bool tried_before = letter.tries > 0 && can_be_tried(t, letter);
  const std::optional<Duration> pause = own_pause(t, letter);
  letter.inspected = tried_before || pause;
  t.dead_letters.set_due(letter, pause          ? t.now + *pause
                                 : tried_before ? t.now + backoff(t.rules, letter.tries)
                                                : next_pass(t.rules, t.now));
  if (t.dead_letters.is_alarming(t.now, t.rules.dead_letter_alert,
                                 t.rules.dead_letter_alert_window)) {
    alert_stewards(dispatch);
  }
}

void advance_dead_letters(Dispatch& dispatch) {
  Tables& t = dispatch.t;
  for (size_t n = 0; n < due_max && t.dead_letters.next_due_at() <= t.now; ++n) {
    retry_or_escalate(dispatch, *t.dead_letters.next_due());
  }
}

void resolve_dead_letter(Dispatch& dispatch, DeadLetter& letter, Resolution resolution) {
  Tables& t = dispatch.t;
  release_dead_letter(dispatch, letter);
  t.dead_letters.resolve(letter, resolution, broker_word, t.now);
  dispatch.emit(
      DeadLetterResolved{.id = letter.id, .message = letter.message, .resolution = resolution});
  broker_topics::audit(dispatch, "dead_letter_resolved", broker_word, std::to_string(letter.id));
}

void escalate_dead_letter(Dispatch& dispatch, DeadLetter& letter, std::string_view by) {
  escalate(dispatch, {.cause = EscalationCause::dead_letter,
                      .about = letter.has_original ? letter.message : Seq{},
                      .agent = letter.sender,
                      .receiver = letter.receiver,
                      .why = "dead letter " + std::to_string(letter.id) + ", " +
                             std::string(reason_name(letter.reason)) + ": " + letter.last_error});
  dispatch.t.dead_letters.resolve(letter, Resolution::escalated, by, dispatch.t.now);
}

Time dead_letters_due(const Tables& t) {
  return has_too_many(t) ? t.now : t.dead_letters.next_due_at();
}

void forget_dead_letters(Dispatch& dispatch) {
  Tables& t = dispatch.t;
  for (size_t n = 0; n < due_max && has_too_many(t); ++n) {
    const uint64_t dropped = t.dead_letters.first_to_go();
    release_dead_letter(dispatch, *t.dead_letters.find(dropped));
    t.dead_letters.drop(dropped);
    dispatch.emit(DeadLetterDropped{.id = dropped});
  }
}

}  // namespace parley::core
