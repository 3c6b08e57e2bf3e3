// SPDX-License-Identifier: Apache-2.0
#include "core/delivery/dispatch.h"

#include <algorithm>
#include <ranges>
#include <tuple>

#include "base/check.h"
#include "base/text.h"
#include "core/agents/presence.h"
#include "core/delivery/tries.h"
#include "core/model/sizes.h"
#include "core/topics/broker_topics.h"

namespace parley::core {

namespace {

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

AgentRef asked_alone(const Tables& t, MessageRef ref) {
  const Message& message = t.messages.message(ref);
  if (message.is_direct()) {
    return t.messages.delivery(message.deliveries).receiver;
  }
  const Task* const task = t.tasks.find(message.seq);
  const AgentRef specialist = task == nullptr ? none : t.agents.find(task->specialist);
  const bool has_it = specialist != none && t.messages.delivery_to(ref, specialist) != none;
  return has_it ? specialist : none;
}

bool Dispatch::deliver(MessageRef message, AgentRef receiver, const Passage& passage) {
  Agent& agent = t_.agents[receiver];
  const bool is_own = t_.messages.message(message).is_own;
  if (try_before(t_, receiver, message)) {
    pump(receiver);
  }
  const bool has_room = t_.load_of(receiver) < t_.rules.queue_max;
  if (is_own && !has_room && t_.messages.message(message).topic != none) {
    return false;
  }
  const DeliveryRef ref = t_.messages.add_delivery(message, receiver, t_.now);
  t_.messages.start_expiry(message);
  t_.agents.use(receiver);
  ++agent.inbox.unsettled;
  if (t_.load_of(receiver) * 100 >= t_.rules.queue_max * t_.rules.breaker_queue &&
      t_.rules.breaker_queue > 0 && agent.is_registered()) {
    agent.breaker.filled(t_.now);
  }
  if (!agent.is_registered()) {
    add_dead_letter(ref, Reason::receiver_not_found, "no agent or topic has this name");
  } else if (const std::string fault = size_fault(t_.rules, agent, t_.messages.message(message));
             !fault.empty()) {
    add_dead_letter(ref, Reason::rejected, fault);
  } else if (!has_room && !is_own && !passage.is_answer) {
    fail_or_try(ref, Gate::room, Reason::queue_overflow);
  } else {
    const bool waits = throttle(ref, passage);
    t_.messages.delivery(ref).state = waits ? State::delayed : State::queued;
    line_up(ref);
    if (!waits) {
      pump(receiver);
    }
  }
  return true;
}

void Dispatch::deliver_if_there(MessageRef message, AgentRef receiver) {
  const DeliveryRef ref = t_.messages.add_delivery(message, receiver, t_.now);
  t_.messages.start_expiry(message);
  t_.agents.use(receiver);
  ++t_.agents[receiver].inbox.unsettled;
  fail_or_try(ref, Gate::presence, Reason::receiver_unavailable);
}

void Dispatch::unblock(MessageRef ref) {
  Message& message = t_.messages.message(ref);
  if (message.blocks) {
    t_.waits.remove(message.seq);
    message.blocks = false;
  }
}

void Dispatch::unblock_callers(uint64_t origin) {
  std::vector<Seq> gone;
  for (const auto& [seq, edge] : t_.waits.edges()) {
    if (edge.node == origin) {
      gone.push_back(seq);
    }
  }
  std::ranges::for_each(gone, [this](Seq seq) { unblock(t_.messages.find(seq)); });
}

void Dispatch::unblock_all(AgentRef agent) {
  t_.waits.expire(t_.now);  // a machine from a snapshot does not have those any more
  std::vector<MessageRef> waiting;
  for (const auto& [seq, edge] : t_.waits.edges()) {
    if (edge.from == agent || edge.to == agent) {
      waiting.push_back(t_.messages.find(seq));
    }
  }
  std::ranges::for_each(waiting, [this](MessageRef ref) { unblock(ref); });
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
  for (const StreamRef ref : t_.agents[t_.messages.delivery(delivery).receiver].streams) {
    const Stream& stream = t_.streams[ref];
    if (!t_.messages.mark_before(delivery, stream.after).is_none()) {
      return ref;
    }
    if (stream.held >= stream.window) {
      continue;
    }
    if (best == none || stream.held < t_.streams[best].held) {
      best = ref;
    }
  }
  return best;
}

DeliveryRef Dispatch::next_waiting(AgentRef agent) {
  constexpr size_t dead_letters_max = 64;
  for (size_t dead = 0;;) {
    const DeliveryRef ref = t_.agents[agent].inbox.first();
    if (ref == none) {
      return none;
    }
    // If very much has expired, the rest goes with what is due, and `expire` pumps then.
    const bool is_expired = t_.messages.message_of(ref).expires <= t_.now;
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
  const Message& message = t_.messages.message_of(ref);
  if (message.expires <= t_.now) {
    dead_letter(ref, Reason::ttl_expired, "expired before it was delivered");
    return true;
  }
  const Agent& receiver = t_.agents[t_.messages.delivery(ref).receiver];
  if (const std::string fault = size_fault(t_.rules, receiver, message); !fault.empty()) {
    leave(ref);
    add_dead_letter(ref, Reason::rejected, fault);
    return true;
  }
  return false;
}

void Dispatch::hand_out(DeliveryRef ref, StreamRef stream_ref, State state) {
  Delivery& delivery = t_.messages.delivery(ref);
  leave(ref);
  const ResumeMark before = stream_ref == none
                                ? ResumeMark{}
                                : t_.messages.mark_before(ref, t_.streams[stream_ref].after);
  const bool seen = !before.is_none();
  // Who resumes that very stream has not seen what came behind the mark. If another stream pushed
  // it, we cannot know whether the client saw it.
  if (!seen && stream_ref != none && !delivery.mark.is_none() &&
      delivery.mark.stream != t_.streams[stream_ref].after.stream) {
    delivery.may_be_known = true;
  }
  if (!seen && delivery.attempts < UINT16_MAX) {
    ++delivery.attempts;
  }
  if (seen && delivery.lost) {  // its receiver is back and has it: nothing failed
    --delivery.failures;
    t_.agents[delivery.receiver].breaker.succeeded();
  }
  delivery.lost = false;
  delivery.state = state;
  delivery.changed = t_.now;
  hold(ref, default_lease(t_.rules, t_.agents[delivery.receiver].dialect));
  StreamId stream_id = stream_none;
  t_.messages.set_marks(ref, {});
  if (stream_ref != none) {
    stream_id = t_.streams[stream_ref].id;
    delivery.stream = stream_ref;
    link(ref, t_.streams[stream_ref], before);
  }
  emit(Deliver{.receiver = delivery.receiver,
               .stream = stream_id,
               .message = t_.messages.message_of(ref).seq,
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
    stream.number = t_.streams.new_number();
    stream.handed_out = 0;
  }
  Delivery& delivery = t_.messages.delivery(ref);
  t_.messages.set_marks(ref, {stream.number, seen ? 0 : ++stream.handed_out}, before);
  delivery.prev = seen ? stream.last_seen : stream.last;
  DeliveryRef& place =
      delivery.prev == none ? stream.first : t_.messages.delivery(delivery.prev).next;
  delivery.next = place;
  place = ref;
  (delivery.next == none ? stream.last : t_.messages.delivery(delivery.next).prev) = ref;
  stream.last_seen = seen ? ref : stream.last_seen;
  ++stream.held;
}

void Dispatch::hold(DeliveryRef ref, Duration lease) const {
  t_.messages.start_due(ref, t_.now + lease);
}

// Takes an unsettled delivery out of where it is: the inbox where it waits, or the stream and the
// lease by which it is held.
void Dispatch::leave(DeliveryRef ref) {
  Delivery& delivery = t_.messages.delivery(ref);
  CHECK(!is_final(delivery.state));
  if (!is_held(delivery.state)) {
    Agent& agent = t_.agents[delivery.receiver];
    agent.inbox.take(t_.messages, agent.discipline(), ref);
    delivery.parked = false;
  } else if (delivery.stream != none) {
    Stream& stream = t_.streams[delivery.stream];
    stream.last_seen = stream.last_seen == ref ? delivery.prev : stream.last_seen;
    (delivery.prev == none ? stream.first : t_.messages.delivery(delivery.prev).next) =
        delivery.next;
    (delivery.next == none ? stream.last : t_.messages.delivery(delivery.next).prev) =
        delivery.prev;
    --stream.held;
    delivery.stream = none;
    delivery.prev = none;
    delivery.next = none;
  }
  // Its receiver may have seen it, unless a mark says otherwise when it is handed out again.
  delivery.may_be_known |= is_held(delivery.state);
  t_.messages.stop_due(ref);
  t_.messages.unthrottle(ref);
}

void Dispatch::give_back(DeliveryRef ref, Duration delay, bool failed, std::string_view error) {
  Delivery& delivery = t_.messages.delivery(ref);
  CHECK(is_held(delivery.state));
  if (failed) {
    ++delivery.failures;
    note_failure(delivery.receiver);
  }
  if (!error.empty()) {
    t_.messages.last_errors()[ref] = base::cut(error, t_.rules.reason_bytes_max);
  }
  if (failed && delivery.failures >= t_.rules.attempts_max) {
    dead_letter(ref, Reason::receiver_unavailable, error);
    return;
  }
  if (t_.messages.message_of(ref).expires <= t_.now) {
    dead_letter(ref, Reason::ttl_expired, "expired while it was held");
    return;
  }
  leave(ref);
  t_.messages.set_marks(ref, {});
  delivery.changed = t_.now;
  delivery.state = delay.us > 0 ? State::delayed : State::queued;
  if (delay.us > 0) {
    t_.messages.start_due(ref, t_.now + delay);
  }
  line_up(ref);
}

// Puts a waiting delivery into its inbox; or leaves it outside while its session is paused.
void Dispatch::line_up(DeliveryRef ref) {
  Delivery& delivery = t_.messages.delivery(ref);
  delivery.parked = t_.sessions.is_paused(t_.messages.message_of(ref).seq);
  Agent& agent = t_.agents[delivery.receiver];
  agent.inbox.put(t_.messages, agent.discipline(), ref);
}

void Dispatch::settle(DeliveryRef ref, State state) {
  Delivery& delivery = t_.messages.delivery(ref);
  t_.agents[delivery.receiver].breaker.succeeded();
  if (!is_final(delivery.state)) {
    leave(ref);
    end(ref, state);
    return;
  }
  CHECK(delivery.state == State::acked);
  CHECK(state == State::answered);
  delivery.state = state;
  delivery.changed = t_.now;
  emit(Settled{.receiver = delivery.receiver,
               .message = t_.messages.message_of(ref).seq,
               .state = state,
               .again = true,
               .delivery = ref});
}

void Dispatch::note_failure(AgentRef receiver) {
  t_.agents[receiver].breaker.failed(t_.now, t_.rules.breaker_failures);
}

// Only what one receiver was asked, had in its hands and had time for says anything of it.
void Dispatch::note_unanswered(MessageRef request, Duration timeout) {
  const AgentRef asked = asked_alone(t_, request);
  if (asked == none || timeout < answer_time_min) {
    return;
  }
  const Delivery& delivery = t_.messages.delivery(t_.messages.delivery_to(request, asked));
  if (delivery.state != State::answered && delivery.attempts > 0 &&
      t_.agents[delivery.receiver].is_registered()) {
    note_failure(delivery.receiver);
  }
}

void Dispatch::dead_letter(DeliveryRef ref, Reason reason, std::string_view error) {
  if (reason == Reason::rejected) {  // it was looked at
    t_.agents[t_.messages.delivery(ref).receiver].breaker.succeeded();
  }
  leave(ref);
  add_dead_letter(ref, reason, error);
}

void Dispatch::dead_letter_removed(DeliveryRef ref) {
  // Its sender named the topic, which goes on.
  const bool by_topic = t_.messages.message_of(ref).topic != none;
  dead_letter(ref, Reason::receiver_not_found,
              by_topic ? "a subscriber was removed" : "the receiver was removed");
}

void Dispatch::dead_letter_all(AgentRef agent) {
  const std::vector<DeliveryRef> refs = unsettled_of(agent);
  for (const DeliveryRef ref : refs) {
    if (refs.size() <= due_max) {
      dead_letter_removed(ref);
      continue;
    }
    // Who is registered with this name meanwhile has nothing of it: it is outside of the inbox.
    leave(ref);
    t_.messages.delivery(ref).state = State::delayed;
    t_.messages.throttle(ref, Gate::removed, t_.now);
  }
}

// The dead letter of a delivery that has left its inbox, or never was in one. What the broker sent
// by itself, such as the news of a dead letter, leaves none; nor does what was kept in memory only.
void Dispatch::add_dead_letter(DeliveryRef ref, Reason reason, std::string_view error) {
  const Delivery& delivery = t_.messages.delivery(ref);
  Message& message = t_.messages.message(delivery.message);
  const bool is_memory_only = t_.broadcasts.contains(message.seq);
  if (message.is_own || is_memory_only) {
    t_.broadcasts.unheard += is_memory_only ? 1 : 0;
    end(ref, state_for(reason));
    return;
  }
  DeadLetter letter;
  letter.message = message.seq;
  letter.sender = t_.agents[message.sender].name;
  letter.receiver = t_.agents[delivery.receiver].name;
  letter.reason = reason;
  letter.failed_at = t_.now;
  letter.retry_count = delivery.attempts;
  letter.tries = delivery.revivals;
  letter.last_error = base::cut(error, t_.rules.reason_bytes_max);
  if (reason == Reason::rejected && !error.empty()) {
    t_.messages.last_errors()[ref] = letter.last_error;
  }
  ++message.dead_letters;
  const uint64_t id = add_letter(std::move(letter));
  end(ref, state_for(reason));
  tell_sender(id);
}

bool Dispatch::keeps_malformed(const Tables& t, AgentRef sender, Time now) {
  const Agent& agent = t.agents[sender];
  const bool is_new_minute = agent.malformed_since + base::minutes(1) <= now;
  return (is_new_minute ? 0 : agent.malformed) < t.rules.malformed_per_min;
}

bool Dispatch::dead_letter_malformed(AgentRef sender, Seq seq, size_t bytes,
                                     std::string_view error) {
  if (!keeps_malformed(t_, sender, t_.now)) {
    return false;
  }
  Agent& agent = t_.agents[sender];
  if (agent.malformed_since + base::minutes(1) <= t_.now) {
    agent.malformed_since = t_.now;
    agent.malformed = 0;
  }
  ++agent.malformed;
  DeadLetter letter;
  letter.message = seq;
  letter.sender = agent.name;
  letter.reason = Reason::malformed;
  letter.failed_at = t_.now;
  letter.has_original = bytes <= t_.rules.malformed_bytes_max;
  letter.last_error = base::cut(error, t_.rules.reason_bytes_max);
  tell_sender(add_letter(std::move(letter)));
  return true;
}

uint64_t Dispatch::add_letter(DeadLetter letter) {
  const uint64_t id = t_.dead_letters.add(std::move(letter));
  const DeadLetter& added = *t_.dead_letters.find(id);
  emit(DeadLettered{.id = id, .message = added.message, .reason = added.reason});
  plan_retry(*t_.dead_letters.find(id));
  return id;
}

void Dispatch::tell_sender(uint64_t id) {
  DeadLetter& added = *t_.dead_letters.find(id);
  const bool malformed = added.reason == Reason::malformed;
  OutboxItem item{.kind = malformed ? OutboxKind::message_malformed : OutboxKind::delivery_failed,
                  .to = added.sender,
                  .about = added.message};
  item.facts = {{"seq", static_cast<int64_t>(added.message.n)}};
  if (!malformed) {
    // Who subscribes to a topic is not for the publisher.
    const MessageRef ref = t_.messages.find(added.message);
    const TopicRef topic = ref == none ? none : t_.messages.message(ref).topic;
    item.facts.push_back({"receiver", topic == none ? added.receiver : t_.topics[topic].name});
    item.facts.push_back({"attempts", int64_t{added.retry_count}});
  }
  item.facts.push_back({"reason", std::string(reason_name(added.reason))});
  item.facts.push_back({"detail", added.last_error});
  item.facts.push_back({"failed_at", added.failed_at});
  item.facts.push_back({"dead_letter", static_cast<int64_t>(id)});
  added.notice = owe(std::move(item));
}

uint64_t Dispatch::escalate(Escalation escalation) {
  escalation.since = t_.now;
  escalation.why = base::cut(escalation.why, t_.rules.reason_bytes_max);
  const uint64_t id = t_.escalations.add(std::move(escalation), t_.rules.escalations_max);
  const Escalation& added = *t_.escalations.find(id);
  constexpr size_t told_max = 16;
  std::vector<AgentRef> stewards = t_.agents.stewards();
  stewards.resize(std::min(stewards.size(), told_max));
  for (const AgentRef steward : stewards) {
    owe({.kind = OutboxKind::escalated,
         .to = t_.agents[steward].name,
         .about = added.about,
         .priority = Priority::high,
         .facts = {{"escalation", static_cast<int64_t>(id)},
                   {"cause", std::string(cause_name(added.cause))},
                   {"agent", added.agent},
                   {"receiver", added.receiver},
                   {"why", added.why}}});
  }
  broker_topics::audit(t_, *this, "escalated", broker_name, added.agent);
  return id;
}

// The last step of every delivery: from here on it is final.
void Dispatch::end(DeliveryRef ref, State state) {
  CHECK(is_final(state));
  Delivery& delivery = t_.messages.delivery(ref);
  Message& message = t_.messages.message(delivery.message);
  --t_.agents[delivery.receiver].inbox.unsettled;
  t_.messages.note_end(ref);
  t_.messages.set_marks(ref, {});
  delivery.lost = false;
  delivery.state = state;
  delivery.changed = t_.now;
  emit(Settled{
      .receiver = delivery.receiver, .message = message.seq, .state = state, .delivery = ref});
  if (message.watched) {
    ended.push_back(delivery.message);
  }
  if (message.is_task) {
    end_task(delivery, state);
  }
  finish(delivery.message);
}

void Dispatch::revive(DeliveryRef ref) {
  Delivery& delivery = t_.messages.delivery(ref);
  Message& message = t_.messages.message(delivery.message);
  CHECK(is_final(delivery.state));
  delivery.state = State::queued;
  delivery.changed = t_.now;
  delivery.attempts = 0;  // but `may_be_known` stays: its receiver may still know its seq
  delivery.failures = 0;
  delivery.revivals = 0;
  t_.messages.last_errors().erase(ref);
  t_.messages.stop_expiry(delivery.message);
  message.expires = message.ttl.us > 0 ? t_.now + message.ttl : base::time_max;
  t_.messages.note_revival(ref);
  t_.messages.start_expiry(delivery.message);
  ++t_.agents[delivery.receiver].inbox.unsettled;
  if (Task* const task = message.is_task ? t_.tasks.find(message.seq) : nullptr;
      task != nullptr && task->specialist == t_.agents[delivery.receiver].name) {
    set_task(*task, TaskState::assigned, none);
  }
  line_up(ref);
}

void Dispatch::redirect(DeliveryRef ref, AgentRef stand_in) {
  Delivery& delivery = t_.messages.delivery(ref);
  t_.messages.redirected()[ref] = t_.agents[delivery.receiver].name;
  const Seq seq = t_.messages.message(delivery.message).seq;
  if (Task* const task = t_.tasks.find(seq);
      task != nullptr && task->specialist == t_.agents[delivery.receiver].name) {
    t_.tasks.give(*task, t_.agents[stand_in].name, seq, t_.now);
  }
  t_.agents.use(stand_in);
  t_.agents.release(delivery.receiver);
  t_.messages.set_receiver(ref, stand_in);
}

void Dispatch::release(const DeadLetter& letter) {
  if (!letter.is_open() || letter.reason == Reason::malformed) {
    return;  // released when it was resolved; a malformed one has no header
  }
  const MessageRef ref = t_.messages.find(letter.message);
  CHECK(ref != none);
  --t_.messages.message(ref).dead_letters;
  finish(ref);
}

void Dispatch::close_stream(StreamRef ref, bool failed) {
  const StreamId id = t_.streams[ref].id;
  const AgentRef agent = t_.streams[ref].agent;
  std::erase(t_.agents[agent].streams, ref);
  // From the newest to the oldest, so that each goes back to the front of its channel. The oldest
  // is what the receiver works on: if that is what ends it each time, it is not to go on for ever.
  while (t_.streams[ref].last != none) {
    const DeliveryRef last = t_.streams[ref].last;
    const bool worked_on = failed && last == t_.streams[ref].first;
    const ResumeMark mark = t_.messages.delivery(last).mark;
    const ResumeMark former = t_.messages.former_mark(last);
    const bool may_be_known = t_.messages.delivery(last).may_be_known;
    give_back(last, Duration{}, worked_on, worked_on ? "the receiver's connection was lost" : "");
    Delivery& delivery = t_.messages.delivery(last);
    delivery.may_be_known = may_be_known;
    if (!is_final(delivery.state)) {
      t_.messages.set_marks(last, mark, former);
      delivery.lost = worked_on;
    }
  }
  t_.streams.remove(ref);
  emit(StreamClosed{.stream = id});
  if (t_.agents[agent].streams.empty()) {
    presence::expect(t_, agent);
  }
  pump(agent);
}

void Dispatch::keep_seen(StreamRef stream) {
  std::vector<std::tuple<ResumeMark, Seq, DeliveryRef>> seen;
  const ResumeMark after = t_.streams[stream].after;
  t_.messages.each_open(t_.streams[stream].agent, [&](DeliveryRef ref, const Delivery& delivery) {
    const ResumeMark before = delivery.state == State::queued && !delivery.parked
                                  ? t_.messages.mark_before(ref, after)
                                  : ResumeMark{};
    if (!before.is_none()) {
      seen.emplace_back(before, t_.messages.message_of(ref).seq, ref);
    }
  });
  std::ranges::sort(seen);
  for (const auto& [before, seq, ref] : seen) {
    if (!dead_letter_unfit(ref)) {
      hand_out(ref, stream, State::offered);
    }
  }
}

void Dispatch::retain(MessageRef ref) {
  Message& message = t_.messages.message(ref);
  const TopicRef topic = message.topic;
  t_.topics[topic].published = t_.now;
  if (t_.rules.topic_retained_max == 0 || t_.rules.topic_retention.us == 0) {
    return;
  }
  message.retained = true;
  t_.topics.retain(t_.messages, topic, ref);
  while (t_.topics[topic].retained.size() > t_.rules.topic_retained_max) {
    end_retention(topic);
  }
}

void Dispatch::end_retention(TopicRef topic) {
  const MessageRef ref = t_.topics.pop(t_.messages, topic);
  t_.messages.message(ref).retained = false;
  finish(ref);
}

void Dispatch::end_fan_out(MessageRef message) {
  fanned_out_ = none;
  finish(message);
}

// Remembers a message that nothing needs any more, for duplicates and questions.
void Dispatch::finish(MessageRef ref) {
  const Message& message = t_.messages.message(ref);
  if (message.open > 0 || ref == fanned_out_) {
    return;
  }
  t_.messages.stop_expiry(ref);
  t_.broadcasts.remove(message.seq);
  if (!message.watched) {
    end_request(ref);
  }
  if (t_.messages.has_failed(ref)) {
    unblock(ref);
  }
  if (!message.retained && message.dead_letters == 0 && !message.watched) {
    t_.messages.remembered().push_back({ref, t_.now});
    t_.sessions.done_with(message.seq);
  }
}

void Dispatch::forget(MessageRef ref) {
  unblock(ref);
  const Message message = t_.messages.message(ref);
  for (DeliveryRef next = message.deliveries; next != none;) {
    const Delivery& delivery = t_.messages.delivery(next);
    t_.agents.release(delivery.receiver);
    next = delivery.sibling;
  }
  t_.messages.remove(ref);
  t_.agents.release(message.sender);
  if (message.reply_to != none) {
    t_.agents.release(message.reply_to);
  }
  if (message.topic != none) {
    t_.topics.release(message.topic);
  }
}

void Dispatch::keep_house() {
  for (const AgentRef sender : t_.messages.take_drained()) {
    relieve(sender);
  }
  while (t_.dead_letters.size() > t_.rules.dead_letters_max) {
    const uint64_t dropped = t_.dead_letters.first_to_go();
    release(*t_.dead_letters.find(dropped));
    t_.dead_letters.remove(dropped);
    ++t_.dead_letters_dropped;
    emit(DeadLetterDropped{.id = dropped});
  }
  for (size_t n = 0; n < due_max && t_.topics.oldest() != none &&
                     t_.topics.oldest_time() + t_.rules.topic_retention <= t_.now;
       ++n) {
    end_retention(t_.topics.oldest());
  }
  forget_threads();
  forget_sessions();
  forget_tasks();
  std::deque<Messages::Remembered>& remembered = t_.messages.remembered();
  for (size_t n = 0; !remembered.empty(); ++n) {
    const bool too_many = remembered.size() > t_.rules.settled_max;
    const bool too_old = remembered.front().since + t_.rules.settled_retention <= t_.now;
    if (!too_many && (!too_old || n >= due_max)) {
      return;
    }
    const MessageRef ref = remembered.front().message;
    remembered.pop_front();
    forget(ref);
  }
}

std::vector<DeliveryRef> Dispatch::unsettled_of(AgentRef agent) const {
  std::vector<std::pair<Seq, DeliveryRef>> found;
  t_.messages.each_open(agent, [&](DeliveryRef ref, const Delivery&) {
    found.emplace_back(t_.messages.message_of(ref).seq, ref);
  });
  std::ranges::sort(found);
  const auto refs = std::views::values(found);
  return {refs.begin(), refs.end()};
}

}  // namespace parley::core
