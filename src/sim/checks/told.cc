// SPDX-License-Identifier: Apache-2.0
// What the ledger is told of an entry, and how the tables must look after it.

#include <algorithm>

#include "sim/checks/ledger.h"
#include "sim/text.h"

namespace parley::sim {

namespace {

std::string named(Seq message, const std::string& receiver) {
  return text("message {} to {}", message.n, receiver);
}

State state_for(core::Reason reason) {
  return reason == core::Reason::ttl_expired ? State::expired
         : reason == core::Reason::rejected  ? State::rejected
                                             : State::dead;
}

// Whether the ack of all up to a mark means it.
bool is_upto(const core::Ack& ack, const Pair& pair) {
  return pair.stream == ack.stream && pair.mark <= ack.upto;
}

// How much of queue_max it uses at the end of the entry.
uint64_t load_after(const Step& step, const std::string& receiver) {
  const core::Tables& t = step.after.tables();
  const core::AgentRef ref = t.agents.find(receiver);
  return ref == core::none ? 0 : t.load_of(ref);
}

}  // namespace

void Ledger::on(const Step& step, const Fact& fact) {
  switch (fact.kind) {
    case Fact::Kind::deliver:
      on_deliver(step, fact);
      return;
    case Fact::Kind::settled:
      on_settled(step, fact);
      return;
    case Fact::Kind::mail:
      told_mail_.insert(fact.receiver);
      return;
    case Fact::Kind::dead_lettered:
      coverage_.count("reason", core::reason_name(fact.reason));
      if (letter_ != nullptr || !letters_.emplace(fact.letter, Letter{}).second) {
        fail(Check::letter, step, text("letter {} is told twice", fact.letter));
      }
      add_letter(step, fact);
      return;
    case Fact::Kind::letter_dropped:
      if (letters_.size() <= letters_max_ || letters_.erase(fact.letter) == 0) {
        fail(Check::letter, step, text("letter {} need not go", fact.letter));
      }
      return;
    case Fact::Kind::stream_closed:
      if (const auto at = streams_.find(fact.stream); at != streams_.end()) {
        disconnected_.push_back(at->second.agent);
        streams_.erase(at);
      }
      closed_.insert(fact.stream);
      return;
    case Fact::Kind::owed:
      on_owed(step, fact);
      return;
    case Fact::Kind::timed_out:
      on_timed_out(step, fact);
      return;
    case Fact::Kind::lock_turn:
      on_lock_turn(step, fact);
      return;
    case Fact::Kind::letter_resolved:
      on_letter_resolved(step, fact);
      return;
    case Fact::Kind::alarm:
      coverage_.count("system", "alarm");
      if (--alarms_wanted_ < 0) {
        fail(Check::care, step, "an alarm without cause");
      }
      return;
  }
}

// Before the rest is told: what is summed up is told so, and one that grew is another one.
void Ledger::learn_summaries(const Step& step) {
  const auto* const send = done<core::Send>(step);
  std::map<std::string, Summary> after;
  for (const auto& [id, item] : step.after.tables().outbox.all()) {
    if (item.kind != core::OutboxKind::summary) {
      continue;
    }
    Summary& summary = after[item.to];
    summary.outbox_item = id;
    const auto before = summaries_.find(item.to);
    const bool goes_on = before != summaries_.end() &&
                         (send == nullptr || send->outbox_item != before->second.outbox_item);
    for (const core::Fact& fact : item.facts) {
      if (const auto* count = std::get_if<int64_t>(&fact.value)) {
        summary.counts[fact.name] = static_cast<int>(*count);
        summary.added[fact.name] =
            static_cast<int>(*count) - (goes_on ? before->second.counts[fact.name] : 0);
      }
    }
    if (goes_on && before->second.outbox_item != id) {
      owed_.erase(before->second.outbox_item);
    }
  }
  summaries_ = std::move(after);
}

int Ledger::summed_up(const std::string& to, core::OutboxKind kind) const {
  const auto at = summaries_.find(to);
  const std::string name(core::outbox_kind_name(kind));
  return at == summaries_.end() || !at->second.added.contains(name) ? 0 : at->second.added.at(name);
}

// The entry that owed it was lost with the power. What a node sent for it came behind that, and
// owes it again before it does it: time passes first.
void Ledger::on_owed_and_sent(const core::Send& send) {
  const std::string to(send.envelope.receivers.front());
  owed_.emplace(send.outbox_item, to);
  if (send.envelope.action == core::outbox_kind_name(core::OutboxKind::delivery_failed)) {
    --letters_untold_[to];
  } else if (send.envelope.action == core::outbox_kind_name(core::OutboxKind::request_timed_out)) {
    --timeouts_untold_[to];
  }
}

void Ledger::on_owed(const Step& step, const Fact& fact) {
  if (fact.receiver.empty()) {  // it is done, or the one to be told went, in the same entry
    const auto* send = done<core::Send>(step);
    if (send != nullptr && send->outbox_item == fact.outbox_item) {
      on_owed_and_sent(*send);
    }
    return;
  }
  coverage_.count("errand", core::outbox_kind_name(fact.outbox_kind));
  if (fact.outbox_kind == core::OutboxKind::summary) {
    owed_.emplace(fact.outbox_item,
                  fact.receiver);  // what it sums up is known: see learn_summaries
    return;
  }
  note_owed(step, fact);
  if (!owed_.emplace(fact.outbox_item, fact.receiver).second) {
    fail(Check::notice, step, text("errand {} is told twice", fact.outbox_item));
  }
  if (fact.outbox_kind == core::OutboxKind::delivery_failed ||
      fact.outbox_kind == core::OutboxKind::message_malformed) {
    --letters_untold_[fact.receiver];
  }
  if (fact.outbox_kind == core::OutboxKind::published) {
    news_.insert(fact.receiver);
  }
}

void Ledger::add_letter(const Step& step, const Fact& fact) {
  Letter& letter = letters_[fact.letter];
  letter = Letter{fact.message, {}, fact.reason, std::string(step.entry.actor)};
  plan_retry(letter);
  if (fact.reason != core::Reason::malformed) {
    const auto sent = sent_.find(fact.message);
    letter.sender = sent == sent_.end() ? std::string() : sent->second.sender;
    letters_untold_[letter.sender] += is_registered(letter.sender) ? 1 : 0;
    letter_ = &fact;
    return;
  }
  ++letters_untold_[letter.sender];
  const bool refused = std::holds_alternative<core::Send>(step.entry.command) && !step.outcome;
  if (fact.message != step.entry.seq || (!refused && done<core::Malformed>(step) == nullptr)) {
    fail(Check::letter, step, text("{} is told malformed and is not", fact.message.n));
  }
}

// Whether something in this entry can have taken a held message from its holder.
bool Ledger::may_be_free(const Step& step, const Sent& sent, const Pair& pair) const {
  if (!core::is_held(pair.state) || pair.due <= now_ || closed_.contains(pair.stream)) {
    return true;
  }
  const auto* nack = done<core::Nack>(step);
  return nack != nullptr && is_target(step, nack->target, sent, pair);
}

// Whether its holder gave it back and said that nobody failed.
bool Ledger::is_unfailed(const Step& step, const Sent& sent, const Pair& pair) const {
  const auto* nack = done<core::Nack>(step);
  return nack != nullptr && !nack->failed && is_target(step, nack->target, sent, pair);
}

// Whether the actor means this message: by place, or the newest that it received with this id.
bool Ledger::is_target(const Step& step, const core::Target& target, const Sent& sent,
                       const Pair& pair) const {
  if (pair.receiver != step.entry.actor) {
    return false;
  }
  if (target.seq.n != 0) {
    return sent.seq == target.seq;
  }
  const auto newest = std::find_if(sent_.rbegin(), sent_.rend(), [&](const auto& item) {
    return item.second.id == target.id &&
           std::ranges::find(item.second.pairs, pair.receiver, &Pair::receiver) !=
               item.second.pairs.end();
  });
  return newest != sent_.rend() && newest->first == sent.seq;
}

// What its receiver may name it by, once nobody holds it: only a lost connection leaves that. The
// start of a node ends connections, and no leases.
bool Ledger::leaves_marks(const Step& step, const Sent& sent, const Pair& pair) const {
  const auto* nack = done<core::Nack>(step);
  const bool given_back =
      (pair.due <= now_ && !std::holds_alternative<core::StartNode>(step.entry.command)) ||
      (nack != nullptr && is_target(step, nack->target, sent, pair));
  return !core::is_held(pair.state) || (!given_back && closed_.contains(pair.stream));
}

// What its client saw is not pushed to it again, all else is; and no mark is given twice.
void Ledger::check_mark(const Step& step, const Fact& fact, const Sent& sent, Pair& pair) {
  const bool known = leaves_marks(step, sent, pair);
  const core::ResumeMark before = known ? pair.mark : core::ResumeMark{};
  const core::ResumeMark former = known ? pair.former : core::ResumeMark{};
  pair.mark = fact.mark;
  pair.former = {};
  if (fact.stream == core::stream_none) {
    if (fact.seen || !fact.mark.is_none()) {
      fail(Check::resume, step, named(fact.message, fact.receiver) + " has a mark of no stream");
    }
    return;
  }
  Opened& opened = streams_[fact.stream];
  const bool seen = opened.after.covers(before) || opened.after.covers(former);
  pair.former = !seen ? core::ResumeMark{} : opened.after.covers(before) ? before : former;
  if (seen != fact.seen) {
    fail(Check::resume, step,
         text("{} is pushed to one who saw {}-{}, and was handed out as {}-{} before",
              named(fact.message, fact.receiver), opened.after.stream, opened.after.number,
              before.stream, before.number));
  }
  if (opened.last.stream == 0) {
    opened.last.stream = fact.mark.stream;
    if (!stream_numbers_.insert(fact.mark.stream).second) {
      fail(Check::resume, step, text("the stream number {} is given twice", fact.mark.stream));
    }
  }
  opened.last.number += seen ? 0 : 1;
  const core::ResumeMark due{opened.last.stream, seen ? 0 : opened.last.number};
  if (fact.mark != due) {
    fail(Check::resume, step,
         text("{} has the mark {}-{}, should be {}-{}", named(fact.message, fact.receiver),
              fact.mark.stream, fact.mark.number, due.stream, due.number));
  }
  coverage_.count("told", seen ? "resumed" : "pushed");
}

// With what another dialect adds to it: a short one never is.
bool Ledger::may_be_too_large(size_t bytes) {
  constexpr size_t short_max = 300;
  return bytes > short_max;
}

// Whether the message may be larger than its receiver's dialect takes: who speaks the sender's own,
// or one without a limit, takes it. What that leaves is another matter: a broadcast in memory ends
// without a dead letter then, too.
bool Ledger::may_not_take(const Sent& sent, const Pair& pair) const {
  const auto at = members_.find(pair.receiver);
  const bool has_limit =
      at != members_.end() && at->second.kind == core::PrincipalKind::agent &&
      at->second.dialect != sent.dialect &&
      (at->second.dialect == core::Dialect::inbox || at->second.dialect == core::Dialect::collab);
  return (has_limit || pair.receiver == moved_) && may_be_too_large(sent.bytes);
}

// Nobody gets more than its own dialect takes.
void Ledger::check_size(const Step& step, const Sent& sent, const Pair& pair) {
  const auto at = members_.find(pair.receiver);
  if (at == members_.end() || at->second.kind != core::PrincipalKind::agent ||
      at->second.dialect == sent.dialect || sent.sender == core::broker_sender ||
      pair.receiver == moved_) {
    return;
  }
  const bool too_large =
      at->second.dialect == core::Dialect::inbox    ? sent.bytes >= rules_.inbox_content_bytes
      : at->second.dialect == core::Dialect::collab ? sent.bytes >= rules_.collab_message_bytes_max
                                                    : false;
  if (too_large) {
    fail(Check::limit, step,
         text("{} has {} bytes, too many for its receiver", named(sent.seq, pair.receiver),
              sent.bytes));
  }
}

void Ledger::on_deliver(const Step& step, const Fact& fact) {
  Pair* const pair = find(fact.message, fact.receiver);
  if (pair == nullptr) {
    fail(Check::receivers, step, named(fact.message, fact.receiver) + " was never accepted");
    return;
  }
  const Sent& sent = sent_.at(fact.message);
  if (core::is_final(pair->state)) {
    fail(Check::settle, step,
         named(fact.message, fact.receiver) + " is handed out though it is " +
             std::string(core::state_name(pair->state)));
  }
  if (!may_be_free(step, sent, *pair)) {
    fail(Check::holder, step, named(fact.message, fact.receiver) + " has a holder already");
  }
  check_size(step, sent, *pair);
  if (sent.expires <= now_) {
    fail(Check::expiry, step, named(fact.message, fact.receiver) + " is handed out expired");
  }
  if (const auto at = meetings_.find(sent.session); is_paused(sent) && at->second.was_paused) {
    fail(Check::session, step,
         named(fact.message, fact.receiver) + " is handed out inside a paused session");
  }
  const auto* read = done<core::Read>(step);
  const bool by_name = read != nullptr && is_target(step, read->target, sent, *pair);
  if (!by_name && !fact.seen) {  // what its client has already passes nobody
    check_order(step, sent, *pair);
  }
  if (fact.stream == core::stream_none) {
    const bool asked = by_name || done<core::Take>(step) != nullptr;
    if (!asked || step.entry.actor != fact.receiver) {
      fail(Check::receivers, step, named(fact.message, fact.receiver) + " was not asked for");
    }
  } else if (!streams_.contains(fact.stream) || streams_[fact.stream].agent != fact.receiver) {
    fail(Check::receivers, step, named(fact.message, fact.receiver) + " goes to no open stream");
  }
  check_mark(step, fact, sent, *pair);
  pair->state = by_name ? State::read : State::offered;
  pair->stream = fact.stream;
  pair->touched = step.entry.seq;
  pair->due = base::time_max;  // `reconcile` reads it
  pair->attempts += fact.seen ? 0 : 1;
  if (pair->attempts != fact.attempt) {
    fail(Check::recount, step,
         text("{} is attempt {}, not {}", named(fact.message, fact.receiver), pair->attempts,
              fact.attempt));
  }
  if (pair->attempts > 1) {
    coverage_.count("told", "redelivered");
  }
}

// Who speaks inbox settles by reading what needs no answer.
bool Ledger::reads_away(const Step& step, const Sent& sent, const Pair& pair) const {
  const auto* const read = done<core::Read>(step);
  return read != nullptr && read->as == core::Dialect::inbox && !core::asks(sent.kind) &&
         is_target(step, read->target, sent, pair);
}

void Ledger::on_settled(const Step& step, const Fact& fact) {
  Pair* const pair = find(fact.message, fact.receiver);
  if (pair == nullptr) {
    fail(Check::receivers, step, named(fact.message, fact.receiver) + " was never accepted");
    return;
  }
  Sent& sent = sent_.at(fact.message);
  const bool answered_later = pair->state == State::acked && fact.state == State::answered;
  if (core::is_final(pair->state) && !answered_later) {
    fail(Check::settle, step, named(fact.message, fact.receiver) + " settles twice");
  }
  const auto* ack = done<core::Ack>(step);
  const auto* send = done<core::Send>(step);
  const auto* reject = done<core::Reject>(step);
  const bool by_receiver = step.entry.actor == fact.receiver;
  const bool asked =
      fact.state == State::acked
          ? by_receiver && (ack != nullptr ? (ack->stream == core::stream_none
                                                  ? is_target(step, ack->target, sent, *pair)
                                                  : is_upto(*ack, *pair))
                                           : reads_away(step, sent, *pair))
      : fact.state == State::answered
          ? send != nullptr && ((by_receiver && send->envelope.in_reply_to == sent.id) ||
                                is_in_chain(fact.message, fact.receiver))
      : fact.state == State::rejected
          ? (reject != nullptr && is_target(step, reject->target, sent, *pair)) ||
                ((letter_ != nullptr || sent.memory_only) && may_not_take(sent, *pair))
          : true;
  if (!asked) {
    fail(Check::settle, step,
         named(fact.message, fact.receiver) + " settles unasked as " +
             std::string(core::state_name(fact.state)));
  }
  if (fact.state != State::acked && fact.state != State::answered) {
    check_reason(step, fact, sent);
  }
  sent.answered = sent.answered || fact.state == State::answered;
  pair->state = fact.state;
  pair->stream = core::stream_none;
  pair->mark = {};
  pair->former = {};
  pair->touched = step.entry.seq;
  if (!answered_later) {
    sent.since = now_;
  }
  if (fact.state == State::answered) {
    note_answer(step, fact.message, fact.receiver);
  } else if (fact.state != State::acked) {
    note_failure(fact.message, fact.receiver);
  }
}

void Ledger::check_reason(const Step& step, const Fact& fact, const Sent& sent) {
  if (sent.sender == core::broker_sender && letter_ == nullptr) {
    return;  // no news of news
  }
  if (sent.memory_only) {
    const bool in_time = std::min(sent.expires, sent.expires_before) > now_;
    if (letter_ != nullptr || (fact.state == State::expired && in_time)) {
      fail(Check::letter, step,
           named(fact.message, fact.receiver) + ", which is in memory only, does not end quietly");
    }
    coverage_.count("told", "unheard");
    return;
  }
  if (letter_ == nullptr && is_superseded(step, fact.message, fact.receiver)) {
    return;
  }
  if (letter_ == nullptr || letter_->message != fact.message ||
      state_for(letter_->reason) != fact.state) {
    fail(Check::letter, step, named(fact.message, fact.receiver) + " fails without a letter");
    return;
  }
  bool is_true = true;
  switch (letter_->reason) {
    case core::Reason::receiver_not_found:
      is_true = !is_registered(fact.receiver) || done<core::Unregister>(step) != nullptr;
      break;
    case core::Reason::ttl_expired:
      is_true = std::min(sent.expires, sent.expires_before) <= now_;
      break;
    case core::Reason::rejected:
      is_true = done<core::Reject>(step) != nullptr || may_be_too_large(sent.bytes);
      break;
    case core::Reason::receiver_unavailable:
      // It may be back since then, with this entry.
      is_true = (find(fact.message, fact.receiver)->attempts > 0 || is_away(fact.receiver) ||
                 (find(fact.message, fact.receiver)->tried && fact.receiver == step.entry.actor)) &&
                !is_unfailed(step, sent, *find(fact.message, fact.receiver));
      break;
    case core::Reason::queue_overflow:
      is_true = (find(fact.message, fact.receiver)->tried
                     ? was_full(step, sent, *find(fact.message, fact.receiver))
                     : sizes_.queues[fact.receiver] >= rules_.queue_max) ||
                unsettled_of(fact.receiver) > rules_.queue_max ||
                load_after(step, fact.receiver) >= rules_.queue_max ||
                done<core::Subscribe>(step) != nullptr || done<core::Register>(step) != nullptr;
      break;
    case core::Reason::malformed:
      is_true = false;
      break;
  }
  const core::DeadLetter* const kept = step.after.tables().dead_letters.find(letter_->letter);
  const Pair& failed = *find(fact.message, fact.receiver);
  if (kept != nullptr && failed.tried && kept->tries != failed.retries + 1 &&
      letter_->reason != core::Reason::receiver_not_found &&
      letter_->reason != core::Reason::ttl_expired) {
    fail(Check::care, step,
         text("{} says that it was tried {} times, was {} times",
              named(fact.message, fact.receiver), kept->tries, failed.retries + 1));
  }
  // A failure is of an attempt; what its receiver came back to did not fail.
  if (kept != nullptr && kept->last_error == "the receiver's connection was lost" &&
      failed.revivals == 0 && failed.attempts < rules_.attempts_max) {
    fail(Check::letter, step,
         text("{} is given up after {} attempts", named(fact.message, fact.receiver),
              failed.attempts));
  }
  if (!is_true) {
    fail(Check::letter, step,
         text("{} did not fail as {}", named(fact.message, fact.receiver),
              core::reason_name(letter_->reason)));
  }
  if (const auto at = letters_.find(letter_->letter); at != letters_.end()) {
    at->second.receiver = fact.receiver;
  }
  letter_ = nullptr;
}

// Every delivery in the tables stands where the book says, or where it may have gone untold: a
// message that was held waits again, a delay is over, a reader has begun to read.
void Ledger::reconcile(const Step& step) {
  const core::Tables& t = step.after.tables();
  for (auto& [seq, sent] : sent_) {
    for (Pair& pair : sent.pairs) {
      pair.seen = false;
    }
  }
  t.messages.each_delivery([&](core::DeliveryRef ref, const core::Delivery& delivery) {
    const Seq message = t.messages.message_of(ref).seq;
    const std::string& receiver = t.agents[delivery.receiver].name;
    Pair* const pair = find(message, receiver);
    if (pair == nullptr) {
      fail(Check::receivers, step, named(message, receiver) + " comes from nowhere");
      return;
    }
    pair->seen = true;
    reconcile_pair(step, sent_.at(message), *pair, delivery);
  });
}

void Ledger::reconcile_pair(const Step& step, Sent& sent, Pair& pair,
                            const core::Delivery& delivery) {
  const auto wrong = [&](Check check) {
    fail(check, step,
         text("{} is {}, should be {}", named(sent.seq, pair.receiver),
              core::state_name(delivery.state), core::state_name(pair.state)));
  };
  const core::StreamId stream = delivery.stream == core::none
                                    ? core::stream_none
                                    : step.after.tables().streams[delivery.stream].id;
  if (core::is_final(pair.state) || core::is_final(delivery.state)) {
    if (pair.state != delivery.state) {
      wrong(Check::settle);
    }
  } else if (core::is_held(pair.state) && !core::is_held(delivery.state)) {
    if (!may_be_free(step, sent, pair)) {
      wrong(Check::holder);
    }
    if (!leaves_marks(step, sent, pair)) {
      pair.mark = {};
      pair.former = {};
    }
  } else if (core::is_held(pair.state)) {
    if (stream != pair.stream) {
      wrong(Check::holder);
    }
    check_lease(step, sent, pair, delivery);
  } else if (core::is_held(delivery.state)) {
    wrong(Check::receivers);
  } else if (pair.state == State::delayed && delivery.state == State::queued && pair.due > now_) {
    coverage_.count("told", "hurried");
  }
  if (delivery.attempts != pair.attempts) {
    fail(Check::recount, step, named(sent.seq, pair.receiver) + " has other attempts than told");
  }
  if (delivery.mark != pair.mark) {
    fail(Check::resume, step,
         text("{} is known as {}-{}, should be {}-{}", named(sent.seq, pair.receiver),
              delivery.mark.stream, delivery.mark.number, pair.mark.stream, pair.mark.number));
  }
  // What a client saw before its stream was opened is its own, and waits for no room.
  for (const auto& [id, opened] : streams_) {
    if (delivery.state == State::queued && !delivery.parked && opened.agent == pair.receiver &&
        (opened.after.covers(pair.mark) || opened.after.covers(pair.former))) {
      fail(Check::resume, step,
           named(sent.seq, pair.receiver) + " waits, though its receiver saw it and is back");
    }
  }
  if (pair.state != delivery.state) {
    pair.touched = step.entry.seq;
  }
  note_try(step, sent, pair, delivery);
  pair.state = delivery.state;
  pair.due = delivery.timer == core::none ? base::time_max : delivery.due;
  pair.stream = stream;
  if (pair.touched == step.entry.seq) {
    coverage_.count("state",
                    pair.state == State::delayed ? "delayed" : core::state_name(pair.state));
  }
}

void Ledger::check_lease(const Step& step, const Sent& sent, const Pair& pair,
                         const core::Delivery& delivery) {
  const auto* extend = done<core::Extend>(step);
  const auto* read = done<core::Read>(step);
  const bool extended = extend != nullptr && is_target(step, extend->target, sent, pair);
  const bool is_read = read != nullptr && is_target(step, read->target, sent, pair);
  if (moved_ == pair.receiver) {
    return;
  }
  Time due = pair.due;
  if (extended && extend->lease.us > 0) {
    due = now_ + extend->lease;
  } else if (extended || is_read || pair.due == base::time_max) {
    const core::Dialect own = members_[pair.receiver].dialect;
    due = now_ + core::default_lease(rules_, is_read ? read->as.value_or(own) : own);
  }
  if (const auto* set = done<core::SetRules>(step); set != nullptr && pair.due == base::time_max) {
    // Time passes before the rules change: what is handed out then still has the old lease.
    core::Rules changed = rules_;
    for (const auto& [name, value] : set->values) {
      (void)core::set_rule(changed, name, value);
    }
    const Time by_new = now_ + core::default_lease(changed, members_[pair.receiver].dialect);
    due = delivery.due == by_new ? by_new : due;
  }
  if (delivery.due > due && is_renewed(step, sent, pair)) {
    due = now_ + core::default_lease(rules_, members_[pair.receiver].dialect);
    coverage_.count("task", "renewed");
  }
  if (delivery.due != due || delivery.timer == core::none) {
    fail(Check::lease, step,
         text("{} is leased until {}, should be {}", named(sent.seq, pair.receiver),
              delivery.due.us, due.us));
  }
}

// What was asked and said to be done was done.
void Ledger::check_asked(const Step& step) {
  const auto* ack = done<core::Ack>(step);
  const auto* nack = done<core::Nack>(step);
  const auto* take = done<core::Take>(step);
  const auto* unregister = done<core::Unregister>(step);
  const auto* retry = done<core::ResolveDeadLetter>(step);
  for (const auto& [seq, sent] : sent_) {
    for (const Pair& pair : sent.pairs) {
      const bool settled = pair.state == State::acked || pair.state == State::answered;
      const bool acked =
          ack != nullptr && (ack->stream == core::stream_none
                                 ? is_target(step, ack->target, sent, pair)
                                 : is_upto(*ack, pair) && pair.touched != step.entry.seq);
      if (acked && !settled) {
        fail(Check::settle, step, named(seq, pair.receiver) + " was acked and is not");
      }
      if (nack != nullptr && is_target(step, nack->target, sent, pair) &&
          pair.touched != step.entry.seq) {
        fail(Check::settle, step, named(seq, pair.receiver) + " was given back and is not");
      }
      if (unregister != nullptr && pair.receiver == unregister->name &&
          !core::is_final(pair.state)) {
        fail(Check::settle, step, named(seq, pair.receiver) + " has no receiver and is not dead");
      }
    }
  }
  if (take != nullptr && step.outcome->count < take->count_max &&
      ready(false).contains(std::string(step.entry.actor))) {
    fail(Check::idle, step, "fewer were taken than wait");
  }
  if (ack != nullptr && ack->stream != core::stream_none) {
    coverage_.count("told", "upto");
  }
  if (ack != nullptr && step.outcome->count == 0) {
    coverage_.count("told", "again");
  }
  if (retry != nullptr) {
    constexpr std::array<std::string_view, 4> names = {"pending", "retried", "discarded",
                                                       "escalated"};
    coverage_.count("resolution", names[static_cast<size_t>(retry->resolution)]);
  }
}

// What is gone from the tables was settled, and either its time is over or there are too many.
void Ledger::forget(const Step& step) {
  const core::Tables& t = step.after.tables();
  const bool full = t.messages.remembered().size() >= rules_.settled_max;
  for (auto at = sent_.begin(); at != sent_.end();) {
    Sent& sent = at->second;
    sent.expires_before = sent.expires;
    const bool there = t.messages.find(sent.seq) != core::none;
    for (const Pair& pair : sent.pairs) {
      if (pair.seen) {
        continue;
      }
      const bool over = full || sent.since + rules_.settled_retention <= now_;
      if (there || !core::is_final(pair.state) || !over) {
        fail(Check::visible, step,
             named(sent.seq, pair.receiver) + " vanished, " +
                 std::string(core::state_name(pair.state)));
      }
      coverage_.count("told", "forgotten");
    }
    at = there ? std::next(at) : sent_.erase(at);
  }
}

// Time has passed for all of the workspace, but for the start of a node, which only ends streams.
void Ledger::check_overdue(const Step& step) {
  if (std::holds_alternative<core::StartNode>(step.entry.command)) {
    return;
  }
  for (const auto& [seq, sent] : sent_) {
    for (const Pair& pair : sent.pairs) {
      const bool timed = core::is_held(pair.state) || pair.state == State::delayed;
      if (timed && pair.due <= now_) {
        fail(Check::lease, step, named(seq, pair.receiver) + " should be free by now");
      }
      const bool waits = pair.state == State::queued || pair.state == State::delayed;
      if (waits && sent.expires <= now_) {
        fail(Check::expiry, step, named(seq, pair.receiver) + " waits though it is expired");
      }
    }
  }
}

}  // namespace parley::sim
