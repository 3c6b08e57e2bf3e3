// SPDX-License-Identifier: Apache-2.0
// How a message is accepted: checked, told from a repeated one, routed, delivered.
#include <algorithm>
#include <set>
#include <variant>

#include "base/hash.h"
#include "core/agents/presence.h"
#include "core/machine/workspace.h"
#include "core/model/refusal.h"
#include "core/model/sizes.h"
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

// `domain.event_type`, or collab's `topic:NAME`.
bool is_topic_name(std::string_view name) {
  return name.starts_with("topic:") || name.find('.') != std::string_view::npos;
}

// Whether the sender says that it means a topic, even where an agent has the name.
bool says_topic(const Envelope& e, std::string_view name) {
  return name.starts_with("topic:") || (e.kind == Kind::broadcast && is_topic_name(name));
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

}  // namespace

bool Workspace::is_malformed(const Error& error) {
  return error.code == Code::bad_request || error.code == Code::not_found ||
         error.code == Code::payload_too_large;
}

// What is wrong with the message itself leaves a dead letter; what is wrong with the moment does
// not.
Outcome Workspace::on(Turn& turn, const Send& command) {
  Outcome outcome = send(turn, command);
  if (command.outbox_item != 0 && turn.actor == none) {
    give_up_outbox_item(turn, command.outbox_item, outcome);
  }
  if (!outcome && turn.actor != none && is_malformed(outcome.error())) {
    (void)turn.dispatch.dead_letter_malformed(turn.actor, turn.entry.seq, text_bytes(command),
                                              outcome.error().detail);
  }
  return outcome;
}

// What the broker owes and could not send now, it can never send: it is the same message each time.
// What it was for ends here, so that no one waits for it. Does nothing when it was sent.
void Workspace::give_up_outbox_item(Turn& turn, uint64_t id, const Outcome& outcome) {
  const OutboxItem* const item = t_.outbox.find(id);
  if (item == nullptr) {
    return;
  }
  ++t_.outbox.refused;
  const OutboxKind kind = item->kind;
  const std::string to = item->to;
  if (kind == OutboxKind::stage) {
    turn.requests.cannot_begin(*item, outcome
                                          ? "another message has the id that this one would have"
                                          : outcome.error().detail);
  }
  if (kind == OutboxKind::delivery_failed || kind == OutboxKind::message_malformed) {
    for (const auto& [number, letter] : t_.dead_letters.all()) {
      if (letter.notice == id) {
        t_.dead_letters.find(number)->notice = 0;  // its sender was not told
        break;
      }
    }
  }
  t_.outbox.remove(id);
  if (kind != OutboxKind::published) {  // news make no news
    broker_topics::audit(t_, turn.dispatch, "notice_refused", broker_name, to);
  }
}

// All that can refuse a message, and nothing that changes anything: the same at the door, where a
// refusal costs no entry, and in `apply`.
std::expected<Workspace::Plan, Error> Workspace::plan(Asking asking, const Send& command) const {
  const Envelope& envelope = command.envelope;
  const OutboxItem* const item = t_.outbox.find(command.outbox_item);
  if (command.outbox_item != 0 && (asking.actor != none || item == nullptr)) {
    return refuse(Code::conflict, "the errand was done already, or there is no one left to tell");
  }
  if (item != nullptr && item->kind == OutboxKind::stage && envelope.body.empty()) {
    return refuse(Code::not_found, "what the stage before it answered can no longer be read");
  }
  if (auto good = check(asking, envelope, sender_of(asking, item)); !good) {
    return std::unexpected(good.error());
  }
  Plan plan;
  plan.content = content_hash(command);
  const auto repeated = find_repeated(envelope, plan.content);
  if (!repeated || *repeated != none) {
    plan.repeated = repeated.value_or(none);
    return repeated ? std::expected<Plan, Error>(plan) : std::unexpected(repeated.error());
  }
  const auto found = find_question(asking, envelope);
  if (!found) {
    return std::unexpected(found.error());
  }
  plan.question = *found;
  plan.answers = plan.question != none && is_awaited(plan.question, asking.actor);
  asking.answers = plan.answers;
  if (auto good = Requests::check(t_, command); !good) {
    return std::unexpected(good.error());
  }
  auto routed = route(asking, envelope);
  if (!routed) {
    return std::unexpected(routed.error());
  }
  plan.route = std::move(*routed);
  if (auto good = check_receivers(asking, envelope, plan.route); !good) {
    return std::unexpected(good.error());
  }
  if (auto good = check_roles(asking, envelope, plan.route); !good) {
    return std::unexpected(good.error());
  }
  const auto given = find_given(asking, envelope, plan.route, plan.content);
  if (!given || *given) {
    plan.given = given.value_or(std::nullopt);
    return given ? std::expected<Plan, Error>(plan) : std::unexpected(given.error());
  }
  if (auto good = plan_wait(asking, command, plan); !good) {
    return std::unexpected(good.error());
  }
  const auto thread = find_thread(asking, envelope, plan.route);
  if (!thread) {
    return std::unexpected(thread.error());
  }
  plan.thread = *thread;
  if (auto good = check_limits(asking, envelope, plan); !good) {
    return std::unexpected(good.error());
  }
  return plan;
}

