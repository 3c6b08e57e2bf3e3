// SPDX-License-Identifier: Apache-2.0
#include "sim/checks/delivery/settlements.h"

#include <algorithm>
#include <array>

#include "sim/checks/delivery/shares.h"
#include "sim/checks/groups/tasks.h"
#include "sim/checks/waiting/held.h"
#include "sim/text.h"

namespace parley::sim {

namespace {

// What the message counts at most: a name that nobody has counts like nine deliveries. Of one that
// was forgotten in its own entry nobody knows to how many it went.
uint64_t weight_max(const Step& step, const SentMessage& sent) {
  return sent.seq == step.entry.seq ? 1'000 : 1 + 9 * uint64_t{sent.deliveries.size()};
}

State state_for(core::Reason reason) {
  return reason == core::Reason::ttl_expired ? State::expired
         : reason == core::Reason::rejected  ? State::rejected
                                             : State::dead;
}

// True when the ack of all up to a mark means this delivery.
bool is_upto(const core::Ack& ack, const Delivery& delivery) {
  return delivery.stream == ack.stream && delivery.mark <= ack.upto;
}

// How much of queue_max the receiver uses at the end of the entry.
uint64_t load_after(const Step& step, const std::string& receiver) {
  const core::Tables& t = step.after.tables();
  const core::AgentRef ref = t.agents.find(receiver);
  return ref == core::none ? 0 : t.load_of(ref);
}

}  // namespace

void SettlementChecks::end_broadcasts(const Step& step) {
  if (!std::holds_alternative<core::StartNode>(step.entry.command)) {
    return;
  }
  for (auto& [seq, sent] : model_.messages) {
    if (sent.memory_only && model_.ended_lives.contains(sent.life) && sent.expires > model_.now) {
      sent.expires = sent.expires_before = model_.now;
    }
  }
}

void SettlementChecks::on_settled(const Step& step, const NamedEffect& effect) {
  Delivery* const delivery = model_.find(effect.message, effect.receiver);
  if (delivery == nullptr) {
    model_.fail(Check::receivers, step,
                named(effect.message, effect.receiver) + " was never accepted");
    return;
  }
  SentMessage& sent = model_.messages.at(effect.message);
  const bool answered_later = delivery->state == State::acked && effect.state == State::answered;
  if (core::is_final(delivery->state) && !answered_later) {
    model_.fail(Check::settle, step, named(effect.message, effect.receiver) + " settles twice");
  }
  if (!was_asked(step, effect, sent, *delivery)) {
    model_.fail(Check::settle, step,
                named(effect.message, effect.receiver) + " settles unasked as " +
                    std::string(core::state_name(effect.state)));
  }
  if (effect.state != State::acked && effect.state != State::answered) {
    check_failure(step, effect, sent, *delivery);
  }
  sent.answered = sent.answered || effect.state == State::answered;
  delivery->state = effect.state;
  delivery->stream = core::stream_none;
  delivery->mark = {};
  delivery->former = {};
  delivery->touched = step.entry.seq;
  if (!answered_later) {
    sent.since = model_.now;
  }
  if (effect.state == State::answered) {
    answers_.note_answer(effect.message, effect.receiver);
  } else if (effect.state != State::acked) {
    answers_.note_failure(effect.message, effect.receiver);
  }
}

// True when someone who may do so settled the delivery this way, or when it failed by itself.
bool SettlementChecks::was_asked(const Step& step, const NamedEffect& effect,
                                 const SentMessage& sent, const Delivery& delivery) const {
  const auto* const ack = done<core::Ack>(step);
  const auto* const send = done<core::Send>(step);
  const auto* const reject = done<core::Reject>(step);
  const bool by_receiver = step.entry.actor == effect.receiver;
  if (effect.state == State::acked && answers_.waits_for_people(effect.message, effect.receiver)) {
    return true;  // It has done its work, and people decide on that.
  }
  if (effect.state == State::acked && send != nullptr && by_receiver &&
      send->envelope.in_reply_to == sent.id && send->envelope.is_recoverable) {
    return true;  // It failed for the last time, and the broker tells that.
  }
  const auto* const session = done<core::MarkAgentSession>(step);
  if (effect.state == State::acked && session != nullptr) {
    return session->is_end && session->agent == effect.receiver;
  }
  if (effect.state == State::acked && send != nullptr && by_receiver &&
      send->envelope.kind == core::Kind::acknowledgement && send->envelope.in_reply_to == sent.id) {
    return true;
  }
  if (effect.state == State::acked) {
    return by_receiver &&
           (ack == nullptr                     ? settles_by_reading(step, sent, delivery)
            : ack->stream == core::stream_none ? model_.is_target(step, ack->target, sent, delivery)
                                               : is_upto(*ack, delivery));
  }
  if (effect.state == State::answered) {
    return (send != nullptr && by_receiver && send->envelope.in_reply_to == sent.id) ||
           answers_.passes_on(effect.message, effect.receiver) ||
           answers_.is_in_chain(effect.message, effect.receiver);
  }
  if (effect.state == State::rejected) {
    return (reject != nullptr && model_.is_target(step, reject->target, sent, delivery)) ||
           ((dead_letters_.pending() != nullptr || sent.memory_only) &&
            may_not_take(sent, delivery));
  }
  return true;
}

// An agent that speaks inbox settles a message that needs no answer by reading it.
bool SettlementChecks::settles_by_reading(const Step& step, const SentMessage& sent,
                                          const Delivery& delivery) const {
  const auto* const read = done<core::Read>(step);
  return read != nullptr && read->as == core::Dialect::inbox && !core::asks(sent.kind) &&
         model_.is_target(step, read->target, sent, delivery);
}

// True when the message may be too large for its receiver's dialect. A receiver that speaks the
// sender's dialect, or one without a limit, takes everything.
bool SettlementChecks::may_not_take(const SentMessage& sent, const Delivery& delivery) const {
  const auto at = model_.principals.find(delivery.receiver);
  const bool has_limit =
      at != model_.principals.end() && at->second.kind == core::PrincipalKind::agent &&
      at->second.dialect != sent.dialect &&
      (at->second.dialect == core::Dialect::inbox || at->second.dialect == core::Dialect::collab);
  return (has_limit || delivery.receiver == model_.changed_dialect) && may_be_too_large(sent.bytes);
}

// True when its holder gave it back and said that nobody failed.
bool SettlementChecks::is_unfailed(const Step& step, const SentMessage& sent,
                                   const Delivery& delivery) const {
  const auto* nack = done<core::Nack>(step);
  return nack != nullptr && !nack->failed && model_.is_target(step, nack->target, sent, delivery);
}

// A failure has a dead letter, but for what ends quietly.
void SettlementChecks::check_failure(const Step& step, const NamedEffect& effect,
                                     const SentMessage& sent, const Delivery& delivery) {
  const NamedEffect* const letter = dead_letters_.pending();
  if (sent.sender == core::broker_sender && letter == nullptr) {
    return;  // There is no notice of a notice.
  }
  if (sent.memory_only) {
    const bool in_time = std::min(sent.expires, sent.expires_before) > model_.now;
    if (letter != nullptr || (effect.state == State::expired && in_time)) {
      model_.fail(Check::letter, step,
                  named(effect.message, effect.receiver) +
                      ", which is in memory only, does not end quietly");
    }
    model_.coverage.count("case", "unheard");
    return;
  }
  if (letter == nullptr &&
      (is_superseded(model_, step, effect.message, effect.receiver) || is_withdrawn(sent) ||
       (sent.is_superseded && sent.seq == step.entry.seq))) {
    return;
  }
  if (letter == nullptr && effect.state == State::expired &&
      core::policy_of(sent.dialect).expiry_escalates) {
    check_expired(step, effect, sent);
    return;
  }
  if (letter == nullptr || letter->message != effect.message ||
      state_for(letter->reason) != effect.state) {
    model_.fail(Check::letter, step,
                named(effect.message, effect.receiver) + " fails without a letter");
    return;
  }
  const bool has_true_reason = is_true(step, letter->reason, sent, delivery);
  check_dead_letter(step, *letter, delivery);
  if (!has_true_reason) {
    model_.fail(Check::letter, step,
                text("{} did not fail as {}", named(effect.message, effect.receiver),
                     core::reason_name(letter->reason)));
  }
  dead_letters_.settle_pending(effect.receiver);
}

// It is put before people in place of a dead letter, unless it was for many.
void SettlementChecks::check_expired(const Step& step, const NamedEffect& effect,
                                     const SentMessage& sent) {
  if (std::min(sent.expires, sent.expires_before) > model_.now) {
    model_.fail(Check::letter, step,
                named(effect.message, effect.receiver) + " expires before its time");
  }
  if (!sent.topic.empty()) {
    return;
  }
  model_.coverage.count("case", "expired and escalated");
  dead_letters_.on_expired(sent.sender, effect.message);
  const bool may_be_decided = done<core::ResolveEscalation>(step) != nullptr;
  if (!may_be_decided && !step.after.tables().escalations.is_open_about(effect.message)) {
    model_.fail(Check::letter, step,
                named(effect.message, effect.receiver) + " expires, and nobody is asked to look");
  }
}

// What the dead letter says of the attempts is what happened.
void SettlementChecks::check_dead_letter(const Step& step, const NamedEffect& letter,
                                         const Delivery& delivery) {
  const core::DeadLetter* const kept = step.after.tables().dead_letters.find(letter.letter);
  if (kept == nullptr) {
    return;
  }
  if (delivery.tried && kept->tries != delivery.retries + 1 &&
      letter.reason != core::Reason::receiver_not_found &&
      letter.reason != core::Reason::ttl_expired) {
    model_.fail(Check::care, step,
                text("{} says that it was tried {} times, was {} times",
                     named(letter.message, delivery.receiver), kept->tries, delivery.retries + 1));
  }
  // An attempt fails. A message to which its receiver came back did not fail.
  if (kept->last_error == "the receiver's connection was lost" && delivery.revivals == 0 &&
      delivery.attempts < model_.rules.attempts_max) {
    model_.fail(Check::letter, step,
                text("{} is given up after {} attempts", named(letter.message, delivery.receiver),
                     delivery.attempts));
  }
}

bool SettlementChecks::is_true(const Step& step, core::Reason reason, const SentMessage& sent,
                               const Delivery& delivery) const {
  const std::string& receiver = delivery.receiver;
  const uint64_t places = model_.places_for(sent, receiver);
  switch (reason) {
    case core::Reason::receiver_not_found:
      return !model_.is_registered(receiver) || done<core::Unregister>(step) != nullptr;
    case core::Reason::ttl_expired:
      return std::min(sent.expires, sent.expires_before) <= model_.now;
    case core::Reason::rejected:
      return done<core::Reject>(step) != nullptr || may_be_too_large(sent.bytes);
    case core::Reason::receiver_unavailable:
      // The receiver may have come back with this entry.
      return (delivery.attempts > 0 || model_.is_away(receiver) ||
              (delivery.tried && receiver == step.entry.actor)) &&
             !is_unfailed(step, sent, delivery);
    case core::Reason::queue_overflow:
      return (delivery.tried ? retries_.was_full(step, sent, delivery)
                             : model_.queue_sizes[receiver] >= places) ||
             model_.unsettled_of(receiver) > places || load_after(step, receiver) >= places ||
             done<core::Subscribe>(step) != nullptr || done<core::Register>(step) != nullptr;
    case core::Reason::malformed:
      return false;
  }
  return false;
}

void SettlementChecks::check_confirmed(const Step& step) {
  const auto* ack = done<core::Ack>(step);
  const auto* nack = done<core::Nack>(step);
  const auto* take = done<core::Take>(step);
  const auto* unregister = done<core::Unregister>(step);
  const auto* retry = done<core::ResolveDeadLetter>(step);
  for (const auto& [seq, sent] : model_.messages) {
    for (const Delivery& delivery : sent.deliveries) {
      const bool acked =
          ack != nullptr && (ack->stream == core::stream_none
                                 ? model_.is_target(step, ack->target, sent, delivery)
                                 : is_upto(*ack, delivery) && delivery.touched != step.entry.seq);
      if (acked && !delivery.is_acknowledged()) {
        model_.fail(Check::settle, step, named(seq, delivery.receiver) + " was acked and is not");
      }
      if (nack != nullptr && model_.is_target(step, nack->target, sent, delivery) &&
          delivery.touched != step.entry.seq) {
        model_.fail(Check::settle, step,
                    named(seq, delivery.receiver) + " was given back and is not");
      }
      if (unregister != nullptr && delivery.receiver == unregister->name &&
          !core::is_final(delivery.state)) {
        model_.fail(Check::settle, step,
                    named(seq, delivery.receiver) + " has no receiver and is not dead");
      }
    }
  }
  if (take != nullptr && step.outcome->count < take->count_max &&
      order_.ready(false).contains(std::string(step.entry.actor))) {
    model_.fail(Check::idle, step, "fewer were taken than wait");
  }
  if (ack != nullptr && ack->stream != core::stream_none) {
    model_.coverage.count("case", "upto");
  }
  if (ack != nullptr && step.outcome->count == 0) {
    model_.coverage.count("case", "again");
  }
  if (retry != nullptr) {
    constexpr std::array<std::string_view, 4> names = {"pending", "retried", "discarded",
                                                       "escalated"};
    model_.coverage.count("resolution", names[static_cast<size_t>(retry->resolution)]);
  }
}

// A message leaves the tables when it is settled, and its time is over or there are too many. They
// count by weight, so there are too many where the heaviest that went has no room. What a dead
// letter kept is younger to the machine than to the model, so all that went of a sender counts.
void SettlementChecks::forget(const Step& step) {
  const core::Tables& t = step.after.tables();
  Holdings holdings;
  std::map<std::string, uint64_t> went;  // Also what was old.
  uint64_t total = 0;
  for (uint32_t at = t.remembered.first(); at != core::none; at = t.remembered.next(at)) {
    const core::Message& message = t.messages.message(t.remembered[at].message);
    holdings.kept[t.agents[message.sender].name] += t.remembered.weight(at);
    total += t.remembered.weight(at);
  }
  uint64_t heaviest = 0;
  for (const auto& [seq, sent] : model_.messages) {
    if (t.messages.find(seq) == core::none) {
      heaviest = std::max(heaviest, weight_max(step, sent));
    }
  }
  const bool full = total + heaviest > model_.rules.settled_max;
  for (auto at = model_.messages.begin(); at != model_.messages.end();) {
    SentMessage& sent = at->second;
    sent.expires_before = sent.expires;
    const bool there = t.messages.find(sent.seq) != core::none;
    const bool is_old = sent.since + model_.rules.settled_retention <= model_.now;
    if (!there) {
      went[sent.sender] += weight_max(step, sent);
      if (!is_old) {
        holdings.gone[sent.sender] = 0;
      }
    }
    for (const Delivery& delivery : sent.deliveries) {
      if (delivery.seen) {
        continue;
      }
      if (there || !core::is_final(delivery.state) || !(full || is_old)) {
        model_.fail(Check::visible, step,
                    named(sent.seq, delivery.receiver) + " vanished, " +
                        std::string(core::state_name(delivery.state)));
      }
      model_.coverage.count("case", "forgotten");
    }
    at = there ? std::next(at) : model_.messages.erase(at);
  }
  for (auto& [sender, weight] : holdings.gone) {
    weight = went[sender];
  }
  check_fair(model_, step, "a settled message", holdings);
}

}  // namespace parley::sim
