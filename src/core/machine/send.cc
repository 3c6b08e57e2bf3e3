// SPDX-License-Identifier: Apache-2.0
// How a message is accepted: checked, told from a repeated one, routed, delivered.
#include "core/machine/send.h"

#include <algorithm>
#include <set>
#include <variant>

#include "base/hash.h"
#include "core/agents/authority.h"
#include "core/agents/hub.h"
#include "core/agents/presence.h"
#include "core/conversation/session_acts.h"
#include "core/conversation/task_acts.h"
#include "core/conversation/thread_acts.h"
#include "core/dead_letters/dead_letter_acts.h"
#include "core/delivery/absence.h"
#include "core/delivery/routing.h"
#include "core/handoffs/handoff_acts.h"
#include "core/humans/escalation_acts.h"
#include "core/humans/held.h"
#include "core/limits/admission.h"
#include "core/limits/backpressure_acts.h"
#include "core/limits/rate_limit.h"
#include "core/model/refusal.h"
#include "core/model/sizes.h"
#include "core/outbox/outbox_acts.h"
#include "core/requests/answers.h"
#include "core/requests/deadlock.h"
#include "core/requests/pipeline_acts.h"
#include "core/requests/tries.h"
#include "core/topics/broker_topics.h"

namespace parley::core {

namespace {

using base::Code;

// Small values side by side, each in a byte.
template <class... Small>
uint64_t packed(Small... values) {
  static_assert(sizeof...(values) <= sizeof(uint64_t));
  uint64_t all = 0;
  ((all = all << 8 | static_cast<uint8_t>(values)), ...);
  return all;
}

// A repeated message has the same of these; its timestamp may differ.
uint64_t content_hash(const Send& command) {
  const Envelope& e = command.envelope;
  uint64_t hash = base::hash64(e.body, packed(e.kind, e.priority, e.content_type, e.status,
                                              e.durability, e.on_timeout, e.requires_ack));
  hash = base::mix64(hash, static_cast<uint64_t>(e.ttl.us));
  hash = base::mix64(hash, static_cast<uint64_t>(e.response_timeout.us));
  for (const std::string_view text :
       {e.subject, e.reply_to, e.correlation, e.causation, e.session, e.action, e.task}) {
    hash = base::hash64(text, hash);
  }
  hash = base::hash64(e.extra, hash);
  hash = base::hash64(e.thread, hash);
  hash = base::hash64(e.type, hash);
  for (const std::string_view receiver : e.receivers) {
    hash = base::hash64(receiver, hash);
  }
  if (command.gathering) {
    hash = base::mix64(hash, packed(command.gathering->strategy, command.gathering->on_partial));
    hash = base::mix64(hash, command.gathering->quorum);
    hash = base::mix64(hash, static_cast<uint64_t>(command.gathering->window.us));
  }
  for (const std::string_view stage : command.later_stages) {
    hash = base::hash64(stage, base::mix64(hash, 1));
  }
  return base::mix64(hash, base::mix64(e.in_reply_to.high(), e.in_reply_to.low()));
}

// What a message takes up, with all its texts that its sender chose.
size_t text_bytes(const Envelope& e) {
  size_t bytes = 0;
  for (const std::string_view text :
       {e.sender, e.reply_to, e.native_id, e.question, e.type, e.thread, e.correlation, e.causation,
        e.session, e.action, e.subject, e.task, e.tracestate, e.body, e.extra}) {
    bytes += text.size();
  }
  for (const std::string_view receiver : e.receivers) {
    bytes += receiver.size();
  }
  return bytes;
}

// The same of all that was asked with it.
size_t text_bytes(const Send& command) {
  size_t bytes = text_bytes(command.envelope);
  for (const std::string_view stage : command.later_stages) {
    bytes += stage.size();
  }
  return bytes;
}

// The request that its sender works on with this one.
std::expected<void, Error> plan_cause(const ConstContext& context, const Send& command,
                                      SendPlan& plan) {
  const Tables& t = context.t;
  plan.cause = cause_of(context, command, plan.route);
  if (plan.cause != none && t.messages.message(plan.cause).links >= t.rules.chain_max) {
    return refuse(Code::limit_reached,
                  "the request that caused this one is the last of a chain of " +
                      std::to_string(t.rules.chain_max) +
                      " that were passed on and not answered (chain_max); answer it");
  }
  return {};
}

// Who would wait for whom.
std::expected<void, Error> plan_wait(const ConstContext& context, const Send& command,
                                     SendPlan& plan) {
  const Tables& t = context.t;
  plan.wait = wait_of(context, command, plan.route, plan.cause);
  if (plan.wait) {
    plan.in_circle = find_circle(t, *plan.wait);
  }
  if (!plan.in_circle.empty() &&
      static_cast<DeadlockPolicy>(t.rules.collab_deadlock) == DeadlockPolicy::abort) {
    return std::unexpected(deadlock_error(t, plan.in_circle, command));
  }
  return {};
}

// A pipeline waits before a first stage that is busy: its message is kept, and the broker asks the
// stage with it when that has time, as it asks all later ones.
bool begins_later(const Context& context, const Send& command, const Route& route) {
  Tables& t = context.t;
  return !command.later_stages.empty() && route.is_one() && route.absent.empty() &&
         route.redirected.empty() && is_busy(t, t.agents[route.agents.front()]);
}

// The sender's own number, or else the next one of its channel: to an agent, to a topic, to
// everyone, or to several. 0 when it has too many channels.
uint64_t next_number(Tables& t, AgentRef sender, const Envelope& e, const Route& route) {
  if (e.sequence_number != 0 || !t.agents[sender].is_registered()) {
    return e.sequence_number;
  }
  enum Channel : uint64_t { everyone, several, topic, agent };
  const uint64_t channel = route.everyone            ? base::hash64("", everyone)
                           : !route.topic.empty()    ? base::hash64(route.topic, topic)
                           : e.receivers.size() == 1 ? base::hash64(e.receivers.front(), agent)
                                                     : base::hash64("", several);
  std::map<uint64_t, uint64_t>& numbers = t.agents[sender].numbers;
  const auto at = numbers.find(channel);
  if (at != numbers.end()) {
    return ++at->second;
  }
  return numbers.size() < t.rules.numbered_channels_max ? numbers[channel] = 1 : 0;
}

MessageRef add_message(Context& context, const Envelope& e, const Route& route, uint64_t content) {
  Tables& t = context.t;
  const AgentRef sender = context.actor == none ? t.agents.intern(e.sender) : context.actor;
  Message message;
  message.number = next_number(t, sender, e, route);
  message.seq = context.entry.seq;
  message.time = t.now;
  message.ttl = e.ttl.us > 0 ? e.ttl : default_ttl(t.rules, e.dialect, e.priority);
  message.expires = expiry_of(message.ttl, t.now);
  message.id = e.id;
  message.key = e.idempotency_key;
  message.content = content;
  message.sender = sender;
  if (!e.reply_to.empty() && e.reply_to != e.sender) {
    message.reply_to = t.agents.intern(e.reply_to);
    t.agents.use(message.reply_to);
  }
  const MessageSizes sizes = sizes_of(e);
  message.whole_bytes = static_cast<uint32_t>(std::min<size_t>(sizes.whole, UINT32_MAX));
  message.content_bytes = static_cast<uint32_t>(std::min<size_t>(sizes.content, UINT32_MAX));
  message.priority = e.priority;
  message.kind = e.kind;
  message.dialect = e.dialect;
  message.durability = e.durability;
  message.is_own = e.sender == broker_sender;
  message.everyone = route.everyone;
  message.named = !e.native_id.empty();
  message.approve_below = approve_below(e);
  t.agents.use(sender);
  return t.messages.add(message);
}

// What the broker sees of its sender's work, and what that one says of it (SP-10). `question` is
// what it answers; none where it is no answer, or does not pass on now.
void note_work(Tables& t, AgentRef sender, const Envelope& e, MessageRef question,
               MessageRef message) {
  if (sender == none) {
    return;
  }
  if (e.kind == Kind::health_report) {
    t.agents[sender].work.report = t.messages.message(message).seq;
  }
  if (question != none) {
    t.agents[sender].work.answered(
        t.now, {.well = e.status != Status::error && e.status != Status::declined,
                .after = t.now - t.messages.message(question).time,
                .confidence_ppm = e.confidence_ppm});
  }
}

// What comes of it for the request that it answers and for its task. False: it tells of a task that
// its sender does not have.
bool enter(Context& context, const Send& command, const SendPlan& plan, MessageRef message,
           bool waits) {
  if (plan.question != none) {
    enter_answer(context, plan.question, message, command.envelope);
  }
  escalate_for_review(context.dispatch, command.envelope, message, plan.question,
                      command.envelope.review);
  return waits || enter_task(context, command.envelope, plan.route, message, plan.question);
}

// The same of what reaches nobody yet. What an answer brings about comes when it passes on.
bool enter_held(Context& context, const Send& command, const SendPlan& plan, MessageRef message,
                std::optional<Duration> pause) {
  if (pause || plan.held.empty()) {
    if (pause) {
      supersede_answer(context, plan.question, message, *pause);
    } else {
      fail_after_last_try(context, plan.question, message, command.envelope);
    }
    drop_hold(context.t, context.entry.seq);
    return true;
  }
  if (context.t.messages.message(message).refused) {
    drop_hold(context.t, context.entry.seq);
    return true;
  }
  const bool has_task = plan.question != none ||
                        enter_task(context, command.envelope, plan.route, message, plan.question);
  begin_held(context, command.envelope, message, plan.question, plan.held);
  // Nothing of what it says is known before it passes.
  escalate_for_review(context.dispatch, command.envelope, message, plan.question,
                      "its sender wants people to look at it; it waits for its approval");
  return has_task;
}

// What it says to those who debate, wait for it, or answer for its sender.
void enter_squad_work(Context& context, const Send& command, const SendPlan& plan,
                      MessageRef message, bool is_held) {
  const Envelope& e = command.envelope;
  acknowledge(context, plan.acknowledged);
  enter_handoff(context, e, message);
  const bool is_put_before_people =
      enter_debate(context, e, plan.debate, plan.route, plan.thread.is_apart);
  if (context.actor != none && !is_held && !is_put_before_people) {
    escalate_by_policy(context.dispatch, e, context.entry.seq, plan.route.people(context.t));
  }
}

// What the broker owed is sent; it may be off the list already. 0: it is none of the broker's.
void end_item(Dispatch& dispatch, uint64_t id, MessageRef message) {
  if (const OutboxItem* const found = dispatch.t.outbox.find(id); found != nullptr) {
    const OutboxItem item = *found;
    dispatch.t.outbox.remove(id);
    note_told(dispatch, item, message);
  }
}

// It may be sent, and is.
Outcome accept(Context& context, const Send& command, const SendPlan& plan) {
  Tables& t = context.t;
  const Envelope& envelope = command.envelope;
  const OutboxItem* const item = t.outbox.find(command.outbox_item);
  const MessageRef message = add_message(context, envelope, plan.route, plan.content);
  if (plan.cause != none) {
    t.messages.message(message).cause = t.messages.message(plan.cause).seq;
    t.messages.message(message).links =
        static_cast<uint16_t>(t.messages.message(plan.cause).links + 1);
  }
  if (plan.in_session) {
    enter_session(t, *t.sessions.find(envelope.session), envelope, plan.route, message);
  }
  const bool waits = begins_later(context, command, plan.route);
  const bool to_many = plan.route.everyone || !plan.route.topic.empty();
  const bool watched = Requests::wants(t, command, to_many);
  t.messages.message(message).watched = watched;
  if (t.messages.message(message).is_memory_only()) {
    t.broadcasts.add(context.entry.seq, context.entry.id.origin);
  }
  // An answer after which the task is tried again or has failed, or that people have to approve,
  // reaches nobody.
  const auto pause =
      plan.question == none ? std::nullopt : pause_after(context, plan.question, envelope);
  const bool is_last = plan.question != none && plan.held.empty() &&
                       is_last_failure(context, plan.question, envelope);
  const bool is_held = pause || is_last || !plan.held.empty();
  const bool counts = plan.answers && (!is_held || is_last);
  note_work(t, context.actor, envelope, counts ? plan.question : none, message);
  if (is_held) {
    hold_for_approval(t, context.entry.seq);
  }
  hold_work(t, envelope, plan.debate, plan.thread.is_apart, message);
  if (!waits) {
    deliver_to_route(context, plan.route, message);
  }
  enter_thread(t, plan.thread, envelope, plan.route, message);
  if (watched) {
    context.requests.begin(command, message, item);
  }
  if (plan.wait) {
    block(t, *plan.wait, message);
  }
  if (!plan.in_circle.empty()) {
    const Error error = deadlock_error(t, plan.in_circle, command);
    owe(context.dispatch,
        {.kind = OutboxKind::deadlock_warned,
         .to = t.agents[context.actor].name,
         .about = context.entry.seq,
         .facts = {{"cycle", base::names_in_cycle(error)}, {"detail", error.detail}}});
  }
  if (plan.extended != none) {
    extend_time(context, plan.extended, envelope.response_timeout);
  }
  const bool has_no_task = is_held ? !enter_held(context, command, plan, message, pause)
                                   : !enter(context, command, plan, message, waits);
  enter_squad_work(context, command, plan, message, is_held);
  end_item(context.dispatch, command.outbox_item, message);
  if (t.messages.message(message).refused) {
    return refuse(Code::receiver_unavailable,
                  presence::why_away(t.agents[plan.route.absent.front()]), "/receiver");
  }
  return Receipt{.message = context.entry.seq,
                 .has_no_task = has_no_task,
                 .number = t.messages.message(message).number,
                 .count = t.messages.message(message).delivery_count,
                 .delay = delay_of(t, message)};
}

// It was sent before.
Outcome repeat_send(Context& context, const Send& command, MessageRef ref) {
  Tables& t = context.t;
  if (command.wait.us > 0) {
    if (auto good = block_again(context, command, ref); !good) {
      return std::unexpected(good.error());
    }
  }
  const Message& first = t.messages.message(ref);
  return Receipt{.message = first.seq,
                 .duplicate = true,
                 .number = first.number,
                 .count = first.delivery_count,
                 .delay = delay_of(t, ref)};
}

Outcome send(Context& context, const Send& command) {
  Tables& t = context.t;
  t.wait_graph.expire(t.now);
  const auto planned = plan_send(context, command);
  if (!planned) {
    note_violation(context, planned.error());
    if (planned.error().code == Code::overloaded) {
      signal_overload(context.dispatch, context.actor);
    }
    return std::unexpected(planned.error());
  }
  if (planned->repeated != none) {
    return t.messages.message(planned->repeated).refused
               ? repeat_refused(context, command, planned->repeated)
               : repeat_send(context, command, planned->repeated);
  }
  if (planned->given) {
    return *planned->given;
  }
  context.answers = planned->answers;  // plan_send had a context of its own
  count_sent(context, command, *planned);
  return accept(context, command, *planned);
}

// A pipeline's next message is its owner's, though a node writes it.
std::string_view sender_of(const ConstContext& context, const OutboxItem* item) {
  const Tables& t = context.t;
  if (context.actor != none) {
    return t.agents[context.actor].name;
  }
  if (item != nullptr && item->kind == OutboxKind::stage) {
    return t.pending.pipelines().at(pipeline_of(*item)).owner;
  }
  return broker_sender;
}

std::expected<void, Error> check_envelope(const ConstContext& context, const Envelope& e,
                                          std::string_view sender) {
  const Tables& t = context.t;
  if (e.sender != sender) {
    return refuse(Code::forbidden, "a message is sent by the principal who is authenticated",
                  "/sender");
  }
  if (e.id.is_none()) {
    return refuse(Code::bad_request, "a message has an id", "/id");
  }
  if (e.receivers.empty() || e.receivers.size() > t.rules.receivers_max) {
    return refuse(Code::bad_request,
                  "a message has 1 to " + std::to_string(t.rules.receivers_max) +
                      " receivers (receivers_max)",
                  "/receiver");
  }
  for (const std::string_view name : e.receivers) {
    if (topic_name(name).empty() || name.size() > t.rules.name_bytes_max) {
      return refuse(Code::bad_request,
                    "a receiver's name is 1 to " + std::to_string(t.rules.name_bytes_max) +
                        " bytes (name_bytes_max)",
                    "/receiver");
    }
    if (context.actor != none && broker_topics::is_only_ours(topic_name(name))) {
      return refuse(
          Code::forbidden,
          "only the broker publishes on " + quoted(topic_name(name)) + "; choose another topic",
          "/receiver");
    }
  }
  const size_t bytes = text_bytes(e);
  if (bytes > t.rules.message_bytes_max) {
    return refuse(Code::payload_too_large,
                  "the message has " + std::to_string(bytes) + " bytes; at most " +
                      std::to_string(t.rules.message_bytes_max) + " are taken (message_bytes_max)");
  }
  if (e.thread.size() > thread_name_bytes_max) {
    return refuse(
        Code::bad_request,
        "the name of a thread has at most " + std::to_string(thread_name_bytes_max) + " bytes",
        "/conversation_id");
  }
  // A pipeline's later stages live as long as its first, whatever the rules say since.
  if (e.ttl > t.rules.ttl_max && context.actor != none) {
    return refuse(
        Code::bad_request,
        "a time to live is at most " + base::format_duration(t.rules.ttl_max) + " (ttl_max)",
        "/ttl");
  }
  return {};
}

// The message that this one repeats, by idempotency key or by id; none when it is new.
std::expected<MessageRef, Error> find_repeated(const Tables& t, const Envelope& e,
                                               uint64_t content) {
  const AgentRef sender = t.agents.find(e.sender);
  if (!e.idempotency_key.is_none()) {
    const MessageRef first = t.messages.find_key(sender, e.idempotency_key);
    if (first != none) {
      return first;
    }
  }
  const MessageRef first = t.messages.find_sent(sender, e.id);
  if (first != none && t.messages.message(first).content != content) {
    return refuse(Code::duplicate_id,
                  "you sent another message with this id at " +
                      base::format_time(t.messages.message(first).time),
                  "/id");
  }
  return first;
}

// A stand-in takes part in the session, too, and is one whom the sender may write to.
std::expected<void, Error> plan_stand_ins(const ConstContext& context, const Send& command,
                                          Route& route) {
  redirect_absent(context, command, route);
  if (!route.redirected.empty()) {
    if (auto good = check_authority(context, command.envelope, route); !good) {
      return good;
    }
  }
  return check_hub(context, command, route);
}

// Whether it asks for more time, and whether people have to approve it first.
std::expected<void, Error> plan_time(const ConstContext& context, const Send& command,
                                     SendPlan& plan) {
  const auto extended = find_extended(context, command.envelope);
  if (!extended) {
    return std::unexpected(extended.error());
  }
  plan.extended = *extended;
  plan.held = why_held(context, command.envelope, plan.question);
  return check_held(context, command, plan.question, plan.held);
}

// To whom it goes, if its sender may write to them.
std::expected<Route, Error> plan_route(const ConstContext& context, const Envelope& envelope,
                                       const OutboxItem* item) {
  auto route = find_route(context, envelope);
  if (!route) {
    return route;
  }
  route->news = item != nullptr && item->kind == OutboxKind::published ? item : nullptr;
  if (auto good = check_receivers(context, envelope, *route); !good) {
    return std::unexpected(good.error());
  }
  if (auto good = check_roles(context, envelope, *route); !good) {
    return std::unexpected(good.error());
  }
  if (auto good = check_authority(context, envelope, *route); !good) {
    return std::unexpected(good.error());
  }
  return route;
}

// What it acknowledges, and which debate it is in.
std::expected<void, Error> plan_squad_work(const ConstContext& context, const Envelope& envelope,
                                           SendPlan& plan) {
  const auto acknowledged = find_acknowledged(context, envelope);
  if (!acknowledged) {
    return std::unexpected(acknowledged.error());
  }
  plan.acknowledged = *acknowledged;
  const auto debate = plan_debate(context, envelope, plan.route, plan.question);
  if (!debate) {
    return std::unexpected(debate.error());
  }
  plan.debate = *debate;
  return check_handoffs(context, envelope, plan.route);
}

}  // namespace

bool is_malformed(const Error& error) {
  return error.code == Code::bad_request || error.code == Code::not_found ||
         error.code == Code::payload_too_large;
}

Outcome on(Context& context, const Send& command) {
  Outcome outcome = send(context, command);
  if (command.outbox_item != 0 && context.actor == none) {
    give_up_outbox_item(context, command.outbox_item, outcome);
  }
  if (!outcome && context.actor != none && is_malformed(outcome.error())) {
    if (dead_letter_malformed(context.dispatch, context.actor, context.entry.seq,
                              text_bytes(command), outcome.error().detail)) {
      note_malformed(context, outcome.error().detail);
    }
  }
  return outcome;
}

std::expected<SendPlan, Error> plan_send(ConstContext context, const Send& command) {
  const Tables& t = context.t;
  const Envelope& envelope = command.envelope;
  const OutboxItem* const item = t.outbox.find(command.outbox_item);
  if (command.outbox_item != 0 && (context.actor != none || item == nullptr)) {
    return refuse(Code::conflict, "what is owed was sent already, or no one is left to tell");
  }
  if (item != nullptr && item->kind == OutboxKind::stage && envelope.body.empty()) {
    return refuse(Code::not_found, "what the stage before it answered can no longer be read");
  }
  if (auto good = check_envelope(context, envelope, sender_of(context, item)); !good) {
    return std::unexpected(good.error());
  }
  SendPlan plan;
  plan.content = content_hash(command);
  const auto repeated = find_repeated(t, envelope, plan.content);
  if (!repeated || *repeated != none) {
    plan.repeated = repeated.value_or(none);
    return repeated ? std::expected<SendPlan, Error>(plan) : std::unexpected(repeated.error());
  }
  const auto found = find_question(context, envelope);
  if (!found) {
    return std::unexpected(found.error());
  }
  plan.question = *found;
  plan.answers = plan.question != none && is_awaited(t, plan.question, context.actor);
  context.answers = plan.answers;
  if (auto good = plan_time(context, command, plan); !good) {
    return std::unexpected(good.error());
  }
  if (auto good = Requests::check(t, command); !good) {
    return std::unexpected(good.error());
  }
  if (auto good = check_escalation_share(context, command); !good) {
    return std::unexpected(good.error());
  }
  auto routed = plan_route(context, envelope, item);
  if (!routed) {
    return std::unexpected(routed.error());
  }
  plan.route = std::move(*routed);
  const auto given = find_given(context, envelope, plan.route, plan.content);
  if (!given || *given) {
    plan.given = given.value_or(std::nullopt);
    return given ? std::expected<SendPlan, Error>(plan) : std::unexpected(given.error());
  }
  const auto session = session_of(context, command, plan.route);
  if (!session) {
    return std::unexpected(session.error());
  }
  plan.in_session = *session != nullptr;
  if (auto good = plan_squad_work(context, envelope, plan); !good) {
    return std::unexpected(good.error());
  }
  if (auto good = plan_stand_ins(context, command, plan.route); !good) {
    return std::unexpected(good.error());
  }
  if (auto good = plan_cause(context, command, plan); !good) {
    return std::unexpected(good.error());
  }
  if (auto good = plan_wait(context, command, plan); !good) {
    return std::unexpected(good.error());
  }
  const auto thread = find_thread(context, envelope, plan.question);
  if (!thread) {
    return std::unexpected(thread.error());
  }
  plan.thread = *thread;
  if (auto good = check_limits(context, envelope, plan); !good) {
    return std::unexpected(good.error());
  }
  return plan;
}

}  // namespace parley::core