// The session that it is in, who stands in for whom, and who would wait for whom.
std::expected<void, Error> Workspace::plan_wait(const Asking& turn, const Send& command,
                                                Plan& plan) const {
  const auto session = session_of(turn, command.envelope, plan.route);
  if (!session) {
    return std::unexpected(session.error());
  }
  plan.in_session = *session != nullptr;
  check_availability(turn, command, plan.route);
  plan.cause = cause_of(turn, command, plan.route);
  if (plan.cause != none && t_.messages.message(plan.cause).links >= t_.rules.chain_max) {
    return refuse(Code::limit_reached,
                  "the request that caused this one is the last of a chain of " +
                      std::to_string(t_.rules.chain_max) +
                      " that were passed on and not answered (chain_max); answer it");
  }
  plan.wait = wait_of(turn, command, plan.route, plan.cause);
  if (plan.wait) {
    plan.in_circle = circle(*plan.wait);
  }
  if (!plan.in_circle.empty() &&
      static_cast<DeadlockPolicy>(t_.rules.collab_deadlock) == DeadlockPolicy::abort) {
    return std::unexpected(deadlock(plan.in_circle, command));
  }
  return {};
}

Outcome Workspace::send(Turn& turn, const Send& command) {
  t_.waits.expire(t_.now);
  const auto planned = plan(turn, command);
  if (!planned) {
    if (planned.error().code == Code::overloaded) {
      turn.dispatch.signal_overload(turn.actor);
    }
    return std::unexpected(planned.error());
  }
  if (planned->repeated != none) {
    return t_.messages.message(planned->repeated).refused
               ? repeat_refused(turn, command, planned->repeated)
               : repeat(turn, command, planned->repeated);
  }
  if (planned->given) {
    return *planned->given;
  }
  turn.answers = planned->answers;
  count_sent(turn, command, *planned);
  return accept(turn, command, *planned);
}

