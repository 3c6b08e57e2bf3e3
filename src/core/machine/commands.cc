// SPDX-License-Identifier: Apache-2.0
// What each command does, but for Send.
#include <algorithm>

#include "base/text.h"
#include "core/agents/presence.h"
#include "core/delivery/tries.h"
#include "core/machine/checks.h"
#include "core/machine/workspace.h"
#include "core/model/refusal.h"
#include "core/topics/broker_topics.h"

namespace parley::core {

namespace {

using base::Code;

std::unexpected<Error> too_long(std::string_view what, uint64_t bytes_max, std::string field) {
  return refuse(
      Code::bad_request,
      std::string(what) + " must be 1 to " + std::to_string(bytes_max) + " bytes (name_bytes_max)",
      std::move(field));
}

bool is_name(std::string_view text, const Rules& rules) {
  return !text.empty() && text.size() <= rules.name_bytes_max;
}

}  // namespace

Outcome Workspace::on(Turn&, const Tick&) { return Receipt{}; }

// The machine does these two itself; in a workspace they mean nothing.
Outcome Workspace::on(Turn&, const StartNode&) { return Receipt{}; }
Outcome Workspace::on(Turn&, const AddWorkspace&) { return Receipt{}; }

std::expected<void, Error> Workspace::may_administer(const Asking& turn, Right right) const {
  if (turn.actor == none || t_.agents[turn.actor].kind == PrincipalKind::admin ||
      t_.agents[turn.actor].has(Right::admin) || t_.agents[turn.actor].has(right)) {
    return {};
  }
  return refuse(Code::forbidden, "only an admin may do this");
}

std::expected<Rules, Error> changed_rules(const Rules& rules, const SetRules& command) {
  Rules changed = rules;
  for (const auto& [name, value] : command.values) {
    if (auto set = set_rule(changed, name, value); !set) {
      return std::unexpected(set.error());
    }
  }
  return changed;
}

Outcome Workspace::on(Turn& turn, const SetRules& command) {
  if (auto allowed = may_administer(turn, Right::admin); !allowed) {
    return std::unexpected(allowed.error());
  }
  const auto changed = changed_rules(t_.rules, command);
  if (!changed) {
    return std::unexpected(changed.error());
  }
  const Rules before = std::exchange(t_.rules, *changed);
  if (!same_rates(before, t_.rules)) {
    turn.dispatch.restart_rate_limits();
  }
  if (before.collab_heartbeat != t_.rules.collab_heartbeat ||
      before.collab_heartbeats_missed != t_.rules.collab_heartbeats_missed) {
    presence::begin_anew(t_);
  }
  broker_topics::policy(t_, turn.dispatch, before, turn.entry.actor);
  if (before != t_.rules) {
    broker_topics::audit(t_, turn.dispatch, "rules_changed", turn.entry.actor, "");
  }
  return Receipt{};
}

std::expected<void, Error> Workspace::check_webhook(const Register& c, AgentRef found) const {
  if (c.webhook.size() > t_.rules.webhook_bytes_max) {
    return refuse(Code::limit_reached,
                  "the URL of a webhook has at most " + std::to_string(t_.rules.webhook_bytes_max) +
                      " bytes (webhook_bytes_max)",
                  "/webhook");
  }
  const bool has_secret = found != none && !t_.agents[found].webhook.url.empty();
  if (!c.webhook.empty() && !has_secret && c.webhook_secret == WebhookSecret{}) {
    return refuse(Code::bad_request, "a webhook needs a secret to be signed with", "/webhook");
  }
  return {};
}

std::expected<void, Error> Workspace::check(const Register& c) const {
  if (!is_name(c.name, t_.rules)) {
    return too_long("a name", t_.rules.name_bytes_max, "/id");
  }
  if (c.name == "*") {
    return refuse(Code::bad_request, "\"*\" means everyone and is no agent's name", "/id");
  }
  if (!base::is_plain_name(c.name)) {
    return refuse(Code::bad_request,
                  "a name has no control or invisible characters and no space at its ends", "/id");
  }
  if (c.name.starts_with("topic:") || c.name == "broadcast") {
    return refuse(Code::bad_request, quoted(c.name) + " is a word for other receivers", "/id");
  }
  if (c.name == broker_sender) {
    return refuse(Code::bad_request, quoted(c.name) + " is the broker's own name; choose another",
                  "/id");
  }
  if (broker_topics::is_own_topic(c.name)) {
    return refuse(Code::bad_request, quoted(c.name) + " is a topic of the broker's; choose another",
                  "/id");
  }
  if (c.kind == PrincipalKind::unknown) {
    return refuse(Code::bad_request, "an agent, a human or an admin can be registered", "/kind");
  }
  if (c.role.size() > t_.rules.name_bytes_max) {
    return too_long("a role", t_.rules.name_bytes_max, "/role");
  }
  if (c.capabilities.size() > t_.rules.capabilities_max) {
    return refuse(Code::limit_reached,
                  "an agent has at most " + std::to_string(t_.rules.capabilities_max) +
                      " capabilities (capabilities_max)",
                  "/capabilities");
  }
  for (const std::string_view capability : c.capabilities) {
    if (!is_name(capability, t_.rules)) {
      return too_long("a capability", t_.rules.name_bytes_max, "/capabilities");
    }
  }
  for (const std::string_view right : c.rights) {
    if (parse_right(right) == 0) {
      return refuse(Code::bad_request, "a right is approver, moderator, maintainer or admin",
                    "/rights");
    }
  }
  if (c.kind == PrincipalKind::agent && !c.rights.empty()) {
    return refuse(Code::bad_request, "rights are for humans", "/rights");
  }
  if (c.profile.size() > t_.rules.profile_bytes_max) {
    return refuse(Code::limit_reached, "what an agent says of itself has at most " +
                                           std::to_string(t_.rules.profile_bytes_max) +
                                           " bytes (profile_bytes_max)");
  }
  const AgentRef found = t_.agents.find(c.name);
  if (auto good = check_webhook(c, found); !good) {
    return good;
  }
  if (const AgentRef owner = t_.agents.find_token(c.token); owner != none && owner != found) {
    return refuse(Code::conflict, "this token belongs to another principal");
  }
  const bool is_new = found == none || !t_.agents[found].is_registered();
  if (!is_new && t_.agents[found].kind != c.kind) {
    return refuse(Code::conflict, quoted(c.name) + " is registered as another kind of principal");
  }
  // What is sent to that name by those who know the topic would be the agent's from then on.
  if (const TopicRef topic = t_.topics.find(c.name);
      is_new && topic != none && !t_.topics[topic].subscribers.empty()) {
    return refuse(Code::conflict,
                  quoted(c.name) + " is a topic that someone subscribes to; choose another id",
                  "/id");
  }
  if (is_new && t_.agents.registered() >= t_.rules.agents_max) {
    return refuse(Code::limit_reached, "the workspace has " + std::to_string(t_.rules.agents_max) +
                                           " principals already (agents_max)");
  }
  return check_topics({found, c.kind, c.dialect}, c.subscriptions, "/subscriptions");
}

Outcome Workspace::on(Turn& turn, const Register& command) {
  if (auto good = check(command); !good) {
    return std::unexpected(good.error());
  }
  const bool is_self = turn.actor != none && t_.agents[turn.actor].name == command.name;
  if (auto good = may_register(t_, turn.actor, may_administer(turn, Right::admin), command);
      !good) {
    return std::unexpected(good.error());
  }
  const AgentRef ref = t_.agents.intern(command.name);
  const bool is_new = !t_.agents[ref].is_registered();
  if (is_new) {
    t_.agents[ref].registered = t_.now;
    t_.agents[ref].dialect = command.dialect;
  }
  t_.agents.set_kind(ref, command.kind);
  if (t_.agents[ref].dialect != command.dialect) {
    change_dialect(turn, ref, command.dialect);
  }
  Agent& agent = t_.agents[ref];
  t_.agents.set_role(ref, command.role);
  agent.capabilities.assign(command.capabilities.begin(), command.capabilities.end());
  agent.profile = command.profile;
  agent.webhook.change(command, t_.now);
  if (command.kind == PrincipalKind::human) {
    uint8_t rights = 0;
    for (const std::string_view right : command.rights) {
      rights = static_cast<uint8_t>(rights | parse_right(right));
    }
    t_.agents.set_rights(ref, rights);
  }
  if (command.token != TokenHash{}) {
    t_.agents.add_token(ref, command.token, command.only_token ? 1 : t_.rules.tokens_per_agent_max);
  }
  if (is_new) {
    broker_topics::availability(t_, turn.dispatch, ref, "registered");
  }
  if (!is_self) {
    broker_topics::audit(t_, turn.dispatch, is_new ? "registered" : "registration_changed",
                         turn.entry.actor, command.name);
  }
  return Receipt{.message = {}, .count = subscribe(turn, ref, command.subscriptions)};
}

// The discipline follows the dialect: what waits is put into line anew.
void Workspace::change_dialect(Turn& turn, AgentRef ref, Dialect dialect) {
  Agent& agent = t_.agents[ref];
  std::vector<DeliveryRef> waiting = turn.dispatch.unsettled_of(ref);
  std::erase_if(waiting, [this](DeliveryRef d) { return is_held(t_.messages.delivery(d).state); });
  agent.inbox.clear(t_.messages, waiting);
  agent.dialect = dialect;
  agent.inbox.put_all(t_.messages, agent.discipline(), waiting);
  turn.dispatch.pump(ref);
}

Outcome Workspace::on(Turn& turn, const Unregister& command) {
  const auto found = agent_to_remove(t_, turn.actor, may_administer(turn, Right::admin), command);
  if (!found) {
    return std::unexpected(found.error());
  }
  const AgentRef ref = *found;
  while (!t_.agents[ref].streams.empty()) {
    turn.dispatch.close_stream(t_.agents[ref].streams.back(), false);
  }
  while (!t_.agents[ref].subscriptions.empty()) {
    unsubscribe(ref, std::string(*t_.agents[ref].subscriptions.begin()));
  }
  turn.dispatch.dead_letter_all(ref);
  turn.dispatch.unblock_all(ref);
  turn.dispatch.leave_sessions(command.name);
  turn.dispatch.leave_locks(command.name);
  turn.requests.settle();
  turn.requests.left(command.name);
  t_.outbox.forget(command.name);
  broker_topics::availability(t_, turn.dispatch, ref, "unregistered");
  broker_topics::audit(t_, turn.dispatch, "unregistered", turn.entry.actor, command.name);
  t_.pressed.erase({t_.agents[ref].backpressure.until, t_.agents[ref].name});
  presence::forget(t_, ref);
  t_.agents.unregister(ref);
  return Receipt{};
}

std::expected<DeliveryRef, Error> Workspace::find_delivery(const Asking& turn,
                                                           const Target& target) const {
  const MessageRef message = turn.actor == none  ? none
                             : target.seq.n != 0 ? t_.messages.find(target.seq)
                                                 : t_.messages.find_received(turn.actor, target.id);
  const DeliveryRef delivery =
      message == none ? none : t_.messages.delivery_to(message, turn.actor);
  if (delivery == none || t_.messages.delivery(delivery).gate == Gate::removed) {
    return refuse(Code::not_found, "no such message was sent to you");
  }
  return delivery;
}

// For what only the holder of a lease can do.
std::expected<DeliveryRef, Error> Workspace::find_held(const Asking& turn,
                                                       const Target& target) const {
  const auto found = find_delivery(turn, target);
  if (!found) {
    return found;
  }
  const Delivery& delivery = t_.messages.delivery(*found);
  if (is_final(delivery.state)) {
    return refuse(Code::already_settled, "the message is " +
                                             std::string(state_name(delivery.state)) + " since " +
                                             base::format_time(delivery.changed));
  }
  if (!is_held(delivery.state) && delivery.parked) {
    return refuse(Code::session_paused,
                  "the message waits: its session is paused; read it when that is resumed");
  }
  if (!is_held(delivery.state)) {
    return refuse(Code::not_delivered, delivery.attempts == 0
                                           ? "the message waits in your inbox; read it first"
                                           : "your lease on the message is over; read it again");
  }
  return found;
}

Outcome Workspace::on(Turn& turn, const Read& command) {
  const auto found = find_delivery(turn, command.target);
  if (!found) {
    return std::unexpected(found.error());
  }
  Delivery& delivery = t_.messages.delivery(*found);
  const Receipt receipt{.message = t_.messages.message_of(*found).seq, .count = 1};
  if (is_final(delivery.state)) {
    return receipt;
  }
  if (is_held(delivery.state)) {
    delivery.state = State::read;
    delivery.changed = t_.now;
    note_read(turn, *found, command);
    turn.dispatch.pump(turn.actor);  // what it settled may have had a place in a stream
    return receipt;
  }
  if (delivery.parked && t_.messages.message_of(*found).expires > t_.now) {
    return refuse(Code::session_paused,
                  "the message waits: its session is paused, and nothing in it is handed out "
                  "until it is resumed");
  }
  if (!turn.dispatch.dead_letter_unfit(*found)) {
    turn.dispatch.hand_out(*found, none, State::read);
    note_read(turn, *found, command);
  }
  turn.dispatch.pump(turn.actor);  // a delayed one held its channel up
  return receipt;
}

// What comes of a message that its receiver has read and holds now.
void Workspace::note_read(Turn& turn, DeliveryRef ref, const Read& command) {
  const Message& message = t_.messages.message_of(ref);
  if (command.as == Dialect::inbox && !asks(message.kind)) {
    turn.dispatch.settle(ref, State::acked);
    return;
  }
  const Agent& reader = t_.agents[turn.actor];
  turn.dispatch.hold(ref, default_lease(t_.rules, command.as.value_or(reader.dialect)));
  Task* const task = message.is_task ? t_.tasks.find(message.seq) : nullptr;
  if (task != nullptr && task->specialist == reader.name) {
    task->heard = t_.now;
    if (task->state == TaskState::assigned) {
      turn.dispatch.set_task(*task, TaskState::in_progress, turn.actor);
    }
  }
}

Outcome Workspace::on(Turn& turn, const Take& command) {
  if (turn.actor == none) {
    return refuse(Code::forbidden, "only a registered principal has an inbox");
  }
  if (command.count_max == 0 || command.count_max > t_.rules.window_max) {
    return refuse(Code::bad_request,
                  "take 1 to " + std::to_string(t_.rules.window_max) + " messages (window_max)");
  }
  Receipt receipt;
  for (DeliveryRef next = turn.dispatch.next_waiting(turn.actor);
       next != none && receipt.count < command.count_max;
       next = turn.dispatch.next_waiting(turn.actor)) {
    turn.dispatch.hand_out(next, none, State::offered);
    ++receipt.count;
  }
  return receipt;
}

// All that the stream handed out up to a mark: its list is in the order of its marks.
Outcome Workspace::acknowledge_upto(Turn& turn, const Ack& command) {
  const StreamRef ref = t_.streams.find(command.stream);
  const Stream* const stream = ref == none ? nullptr : &t_.streams[ref];
  if (stream == nullptr || stream->agent != turn.actor || stream->number != command.upto.stream ||
      stream->handed_out < command.upto.number) {
    return refuse(Code::not_delivered, "this stream has not handed out what the mark names");
  }
  Receipt receipt;
  while (stream->first != none && t_.messages.delivery(stream->first).mark <= command.upto) {
    receipt.message = t_.messages.message_of(stream->first).seq;
    turn.dispatch.settle(stream->first, State::acked);
    ++receipt.count;
  }
  turn.dispatch.pump(turn.actor);
  return receipt;
}

Outcome Workspace::on(Turn& turn, const Ack& command) {
  if (command.stream != stream_none) {
    return acknowledge_upto(turn, command);
  }
  const auto found = find_delivery(turn, command.target);
  if (!found) {
    return std::unexpected(found.error());
  }
  const Seq message = t_.messages.message_of(*found).seq;
  const Delivery& delivery = t_.messages.delivery(*found);
  if (delivery.state == State::acked || delivery.state == State::answered) {
    return Receipt{.message = message};  // told twice, done once
  }
  if (is_final(delivery.state)) {
    return refuse(Code::already_settled, "the message is " +
                                             std::string(state_name(delivery.state)) + " since " +
                                             base::format_time(delivery.changed));
  }
  if (delivery.parked && delivery.attempts == 0) {
    return refuse(Code::session_paused,
                  "the message waits: its session is paused; read it when that is resumed");
  }
  if (delivery.attempts == 0) {
    return refuse(Code::not_delivered, "the message waits in your inbox; read it first");
  }
  // One whose lease is over may wait again: the work is done, so it is not handed out twice.
  turn.dispatch.settle(*found, State::acked);
  turn.dispatch.pump(turn.actor);
  return Receipt{.message = message, .count = 1};
}

Outcome Workspace::on(Turn& turn, const Nack& command) {
  const auto found = find_held(turn, command.target);
  if (!found) {
    return std::unexpected(found.error());
  }
  if (command.delay > t_.rules.nack_delay_max) {
    return refuse(Code::bad_request,
                  "a message can be put off by at most " +
                      base::format_duration(t_.rules.nack_delay_max) + " (nack_delay_max)",
                  "/retry_after");
  }
  turn.requests.put_off(*found, command.delay);
  turn.dispatch.give_back(*found, command.delay, command.failed, command.reason);
  turn.dispatch.pump(turn.actor);
  return Receipt{.message = {}, .count = 1};
}

Outcome Workspace::on(Turn& turn, const Reject& command) {
  const auto found = find_held(turn, command.target);
  if (!found) {
    return std::unexpected(found.error());
  }
  turn.dispatch.dead_letter(*found, Reason::rejected, command.reason);
  turn.dispatch.pump(turn.actor);
  return Receipt{.message = {}, .count = 1};
}

Outcome Workspace::on(Turn& turn, const Extend& command) {
  const auto found = find_held(turn, command.target);
  if (!found) {
    return std::unexpected(found.error());
  }
  if (command.lease > t_.rules.lease_max) {
    return refuse(
        Code::bad_request,
        "a lease is at most " + base::format_duration(t_.rules.lease_max) + " (lease_max)",
        "/lease");
  }
  turn.dispatch.hold(*found, command.lease.us > 0
                                 ? command.lease
                                 : default_lease(t_.rules, t_.agents[turn.actor].dialect));
  return Receipt{.message = {}, .count = 1};
}

Outcome Workspace::on(Turn& turn, const OpenStream& command) {
  if (turn.actor == none) {
    return refuse(Code::forbidden, "only a registered principal has an inbox");
  }
  if (command.stream.origin != turn.entry.id.origin || command.stream == stream_none) {
    return refuse(Code::bad_request, "a stream belongs to the node that opens it");
  }
  if (command.window == 0 || command.window > t_.rules.window_max) {
    return refuse(Code::bad_request,
                  "a window is 1 to " + std::to_string(t_.rules.window_max) + " (window_max)");
  }
  if (t_.streams.find(command.stream) != none) {
    return refuse(Code::conflict, "the stream is open already");
  }
  const std::vector<StreamRef>& open = t_.agents[turn.actor].streams;
  // The one that the mark is of, or one that was opened by a mark of the same: whoever names one of
  // these again never heard of the newer ones.
  const auto former = std::ranges::find_if(open, [&](StreamRef ref) {
    const Stream& stream = t_.streams[ref];
    return !command.after.is_none() &&
           (stream.number == command.after.stream || stream.after.stream == command.after.stream);
  });
  const StreamRef resumed = former == open.end() ? none : *former;
  if (t_.streams.size() - (resumed == none ? 0 : 1) >= t_.rules.streams_max) {
    return refuse(Code::limit_reached, "the workspace has " + std::to_string(t_.rules.streams_max) +
                                           " open streams already (streams_max)");
  }
  Stream stream;
  stream.id = command.stream;
  stream.agent = turn.actor;
  stream.window = command.window;
  stream.after = command.after;
  stream.number = t_.streams.new_number();
  const StreamRef opened = t_.streams.add(stream);
  t_.agents[turn.actor].streams.push_back(opened);
  if (t_.agents[turn.actor].streams.size() == 1) {
    presence::connected(t_, turn.dispatch, turn.actor);
  }
  if (resumed != none) {  // its connection is lost, and only the client knows yet
    turn.dispatch.close_stream(resumed, false);
  }
  if (!command.after.is_none()) {
    turn.dispatch.keep_seen(opened);
  }
  turn.dispatch.pump(turn.actor);
  return Receipt{};
}

Outcome Workspace::on(Turn& turn, const CloseStream& command) {
  const StreamRef stream = t_.streams.find(command.stream);
  if (stream == none || (turn.actor != none && t_.streams[stream].agent != turn.actor)) {
    return refuse(Code::not_found, "there is no such stream of yours");
  }
  turn.dispatch.close_stream(stream, true);
  return Receipt{};
}

Outcome Workspace::on(Turn& turn, const Heartbeat& command) {
  if (turn.actor == none) {
    return refuse(Code::forbidden, "only a registered principal has a heartbeat");
  }
  for (const auto& [text, field] :
       {std::pair{command.status, "/status"}, std::pair{command.task, "/currentTask"}}) {
    if (text.size() > t_.rules.name_bytes_max) {
      return refuse(Code::bad_request,
                    "status and task have at most " + std::to_string(t_.rules.name_bytes_max) +
                        " bytes (name_bytes_max)",
                    field);
    }
  }
  Agent& agent = t_.agents[turn.actor];
  if (command.only_seen) {
    return Receipt{};
  }
  presence::expect(t_, turn.actor);
  if (agent.dialect == Dialect::inbox) {
    turn.dispatch.renew_tasks(turn.actor);
  }
  const bool was_busy = turn.requests.is_busy(agent);
  if (agent.status != command.status && !command.status.empty()) {
    broker_topics::availability(t_, turn.dispatch, turn.actor, command.status);
  }
  agent.status = command.status;
  agent.task = command.task;
  if (try_all(t_, turn.actor)) {
    turn.dispatch.pump(turn.actor);
  }
  if (was_busy) {  // what waits for it goes on, unless it says that it is busy still
    turn.requests.heard_from(turn.actor);
  }
  agent.budget.turn(t_.now);
  agent.budget.tokens = base::saturating_sum(agent.budget.tokens, command.tokens);
  return Receipt{};
}

std::expected<void, Error> Workspace::check(const Asking& turn, const Malformed& command) const {
  if (turn.actor == none) {
    return refuse(Code::forbidden, "only a registered principal sends messages");
  }
  if (command.text.size() > t_.rules.malformed_bytes_max) {
    return refuse(Code::payload_too_large,
                  "at most " + std::to_string(t_.rules.malformed_bytes_max) +
                      " bytes are kept of a malformed message (malformed_bytes_max)");
  }
  if (!Dispatch::keeps_malformed(t_, turn.actor, turn.now())) {
    return refuse(Code::rate_limited, "more malformed messages than are kept per minute");
  }
  return {};
}

Outcome Workspace::on(Turn& turn, const Malformed& command) {
  if (auto good = check(turn, command); !good) {
    return std::unexpected(good.error());
  }
  (void)turn.dispatch.dead_letter_malformed(turn.actor, turn.entry.seq, command.text.size(),
                                            command.error);
  return Receipt{.message = turn.entry.seq};
}

std::expected<void, Error> check_escalation(const Tables& t, const ResolveEscalation& command) {
  const Escalation* const escalation = t.escalations.find(command.id);
  if (escalation == nullptr) {
    return refuse(Code::not_found, "there is no escalation " + std::to_string(command.id));
  }
  if (!escalation->is_open()) {
    return refuse(Code::conflict, "the escalation was resolved by " +
                                      quoted(escalation->resolved_by) + " at " +
                                      base::format_time(escalation->resolved_at));
  }
  if (command.resolution.empty() || command.resolution.size() > t.rules.reason_bytes_max) {
    return refuse(Code::bad_request,
                  "a resolution says what was decided, in 1 to " +
                      std::to_string(t.rules.reason_bytes_max) + " bytes (reason_bytes_max)",
                  "/resolution");
  }
  return {};
}

Outcome Workspace::on(Turn& turn, const ResolveEscalation& command) {
  if (auto allowed = may_administer(turn, Right::maintainer); !allowed) {
    return std::unexpected(allowed.error());
  }
  if (auto good = check_escalation(t_, command); !good) {
    return std::unexpected(good.error());
  }
  const Escalation* const escalation = t_.escalations.find(command.id);
  const std::string_view by = turn.actor == none ? broker_sender : turn.entry.actor;
  t_.escalations.resolve(command.id, command.resolution, by, t_.now);
  turn.dispatch.owe({.kind = OutboxKind::escalation_resolved,
                     .to = escalation->agent,
                     .about = escalation->about,
                     .facts = {{"escalation", static_cast<int64_t>(command.id)},
                               {"cause", std::string(cause_name(escalation->cause))},
                               {"resolution", std::string(command.resolution)},
                               {"resolved_by", std::string(by)}}});
  broker_topics::audit(t_, turn.dispatch, "escalation_resolved", turn.entry.actor,
                       std::to_string(command.id));
  return Receipt{.message = escalation->about};
}

std::expected<void, Error> check_letter(const Tables& t, const ResolveDeadLetter& command) {
  const DeadLetter* const letter = t.dead_letters.find(command.id);
  if (letter == nullptr) {
    return refuse(Code::not_found, "there is no dead letter " + std::to_string(command.id));
  }
  const bool again =
      letter->resolution == Resolution::escalated && command.resolution == Resolution::escalated;
  if (!letter->is_open() || again) {
    return refuse(Code::conflict, "the dead letter was resolved by " + quoted(letter->resolved_by) +
                                      " at " + base::format_time(letter->resolved_at));
  }
  if (command.resolution == Resolution::pending) {
    return refuse(Code::bad_request, "a dead letter is retried, discarded or escalated");
  }
  return {};
}

Outcome Workspace::on(Turn& turn, const ResolveDeadLetter& command) {
  if (auto allowed = may_administer(turn, Right::maintainer); !allowed) {
    return std::unexpected(allowed.error());
  }
  if (auto good = check_letter(t_, command); !good) {
    return std::unexpected(good.error());
  }
  DeadLetter* const letter = t_.dead_letters.find(command.id);
  if (command.resolution == Resolution::retried) {
    return retry(turn, *letter);
  }
  broker_topics::audit(t_, turn.dispatch, "dead_letter_resolved", turn.entry.actor,
                       std::to_string(command.id));
  if (command.resolution == Resolution::escalated) {
    turn.dispatch.escalate(*letter, turn.entry.actor);
  } else {
    turn.dispatch.release(*letter);
    t_.dead_letters.resolve(*letter, command.resolution, turn.entry.actor, t_.now);
  }
  return Receipt{.message = letter->message};
}

Outcome Workspace::retry(Turn& turn, DeadLetter& letter, AgentRef stand_in) {
  if (letter.reason == Reason::malformed) {
    return refuse(Code::conflict, "a malformed message cannot be delivered; send it corrected");
  }
  const AgentRef named = t_.agents.find(letter.receiver);
  const AgentRef receiver = stand_in == none ? named : stand_in;
  if (receiver == none || !t_.agents[receiver].is_registered()) {
    return refuse(Code::receiver_not_found, quoted(letter.receiver) + " is not registered");
  }
  if (t_.load_of(receiver) >= t_.rules.queue_max) {
    return refuse(Code::queue_full, "the inbox of " + quoted(letter.receiver) + " is full (" +
                                        std::to_string(t_.rules.queue_max) + ", queue_max)");
  }
  const MessageRef message = t_.messages.find(letter.message);
  const DeliveryRef delivery = t_.messages.delivery_to(message, named);
  if (stand_in != none) {
    turn.dispatch.redirect(delivery, stand_in);
  }
  turn.dispatch.revive(delivery);
  turn.dispatch.release(letter);  // after it waits again, so that it is not taken for finished
  t_.dead_letters.resolve(letter, Resolution::retried, turn.entry.actor, t_.now);
  broker_topics::audit(t_, turn.dispatch, "dead_letter_retried", turn.entry.actor,
                       std::to_string(letter.id));
  turn.dispatch.pump(receiver);
  return Receipt{.message = letter.message, .count = 1};
}

}  // namespace parley::core
