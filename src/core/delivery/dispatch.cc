// SPDX-License-Identifier: Apache-2.0
#include "core/delivery/dispatch.h"

#include <algorithm>
#include <ranges>

#include "base/check.h"
#include "base/text.h"
#include "core/conversation/task_acts.h"
#include "core/conversation/thread_acts.h"
#include "core/dead_letters/dead_letter_acts.h"
#include "core/delivery/redelivery.h"
#include "core/handoffs/handoff_acts.h"
#include "core/humans/escalation_acts.h"
#include "core/limits/breaker_acts.h"
#include "core/limits/rate_limit.h"
#include "core/limits/size_limit.h"
#include "core/requests/deadlock.h"
#include "core/topics/broker_topics.h"

namespace parley::core {

namespace {

// News of who is there take up to half of an inbox, so that there is room for other news.
bool is_crowded_for_news(const Tables& t, AgentRef receiver, TopicRef topic) {
  return t.topics[topic].name == broker_topics::availability_topic &&
         t.load_of(receiver) * 2 >= t.rules.queue_max;
}

State state_for(Reason reason) {
  switch (reason) {
    case Reason::ttl_expired:
      return State::expired;
    case Reason::rejected:
      return State::rejected;
    case Reason::receiver_not_found:
    case Reason::receiver_unavailable:
    case Reason::malformed:
    case Reason::queue_overflow:
      return State::dead;
  }
  return State::dead;
}

}  // namespace

bool Dispatch::deliver(MessageRef message, AgentRef receiver) {
  Passage unlimited;
  return deliver(message, receiver, unlimited);
}

bool Dispatch::deliver(MessageRef message, AgentRef receiver, Passage& passage) {
  Agent& agent = t.agents[receiver];
  const bool is_own = t.messages.message(message).is_own;
  // What its sender sent before, and the receiver could not take then, keeps its place before this.
  if (retry_before(t, receiver, message)) {
    pump(receiver);
  }
  const bool has_room = t.has_room(receiver, is_own ? none : t.messages.message(message).sender);
  if (is_own && t.messages.message(message).topic != none &&
      (!has_room || is_crowded_for_news(t, receiver, t.messages.message(message).topic))) {
    return false;
  }
  const DeliveryRef ref = t.messages.add_delivery(message, receiver, t.now);
  t.messages.deadlines.start_expiry(message);
  t.agents.use(receiver);
  ++agent.inbox.unsettled;
  agent.inbox.senders.add(t.messages.message(message).sender);
  note_load(t, receiver);
  if (!agent.is_registered()) {
    add_dead_letter(ref, Reason::receiver_not_found, "no agent or topic has this name");
  } else if (const std::string fault = size_fault(t.rules, agent, t.messages.message(message));
             !fault.empty()) {
    add_dead_letter(ref, Reason::rejected, fault);
  } else if (!has_room && !is_own && !passage.is_answer) {  // who waits for an answer must get it
    fail_or_retry(ref, Gate::room, Reason::queue_overflow);
  } else {
    const bool waits = throttle(t, ref, passage);
    set_state(ref, waits ? State::delayed : State::queued);
    line_up(ref);
    if (!waits) {
      pump(receiver);
    }
  }
  return true;
}

void Dispatch::deliver_if_there(MessageRef message, AgentRef receiver) {
  const DeliveryRef ref = t.messages.add_delivery(message, receiver, t.now);
  t.messages.deadlines.start_expiry(message);
  t.agents.use(receiver);
  ++t.agents[receiver].inbox.unsettled;
  t.agents[receiver].inbox.senders.add(t.messages.message(message).sender);
  fail_or_retry(ref, Gate::presence, Reason::receiver_unavailable);
}

void Dispatch::pump(AgentRef agent) {
  for (DeliveryRef next = next_waiting(agent); next != none; next = next_waiting(agent)) {
    const StreamRef stream = stream_for(next);
    if (stream == none) {
      tell_of_mail(agent);
      return;
    }
    hand_out(next, stream, State::offered);
  }
}

// Once for many that come in one after the other, such as what a topic retains for late
// subscribers.
void Dispatch::tell_of_mail(AgentRef agent) {
  const Mail* const last = effects_.empty() ? nullptr : std::get_if<Mail>(&effects_.back());
  if (last == nullptr || last->workspace != workspace_ || last->receiver != agent) {
    emit(Mail{.receiver = agent});
  }
}

// The one whose client has it already, which takes no room there; else, of those with room, the one
// that holds least, so that several share the work; the one opened first among equals.
StreamRef Dispatch::stream_for(DeliveryRef delivery) const {
  StreamRef best = none;
  for (const StreamRef ref : t.agents[t.messages.delivery(delivery).receiver].streams) {
    const Stream& stream = t.streams[ref];
    if (!t.messages.marks.before(delivery, stream.after).is_none()) {
      return ref;
    }
    if (stream.held >= stream.window) {
      continue;
    }
    if (best == none || stream.held < t.streams[best].held) {
      best = ref;
    }
  }
  return best;
}

DeliveryRef Dispatch::next_waiting(AgentRef agent) {
  constexpr size_t dead_letters_max = 64;
  for (size_t dead = 0;;) {
    const DeliveryRef ref = t.agents[agent].inbox.first();
    if (ref == none) {
      return none;
    }
    // If very much has expired, the rest goes with what is due, and `expire` pumps then.
    const bool is_expired = t.messages.message_of(ref).expires <= t.now;
    if (is_expired && dead == dead_letters_max) {
      return none;
    }
    if (!dead_letter_unfit(ref)) {
      return ref;
    }
    dead += is_expired ? 1 : 0;
  }
}

// What is expired, or larger than its receiver takes, whose dialect or whose limit has changed.
bool Dispatch::dead_letter_unfit(DeliveryRef ref) {
  const Message& message = t.messages.message_of(ref);
  if (message.expires <= t.now) {
    dead_letter(ref, Reason::ttl_expired, "expired before it was delivered");
    return true;
  }
  const Agent& receiver = t.agents[t.messages.delivery(ref).receiver];
  if (const std::string fault = size_fault(t.rules, receiver, message); !fault.empty()) {
    leave(ref);
    add_dead_letter(ref, Reason::rejected, fault);
    return true;
  }
  return false;
}

void Dispatch::hand_out(DeliveryRef ref, StreamRef stream_ref, State state) {
  Delivery& delivery = t.messages.delivery(ref);
  leave(ref);
  const ResumeMark before =
      stream_ref == none ? ResumeMark{} : t.messages.marks.before(ref, t.streams[stream_ref].after);
  const bool seen = !before.is_none();
  // Who resumes that very stream has not seen what came behind the mark. If another stream pushed
  // it, we cannot know whether the client saw it.
  if (!seen && stream_ref != none && !delivery.mark.is_none() &&
      delivery.mark.stream != t.streams[stream_ref].after.stream) {
    delivery.may_be_known = true;
  }
  if (stream_ref != none && (seen || delivery.attempts > 0)) {
    charge_redelivery(t, delivery.receiver);
  }
  if (!seen && delivery.attempts < UINT16_MAX) {
    ++delivery.attempts;
  }
  if (seen && delivery.lost) {  // its receiver is back and has it: nothing failed
    --delivery.failures;
    t.agents[delivery.receiver].breaker.succeeded();
  }
  delivery.lost = false;
  set_state(ref, state);
  start_lease(t, ref, default_lease(t.rules, t.agents[delivery.receiver].dialect));
  StreamId stream_id = stream_none;
  t.messages.marks.set(ref, {});
  if (stream_ref != none) {
    stream_id = t.streams[stream_ref].id;
    delivery.stream = stream_ref;
    link(ref, t.streams[stream_ref], before);
  }
  emit(Deliver{.receiver = delivery.receiver,
               .stream = stream_id,
               .message = t.messages.message_of(ref).seq,
               .attempt = delivery.attempts,
               .delivery = ref,
               .mark = delivery.mark,
               .seen = seen});
}

// Gives it its place on the stream. What was seen before, by the mark `before`, is covered by every
// mark of this stream, whenever it is linked: only the client that saw it gets them. It may lose
// the connection before it hears of one, and name the mark again that it named for this stream.
void Dispatch::link(DeliveryRef ref, Stream& stream, const ResumeMark& before) {
  const bool seen = !before.is_none();
  if (!seen && stream.handed_out == UINT32_MAX) {  // marks are never given twice
    stream.number = t.streams.new_number();
    stream.handed_out = 0;
  }
  Delivery& delivery = t.messages.delivery(ref);
  t.messages.marks.set(ref, {stream.number, seen ? 0 : ++stream.handed_out}, before);
  delivery.prev = seen ? stream.last_seen : stream.last;
  DeliveryRef& place =
      delivery.prev == none ? stream.first : t.messages.delivery(delivery.prev).next;
  delivery.next = place;
  place = ref;
  (delivery.next == none ? stream.last : t.messages.delivery(delivery.next).prev) = ref;
  stream.last_seen = seen ? ref : stream.last_seen;
  ++stream.held;
}

// Every change of a delivery's state that someone can see, and where the end of one is told. What
// is handed out is told by `hand_out`, which knows to whom. The one other change is in the inbox:
// `Inbox::end_delay` and `Inbox::hurry` turn delayed into queued, which is shown as queued all the
// time and so is neither told nor dated.
void Dispatch::set_state(DeliveryRef ref, State state) {
  Delivery& delivery = t.messages.delivery(ref);
  const bool was_acked = delivery.state == State::acked;
  delivery.state = state;
  delivery.changed = t.now;
  if (is_final(state)) {
    emit(Settled{.receiver = delivery.receiver,
                 .message = t.messages.message_of(ref).seq,
                 .state = state,
                 .again = was_acked,
                 .delivery = ref});
    note_handoff(t, delivery, state);
  }
}

// Takes an unsettled delivery out of where it is: the inbox where it waits, or the stream and the
// lease by which it is held.
void Dispatch::leave(DeliveryRef ref) {
  Delivery& delivery = t.messages.delivery(ref);
  CHECK(!is_final(delivery.state));
  if (!is_held(delivery.state)) {
    Agent& agent = t.agents[delivery.receiver];
    agent.inbox.take(t.messages, agent.discipline(), ref);
    delivery.on_hold = false;
    if (const Seq seq = t.messages.message(delivery.message).seq;
        t.approvals.unread().contains(seq)) {
      read_.push_back(seq);
    }
  } else if (delivery.stream != none) {
    Stream& stream = t.streams[delivery.stream];
    stream.last_seen = stream.last_seen == ref ? delivery.prev : stream.last_seen;
    (delivery.prev == none ? stream.first : t.messages.delivery(delivery.prev).next) =
        delivery.next;
    (delivery.next == none ? stream.last : t.messages.delivery(delivery.next).prev) = delivery.prev;
    --stream.held;
    delivery.stream = none;
    delivery.prev = none;
    delivery.next = none;
  }
  // Its receiver may have seen it, unless a mark says otherwise when it is handed out again.
  delivery.may_be_known |= is_held(delivery.state);
  t.messages.gates.let_pass(ref);
}

void Dispatch::give_back(DeliveryRef ref, Duration delay, bool failed, std::string_view error) {
  Delivery& delivery = t.messages.delivery(ref);
  CHECK(is_held(delivery.state));
  if (failed) {
    ++delivery.failures;
    note_failure(t, delivery.receiver, t.messages.message_of(ref).sender);
  }
  if (!error.empty()) {
    t.messages.notes.set_last_error(ref, std::string(base::cut(error, t.rules.reason_bytes_max)));
  }
  // Not `attempts`: being handed out is no failure, a client that comes back takes back the one
  // that its lost connection was, and a receiver may give a message back without having failed.
  if (failed && delivery.failures >= t.rules.attempts_max) {
    dead_letter(ref, Reason::receiver_unavailable, error);
    return;
  }
  if (t.messages.message_of(ref).expires <= t.now) {
    dead_letter(ref, Reason::ttl_expired, "expired while it was held");
    return;
  }
  leave(ref);
  t.messages.marks.set(ref, {});
  set_state(ref, delay.us > 0 ? State::delayed : State::queued);
  if (delay.us > 0) {
    t.messages.deadlines.start_due(ref, t.now + delay);
  }
  line_up(ref);
}

// Puts a waiting delivery into its inbox; or leaves it outside while its message is held.
void Dispatch::line_up(DeliveryRef ref) {
  Delivery& delivery = t.messages.delivery(ref);
  delivery.on_hold = t.holds.contains(t.messages.message_of(ref).seq, delivery.receiver);
  Agent& agent = t.agents[delivery.receiver];
  agent.inbox.put(t.messages, agent.discipline(), ref);
}

void Dispatch::settle(DeliveryRef ref, State state) {
  Delivery& delivery = t.messages.delivery(ref);
  t.agents[delivery.receiver].breaker.succeeded();
  if (!is_final(delivery.state)) {
    leave(ref);
    end(ref, state);
    return;
  }
  CHECK(delivery.state == State::acked);
  CHECK(state == State::answered);
  set_state(ref, state);
}

void Dispatch::dead_letter(DeliveryRef ref, Reason reason, std::string_view error) {
  if (reason == Reason::rejected) {  // it was looked at
    t.agents[t.messages.delivery(ref).receiver].breaker.succeeded();
  }
  leave(ref);
  add_dead_letter(ref, reason, error);
}

void Dispatch::dead_letter_removed(DeliveryRef ref) {
  // Its sender named the topic, which goes on.
  const bool by_topic = t.messages.message_of(ref).topic != none;
  dead_letter(ref, Reason::receiver_not_found,
              by_topic ? "a subscriber was removed" : "the receiver was removed");
}

void Dispatch::leave_for_removal(DeliveryRef ref) {
  const Time since = t.messages.delivery(ref).changed;
  leave(ref);
  set_state(ref, State::delayed);
  t.messages.delivery(ref).changed = since;  // for its sender it waits as before
  t.messages.gates.hold_up(ref, Gate::removed, t.now);
}

void Dispatch::withdraw(DeliveryRef ref, std::string why) {
  leave(ref);
  t.messages.notes.set_last_error(ref, std::move(why));
  end(ref, State::dead);
}

// The dead letter of a delivery that has left its inbox, or never was in one. What the broker sent
// by itself, such as the news of a dead letter, leaves none; nor does what was kept in memory only.
void Dispatch::add_dead_letter(DeliveryRef ref, Reason reason, std::string_view error) {
  const Delivery& delivery = t.messages.delivery(ref);
  Message& message = t.messages.message(delivery.message);
  const bool is_memory_only = t.broadcasts.contains(message.seq);
  if (message.is_own || is_memory_only) {
    t.broadcasts.unheard += is_memory_only ? 1 : 0;
    end(ref, state_for(reason));
    return;
  }
  if (reason == Reason::ttl_expired && policy_of(message.dialect).expiry_escalates &&
      escalate_expired(*this, ref)) {
    end(ref, State::expired);
    return;
  }
  DeadLetter letter;
  letter.message = message.seq;
  letter.sender = t.agents[message.sender].name;
  letter.receiver = t.agents[delivery.receiver].name;
  letter.reason = reason;
  letter.failed_at = t.now;
  letter.retry_count = delivery.attempts;
  letter.tries = delivery.revivals;
  letter.last_error = base::cut(error, t.rules.reason_bytes_max);
  if (reason == Reason::rejected && !error.empty()) {
    t.messages.notes.set_last_error(ref, letter.last_error);
  }
  ++message.dead_letters;  // before `end`, which forgets a message that nothing needs
  const uint64_t id = store_dead_letter(*this, std::move(letter));
  end(ref, state_for(reason));
  tell_of_dead_letter(*this, id);
}

// The last step of every delivery: from here on it is final.
void Dispatch::end(DeliveryRef ref, State state) {
  CHECK(is_final(state));
  Delivery& delivery = t.messages.delivery(ref);
  Message& message = t.messages.message(delivery.message);
  --t.agents[delivery.receiver].inbox.unsettled;
  t.agents[delivery.receiver].inbox.senders.remove(message.sender);
  t.messages.open.remove(ref);
  t.messages.marks.set(ref, {});
  delivery.lost = false;
  set_state(ref, state);
  if (message.watched) {  // Requests looks at it when the entry is done: it may end others
    note_ended(delivery.message);
  }
  note_task_ended(*this, delivery, state);
  finish(delivery.message);
}

void Dispatch::renew_expiry(MessageRef ref) {
  t.messages.deadlines.set_expiry(ref, expiry_of(t.messages.message(ref).ttl, t.now));
}

void Dispatch::revive(DeliveryRef ref) {
  Delivery& delivery = t.messages.delivery(ref);
  CHECK(is_final(delivery.state));
  set_state(ref, State::queued);
  delivery.attempts = 0;  // but `may_be_known` stays: its receiver may still know its seq
  delivery.failures = 0;
  delivery.revivals = 0;
  t.messages.notes.clear_last_error(ref);
  t.messages.open.add(ref);
  renew_expiry(delivery.message);
  ++t.agents[delivery.receiver].inbox.unsettled;
  t.agents[delivery.receiver].inbox.senders.add(t.messages.message(delivery.message).sender);
  note_task_revived(*this, delivery);
  line_up(ref);
}

void Dispatch::end_fan_out(MessageRef message) {
  fanned_out_ = none;
  finish(message);
}

void Dispatch::finish(MessageRef ref) {
  const Message& message = t.messages.message(ref);
  if (message.open > 0 || ref == fanned_out_) {
    return;
  }
  t.messages.deadlines.stop_expiry(ref);
  t.broadcasts.remove(message.seq);
  if (!message.watched) {
    end_thread_request(*this, ref);
  }
  if (t.messages.has_failed(ref)) {  // no one got it, so no answer comes
    unblock(t, ref);
  }
  if (!message.is_needed()) {
    remember(t, ref);
    t.sessions.done_with(message.seq);
    t.debates.done_with(message.seq);
    t.holds.forget(message.seq);
  }
}

std::vector<DeliveryRef> unsettled_of(const Tables& t, AgentRef agent) {
  std::vector<std::pair<Seq, DeliveryRef>> found;
  t.messages.open.each_to(agent, [&](DeliveryRef ref, const Delivery&) {
    found.emplace_back(t.messages.message_of(ref).seq, ref);
  });
  std::ranges::sort(found);
  const auto refs = std::views::values(found);
  return {refs.begin(), refs.end()};
}

std::vector<DeliveryRef> open_of(const Tables& t, MessageRef message) {
  std::vector<DeliveryRef> refs;
  for (DeliveryRef ref = message == none ? none : t.messages.message(message).deliveries;
       ref != none; ref = t.messages.delivery(ref).sibling) {
    if (!is_final(t.messages.delivery(ref).state)) {
      refs.push_back(ref);
    }
  }
  return refs;
}

}  // namespace parley::core