// It may be sent, and is.
Outcome Workspace::accept(Turn& turn, const Send& command, const Plan& plan) {
  const Envelope& envelope = command.envelope;
  const OutboxItem* const item = t_.outbox.find(command.outbox_item);
  const MessageRef message = add_message(turn, envelope, plan.route, plan.content);
  if (plan.cause != none) {
    t_.messages.message(message).cause = t_.messages.message(plan.cause).seq;
    t_.messages.message(message).links =
        static_cast<uint16_t>(t_.messages.message(plan.cause).links + 1);
  }
  if (plan.in_session) {
    enter_session(*t_.sessions.find(envelope.session), envelope, plan.route, message);
  }
  const bool waits = begins_later(turn, command, plan.route);
  const bool to_many = plan.route.everyone || !plan.route.topic.empty();
  const bool watched = Requests::wants(t_, command, to_many);
  t_.messages.message(message).watched = watched;
  if (t_.messages.message(message).is_memory_only()) {
    t_.broadcasts.add(turn.entry.seq, turn.entry.id.origin);
  }
  if (!waits) {
    deliver(turn, plan.route, message);
  }
  enter_thread(plan.thread, envelope, plan.route, message);
  if (watched) {
    turn.requests.begin(command, message, item);
  }
  if (plan.wait) {
    begin_wait(*plan.wait, message);
  }
  if (!plan.in_circle.empty()) {
    Error error = deadlock(plan.in_circle, command);
    turn.dispatch.owe(
        {.kind = OutboxKind::deadlock_warned,
         .to = t_.agents[turn.actor].name,
         .about = turn.entry.seq,
         .facts = {{"cycle", std::move(error.cycle)}, {"detail", std::move(error.detail)}}});
  }
  if (plan.question != none) {
    answer(turn, plan.question, message, envelope);
  }
  if (!waits) {
    enter_task(turn, envelope, plan.route, message, plan.question);
  }
  if (item != nullptr) {
    t_.outbox.remove(command.outbox_item);
  }
  if (t_.messages.message(message).refused) {
    return refuse(Code::receiver_unavailable,
                  presence::why_away(t_.agents[plan.route.absent.front()]), "/receiver");
  }
  return Receipt{.message = turn.entry.seq,
                 .has_no_task = turn.has_no_task,
                 .number = t_.messages.message(message).number,
                 .count = t_.messages.message(message).delivery_count,
                 .delay = turn.dispatch.wait_of(message)};
}

// A pipeline waits before a first stage that is busy: its message is kept, and the broker asks the
// stage with it when that has time, as it asks all later ones.
bool Workspace::begins_later(const Turn& turn, const Send& command, const Route& route) {
  return !command.later_stages.empty() && route.is_one() && route.absent.empty() &&
         route.redirected.empty() && turn.requests.is_busy(t_.agents[route.agents.front()]);
}

// Hands the message to all whom the route names; whom it must not wait for gets a dead letter.
void Workspace::deliver(Turn& turn, const Route& route, MessageRef message) {
  std::vector<AgentRef> receivers = route.agents;
  if (!route.topic.empty()) {
    const TopicRef topic = t_.topics.intern(route.topic);
    t_.messages.message(message).topic = topic;
    t_.topics.use(topic);
    turn.dispatch.retain(message);
    receivers = t_.topics.listeners(route.topic);
  }
  for (const std::string_view name : route.unknown) {
    receivers.push_back(t_.agents.intern(name));
  }
  t_.messages.message(message).refused =
      route.is_one() && !route.absent.empty() &&
      !turn.dispatch.is_tried_again(t_.messages.message(message).dialect, route.absent.front());
  const bool fan_out = route.everyone || !route.topic.empty();
  Passage passage = turn.actor == none ? Passage{} : turn.dispatch.enter(message);
  passage.is_answer = turn.answers;
  turn.dispatch.begin_fan_out(message);
  for (const AgentRef receiver : receivers) {
    if (std::ranges::find(route.absent, receiver) != route.absent.end()) {
      turn.dispatch.deliver_if_there(message, receiver);
    } else if (!fan_out || receiver != turn.actor) {
      turn.dispatch.deliver(message, receiver, passage);
    }
  }
  for (const auto& [stand_in, away] : route.redirected) {
    t_.messages.redirected()[t_.messages.delivery_to(message, stand_in)] = t_.agents[away].name;
  }
  if (passage.is_paced) {
    turn.dispatch.signal_backpressure(message);
  }
  turn.dispatch.end_fan_out(message);
}

// It was sent before.
Outcome Workspace::repeat(Turn& turn, const Send& command, MessageRef ref) {
  if (command.wait.us > 0) {
    if (auto good = wait_again(turn, command, ref); !good) {
      return std::unexpected(good.error());
    }
  }
  const Message& first = t_.messages.message(ref);
  return Receipt{.message = first.seq,
                 .duplicate = true,
                 .number = first.number,
                 .count = first.delivery_count,
                 .delay = turn.dispatch.wait_of(ref)};
}

// What comes back to the one who asked: the answer, one that is late, or one more. Where a chain
// ends, it is the answer to all that was passed on in it.
void Workspace::answer(Turn& turn, MessageRef question, MessageRef answer, const Envelope& e) {
  const std::vector<MessageRef> before = passed_on(question, e);
  const MessageRef first = before.empty() ? question : before.back();
  const DeliveryRef asked = t_.messages.delivery_to(question, turn.actor);
  Message& added = t_.messages.message(answer);
  added.mark = t_.messages.delivery(asked).state == State::answered ? Mark::duplicate
               : t_.messages.message(first).timed_out               ? Mark::late
                                                                    : Mark::plain;
  end_answered(turn, question, turn.actor, answer, e.status);
  AgentRef by = t_.messages.message(question).sender;
  for (const MessageRef ref : before) {
    end_answered(turn, ref, by, answer, e.status);
    Task* const task = t_.tasks.find(t_.messages.message(ref).seq);
    if (task != nullptr && task->specialist == t_.agents[by].name) {
      end_task(turn, *task, e);
    }
    by = t_.messages.message(ref).sender;
  }
}

void Workspace::end_answered(Turn& turn, MessageRef question, AgentRef by, MessageRef answer,
                             Status status) {
  const DeliveryRef asked = t_.messages.delivery_to(question, by);
  const State state = t_.messages.delivery(asked).state;
  if (is_final(state) && state != State::acked) {
    return;
  }
  turn.dispatch.settle(asked, State::answered);
  t_.messages.message(question).answer = turn.entry.seq;
  turn.requests.answered(question, by, answer, status);
  if (!t_.messages.message(question).watched) {
    turn.dispatch.end_request(question);
    turn.dispatch.unblock(question);
  }
  turn.dispatch.pump(by);
}

// The requests that were passed on to come to this one, up to that whose asker gets the answer; the
// newest first. None where its own asker does, who may have more to say.
std::vector<MessageRef> Workspace::passed_on(MessageRef question, const Envelope& answer) const {
  std::vector<MessageRef> found;
  size_t count = 0;
  const auto gets = [&](AgentRef agent) {
    return std::ranges::find(answer.receivers, t_.agents[agent].name) != answer.receivers.end();
  };
  for (MessageRef at = question;
       t_.messages.message(at).cause.n != 0 && !gets(t_.messages.message(at).sender);) {
    at = t_.messages.find(t_.messages.message(at).cause);
    if (at == none) {
      break;
    }
    found.push_back(at);
    count = gets(t_.messages.message(at).answers_to()) ? found.size() : count;
  }
  found.resize(count);
  return found;
}

// What a response answers; none for any other message. An answer goes to who asked, or to whom that
// one named, or to who began the chain: to no one else alone, so that whoever waits gets it. Two
// senders may have used the same id.
std::expected<MessageRef, Error> Workspace::find_question(const Asking& turn,
                                                          const Envelope& e) const {
  if (e.kind != Kind::response) {
    return none;
  }
  for (const std::string_view name : e.receivers) {
    const AgentRef asker = t_.agents.find(name);
    const MessageRef asked =
        asker == none ? none : t_.messages.find_received(turn.actor, e.in_reply_to, asker);
    if (asked != none) {
      return asked;
    }
  }
  const MessageRef other = t_.messages.find_received(turn.actor, e.in_reply_to);
  if (other != none && !passed_on(other, e).empty()) {
    return other;
  }
  if (other == none) {
    return refuse(Code::not_found, "in_reply_to names no message that was sent to you",
                  "/in_reply_to");
  }
  return refuse(Code::bad_request,
                "the answer goes to \"" + t_.agents[t_.messages.message(other).answers_to()].name +
                    "\", who wants it; name it as a receiver",
                "/receiver");
}

bool Workspace::is_awaited(MessageRef question, AgentRef by) const {
  return asks(t_.messages.message(question).kind) &&
         t_.messages.delivery(t_.messages.delivery_to(question, by)).state != State::answered;
}

// A pipeline's next message is its owner's, though a node writes it.
std::string_view Workspace::sender_of(const Asking& turn, const OutboxItem* item) const {
  if (turn.actor != none) {
    return t_.agents[turn.actor].name;
  }
  if (item != nullptr && item->kind == OutboxKind::stage) {
    return t_.patterns.pipelines().at(pipeline_of(*item)).owner;
  }
  return broker_sender;
}

std::expected<void, Error> Workspace::check(const Asking& turn, const Envelope& e,
                                            std::string_view sender) const {
  if (e.sender != sender) {
    return refuse(Code::forbidden, "a message is sent by the principal who is authenticated",
                  "/sender");
  }
  if (e.id.is_none()) {
    return refuse(Code::bad_request, "a message has an id", "/id");
  }
  if (e.receivers.empty() || e.receivers.size() > t_.rules.receivers_max) {
    return refuse(Code::bad_request,
                  "a message has 1 to " + std::to_string(t_.rules.receivers_max) +
                      " receivers (receivers_max)",
                  "/receiver");
  }
  for (const std::string_view name : e.receivers) {
    if (topic_name(name).empty() || name.size() > t_.rules.name_bytes_max) {
      return refuse(Code::bad_request,
                    "a receiver's name is 1 to " + std::to_string(t_.rules.name_bytes_max) +
                        " bytes (name_bytes_max)",
                    "/receiver");
    }
    if (turn.actor != none && broker_topics::is_only_ours(topic_name(name))) {
      return refuse(Code::forbidden,
                    "only the broker publishes on \"" + std::string(topic_name(name)) +
                        "\"; choose another topic",
                    "/receiver");
    }
  }
  const size_t bytes = text_bytes(e);
  if (bytes > t_.rules.message_bytes_max) {
    return refuse(Code::payload_too_large, "the message has " + std::to_string(bytes) +
                                               " bytes; at most " +
                                               std::to_string(t_.rules.message_bytes_max) +
                                               " are taken (message_bytes_max)");
  }
  if (e.thread.size() > thread_name_bytes_max) {
    return refuse(
        Code::bad_request,
        "the name of a thread has at most " + std::to_string(thread_name_bytes_max) + " bytes",
        "/conversation_id");
  }
  // A pipeline's later stages live as long as its first, whatever the rules say since.
  if (e.ttl > t_.rules.ttl_max && turn.actor != none) {
    return refuse(
        Code::bad_request,
        "a time to live is at most " + base::format_duration(t_.rules.ttl_max) + " (ttl_max)",
        "/ttl");
  }
  return {};
}

// The message that this one repeats, by idempotency key or by id; none when it is new.
std::expected<MessageRef, Error> Workspace::find_repeated(const Envelope& e,
                                                          uint64_t content) const {
  const AgentRef sender = t_.agents.find(e.sender);
  if (!e.idempotency_key.is_none()) {
    const MessageRef first = t_.messages.find_key(sender, e.idempotency_key);
    if (first != none) {
      return first;
    }
  }
  const MessageRef first = t_.messages.find_sent(sender, e.id);
  if (first != none && t_.messages.message(first).content != content) {
    return refuse(Code::duplicate_id,
                  "you sent another message with this id at " +
                      base::format_time(t_.messages.message(first).time),
                  "/id");
  }
  return first;
}

std::expected<Workspace::Route, Error> Workspace::route(const Asking& turn,
                                                        const Envelope& e) const {
  Route route;
  std::set<std::string_view> named;  // a list may have a thousand names
  for (const std::string_view name : e.receivers) {
    if (e.receivers.size() > 1 && !named.insert(name).second) {
      continue;
    }
    const AgentRef agent = t_.agents.find(name);
    if (agent != none && t_.agents[agent].is_registered() && !says_topic(e, name)) {
      route.agents.push_back(agent);
    } else if (name == "*" || is_topic_name(name)) {
      if (e.receivers.size() > 1) {
        return refuse(Code::bad_request, "a topic or \"*\" is a message's only receiver",
                      "/receiver");
      }
      route.everyone = name == "*";
      route.topic = name == "*" ? std::string_view{} : topic_name(name);
      if (is_pattern(route.topic)) {
        return refuse(Code::bad_request,
                      "a message is published on one topic; \"*\" and \">\" in a name are for "
                      "those who subscribe",
                      "/receiver");
      }
    } else {
      route.unknown.push_back(name);
    }
  }
  if (route.everyone) {
    route.agents = t_.agents.sorted();
    // What is kept in memory only is for who is there.
    const bool all = e.durability == Durability::disk;
    std::erase_if(route.agents, [this, all](AgentRef ref) {
      const Agent& agent = t_.agents[ref];
      return agent.kind != PrincipalKind::agent || (!all && agent.is_offline());
    });
  }
  // The broker's own topics are few, and what it owes is always taken.
  if (!route.topic.empty() && t_.topics.find(route.topic) == none && turn.actor != none &&
      t_.topics.size() >= t_.rules.topics_max) {
    return refuse(Code::limit_reached, "the workspace has " + std::to_string(t_.rules.topics_max) +
                                           " topics already (topics_max)");
  }
  if (turn.actor != none && route.is_one() && e.priority != Priority::critical && !turn.answers &&
      t_.load_of(route.agents.front()) >= t_.rules.queue_max &&
      !Dispatch::is_tried_again(t_, e.dialect, route.agents.front())) {
    return refuse(Code::queue_full,
                  "the inbox of \"" + t_.agents[route.agents.front()].name + "\" is full (" +
                      std::to_string(t_.rules.queue_max) +
                      "); send again when it has settled some, or raise queue_max");
  }
  return route;
}

// An agent that is named must be able to take the message, also as a pipeline's stage. Whom a topic
// or everyone's channel brings what it cannot take has a dead letter instead.
std::expected<void, Error> Workspace::check_receivers(const Asking& turn, const Envelope& e,
                                                      const Route& route) const {
  if (route.everyone || (turn.actor == none && e.sender == broker_sender)) {
    return {};
  }
  const MessageSizes sizes = sizes_of(e);
  for (const AgentRef ref : route.agents) {
    const Agent& receiver = t_.agents[ref];
    if (std::string fault = size_fault(t_.rules, receiver, e.dialect, sizes); !fault.empty()) {
      return refuse(Code::payload_too_large, std::move(fault),
                    receiver.dialect == Dialect::inbox ? "/body" : "/receiver");
    }
  }
  return {};
}

// The sender's own number, or else the next one of its channel: to an agent, to a topic, to
// everyone, or to several. 0 when it has too many channels.
uint64_t Workspace::next_number(AgentRef sender, const Envelope& e, const Route& route) {
  if (e.sequence_number != 0 || !t_.agents[sender].is_registered()) {
    return e.sequence_number;
  }
  enum Channel : uint64_t { everyone, several, topic, agent };
  const uint64_t channel = route.everyone            ? base::hash64("", everyone)
                           : !route.topic.empty()    ? base::hash64(route.topic, topic)
                           : e.receivers.size() == 1 ? base::hash64(e.receivers.front(), agent)
                                                     : base::hash64("", several);
  std::map<uint64_t, uint64_t>& numbers = t_.agents[sender].numbers;
  const auto at = numbers.find(channel);
  if (at != numbers.end()) {
    return ++at->second;
  }
  return numbers.size() < t_.rules.numbered_channels_max ? numbers[channel] = 1 : 0;
}

MessageRef Workspace::add_message(const Asking& turn, const Envelope& e, const Route& route,
                                  uint64_t content) {
  const AgentRef sender = turn.actor == none ? t_.agents.intern(e.sender) : turn.actor;
  Message message;
  message.number = next_number(sender, e, route);
  message.seq = turn.entry.seq;
  message.time = t_.now;
  message.ttl = e.ttl.us > 0 ? e.ttl : default_ttl(t_.rules, e.dialect, e.priority);
  message.expires = message.ttl.us > 0 ? t_.now + message.ttl : base::time_max;
  message.id = e.id;
  message.key = e.idempotency_key;
  message.content = content;
  message.sender = sender;
  if (!e.reply_to.empty() && e.reply_to != e.sender) {
    message.reply_to = t_.agents.intern(e.reply_to);
    t_.agents.use(message.reply_to);
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
  t_.agents.use(sender);
  return t_.messages.add(message);
}

}  // namespace parley::core
