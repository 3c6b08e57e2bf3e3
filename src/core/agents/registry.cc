// SPDX-License-Identifier: Apache-2.0
// Principals are registered, changed and removed, and say how they are.
#include "core/agents/registry.h"

#include <algorithm>

#include "base/text.h"
#include "base/unicode/look_alike.h"
#include "core/agents/authority.h"
#include "core/delivery/redelivery.h"
#include "core/machine/rooms.h"
#include "core/model/refusal.h"
#include "core/requests/pipeline_acts.h"
#include "core/topics/broker_topics.h"

namespace parley::core {

namespace {

using base::Code;

// All that the agent has not settled ends as dead letters, at once or, where that is too much for
// one entry, with the next ticks. Its inbox is empty from now on.
void dead_letter_all(Dispatch& dispatch, AgentRef agent) {
  const std::vector<DeliveryRef> refs = unsettled_of(dispatch.t, agent);
  for (const DeliveryRef ref : refs) {
    if (refs.size() <= due_max) {
      dispatch.dead_letter_removed(ref);
    } else {
      dispatch.leave_for_removal(ref);
    }
  }
}

std::unexpected<Error> too_long(std::string_view what, uint64_t bytes_max, std::string field) {
  return refuse(
      Code::bad_request,
      std::string(what) + " must be 1 to " + std::to_string(bytes_max) + " bytes (name_bytes_max)",
      std::move(field));
}

bool is_name(std::string_view text, const Rules& rules) {
  return !text.empty() && text.size() <= rules.name_bytes_max;
}

Checked check_webhook(const Tables& t, const Register& c, AgentRef found) {
  if (c.webhook.size() > t.rules.webhook_bytes_max) {
    return refuse(Code::limit_reached,
                  "the URL of a webhook has at most " + std::to_string(t.rules.webhook_bytes_max) +
                      " bytes (webhook_bytes_max)",
                  "/webhook");
  }
  const bool has_secret = found != none && !t.agents[found].webhook.url.empty();
  if (!c.webhook.empty() && !has_secret && c.webhook_secret == WebhookSecret{}) {
    return refuse(Code::bad_request, "a webhook needs a secret to be signed with", "/webhook");
  }
  return {};
}

// The discipline follows the dialect: what waits is put into line anew.
void change_dialect(Context& context, AgentRef ref, Dialect dialect) {
  Tables& t = context.t;
  Agent& agent = t.agents[ref];
  std::vector<DeliveryRef> waiting = unsettled_of(t, ref);
  std::erase_if(waiting, [&t](DeliveryRef d) { return is_held(t.messages.delivery(d).state); });
  agent.inbox.clear(t.messages, waiting);
  agent.dialect = dialect;
  agent.inbox.put_all(t.messages, agent.discipline(), waiting);
  context.dispatch.pump(ref);
}

// Whether a reader could take the name for the broker, an admin, a person or everyone.
bool is_taken_for_another_kind(std::string_view name) {
  const std::string seen_as = base::skeleton(name);
  return seen_as == broker_sender || seen_as == broker_word || seen_as == "admin" ||
         seen_as == "broker" || seen_as == "broadcast" || seen_as == "*" ||
         seen_as.starts_with("human:") || seen_as.starts_with("topic:");
}

// What no principal may be called: it means something else where names are used.
Checked check_name(const Tables& t, std::string_view name) {
  if (!is_name(name, t.rules)) {
    return too_long("a name", t.rules.name_bytes_max, "/id");
  }
  if (name == "*") {
    return refuse(Code::bad_request, "\"*\" means everyone and is no agent's name", "/id");
  }
  if (!base::is_plain_name(name)) {
    return refuse(Code::bad_request,
                  "a name has no control or invisible characters, no space at its ends, and no "
                  "combining mark in front",
                  "/id");
  }
  if (name.starts_with("topic:") || name == "broadcast") {
    return refuse(Code::bad_request, quoted(name) + " is a word for other receivers", "/id");
  }
  if (name == broker_sender) {
    return refuse(Code::bad_request, quoted(name) + " is the broker's own name; choose another",
                  "/id");
  }
  if (broker_topics::is_own_topic(name)) {
    return refuse(Code::bad_request, quoted(name) + " is a topic of the broker's; choose another",
                  "/id");
  }
  return {};
}

// What a new one may not be called besides, because people would take it for another.
Checked check_look(const Tables& t, const Register& c) {
  if (c.kind == PrincipalKind::agent && is_taken_for_another_kind(c.name)) {
    return refuse(Code::bad_request,
                  quoted(c.name) +
                      " looks like a name of the broker's, of an admin, of people or of a topic; "
                      "choose another",
                  "/id");
  }
  if (const AgentRef other = t.agents.find_look_alike(c.name); other != none) {
    return refuse(Code::conflict,
                  quoted(c.name) + " looks like " + quoted(t.agents[other].name) +
                      ", which is registered; choose another",
                  "/id");
  }
  return {};
}

// What is wrong with what is said of the principal, whoever says it.
Checked check_registration(const Tables& t, const Register& c) {
  if (auto good = check_name(t, c.name); !good) {
    return good;
  }
  if (c.kind == PrincipalKind::unknown) {
    return refuse(Code::bad_request, "an agent, a human or an admin can be registered", "/kind");
  }
  if (c.role.size() > t.rules.name_bytes_max) {
    return too_long("a role", t.rules.name_bytes_max, "/role");
  }
  if (c.capabilities.size() > t.rules.capabilities_max) {
    return refuse(Code::limit_reached,
                  "an agent has at most " + std::to_string(t.rules.capabilities_max) +
                      " capabilities (capabilities_max)",
                  "/capabilities");
  }
  for (const std::string_view capability : c.capabilities) {
    if (!is_name(capability, t.rules)) {
      return too_long("a capability", t.rules.name_bytes_max, "/capabilities");
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
  if (c.profile.size() > t.rules.profile_bytes_max) {
    return refuse(Code::limit_reached, "what an agent says of itself has at most " +
                                           std::to_string(t.rules.profile_bytes_max) +
                                           " bytes (profile_bytes_max)");
  }
  if (auto good = check_standing(t, c); !good) {
    return good;
  }
  const AgentRef found = t.agents.find(c.name);
  if (auto good = check_webhook(t, c, found); !good) {
    return good;
  }
  if (const AgentRef owner = t.agents.find_token(c.token); owner != none && owner != found) {
    return refuse(Code::conflict, "this token belongs to another principal");
  }
  const bool is_new = found == none || !t.agents[found].is_registered();
  if (!is_new && t.agents[found].kind != c.kind) {
    return refuse(Code::conflict, quoted(c.name) + " is registered as another kind of principal");
  }
  // What is sent to that name by those who know the topic would be the agent's from then on.
  if (const TopicRef topic = t.topics.find(c.name);
      is_new && topic != none && !t.topics[topic].subscribers.empty()) {
    return refuse(Code::conflict,
                  quoted(c.name) + " is a topic that someone subscribes to; choose another id",
                  "/id");
  }
  if (auto good = is_new ? check_look(t, c) : Checked(); !good) {
    return good;
  }
  if (is_new && t.agents.registered() >= t.rules.agents_max) {
    return refuse(Code::limit_reached, "the workspace has " + std::to_string(t.rules.agents_max) +
                                           " principals already (agents_max)");
  }
  return check_topics(t, {found, c.kind, c.dialect, c.name}, c.subscriptions, "/subscriptions");
}

uint8_t rights_in(const Register& command) {
  uint8_t rights = 0;
  for (const std::string_view right : command.rights) {
    rights = static_cast<uint8_t>(rights | parse_right(right));
  }
  return rights;
}

// Standing is what others go by: kind, rights, role, dialect, spawner, scope, and the capabilities
// that routing uses. Admins give it, and mains to those that they spawn. Whoever is no admin
// changes of itself only what is said of it.
Checked may_register(const ConstContext& context, const Register& command) {
  auto allowed = may_administer(context, Right::admin);
  const bool is_self =
      context.actor != none && context.t.agents[context.actor].name == command.name;
  if (allowed) {
    return allowed;
  }
  if (!is_self) {
    return may_spawn(context, command);
  }
  const Agent& self = context.t.agents[context.actor];
  if (self.dialect != command.dialect) {
    return refuse(Code::forbidden,
                  "you speak " + std::string(policy_of(self.dialect).name.value) +
                      "; only an admin can change the dialect of an agent",
                  "/dialect");
  }
  if (self.role != command.role) {
    return refuse(Code::forbidden, "only an admin can change the role of an agent", "/role");
  }
  if (self.spawner != command.spawner) {
    return refuse(Code::forbidden, "only an admin can change whom an agent answers to", "/spawner");
  }
  if (!std::ranges::equal(self.scope.receivers, command.scope) ||
      self.scope.kinds != command.scope_kinds) {
    return refuse(Code::forbidden, "only an admin or its main can change the scope of an agent",
                  "/scope");
  }
  const bool same_standing = self.kind == command.kind && self.rights == rights_in(command) &&
                             command.token == TokenHash{};
  return same_standing ? Checked() : allowed;
}

// What an admin says that it can do is so; what else it says itself is a claim, which is shown and
// never routed by.
void change_capabilities(Tables& t, AgentRef ref, const std::vector<std::string_view>& names,
                         bool are_given) {
  Agent& agent = t.agents[ref];
  if (are_given) {
    t.agents.set_capabilities(ref, {names.begin(), names.end()});
  } else {
    agent.claims.assign(names.begin(), names.end());
  }
  std::erase_if(agent.claims, [&agent](const std::string& claim) {
    return std::ranges::find(agent.capabilities, claim) != agent.capabilities.end();
  });
}

std::expected<AgentRef, Error> agent_to_remove(const ConstContext& context,
                                               const Unregister& command) {
  const Tables& t = context.t;
  const AgentRef ref = t.agents.find(command.name);
  const bool is_self = ref != none && ref == context.actor;
  const bool is_spawned =
      ref != none && context.actor != none && is_spawned_by(t, ref, context.actor);
  if (auto allowed = may_administer(context, Right::admin); !allowed && !is_self && !is_spawned) {
    return std::unexpected(allowed.error());
  }
  if (ref == none || !t.agents[ref].is_registered()) {
    return refuse(Code::not_found, "no principal is named " + quoted_start(command.name));
  }
  if (t.agents[ref].kind == PrincipalKind::admin) {
    return refuse(Code::conflict, "the admin cannot be removed: no one could register it again");
  }
  return ref;
}

}  // namespace

Checked check(const ConstContext& context, const Register& command) {
  if (auto good = check_registration(context.t, command); !good) {
    return good;
  }
  return may_register(context, command);
}

Outcome on(Context& context, const Register& command) {
  Tables& t = context.t;
  if (auto good = check(context, command); !good) {
    return std::unexpected(good.error());
  }
  const bool is_self = context.actor != none && t.agents[context.actor].name == command.name;
  const AgentRef ref = t.agents.intern(command.name);
  const bool is_new = !t.agents[ref].is_registered();
  if (is_new) {
    t.agents[ref].registered = t.now;
    t.agents[ref].since = context.entry.seq;
    t.exchanges.end_all_of(Exchanges::name_of(command.name));
    t.agents[ref].dialect = command.dialect;
    if (t.messages.gates.throttled_of(ref) > 0) {
      t.messages.gates.part(ref, context.entry.seq);
    }
  }
  t.agents.set_kind(ref, command.kind);
  if (t.agents[ref].dialect != command.dialect) {
    change_dialect(context, ref, command.dialect);
  }
  Agent& agent = t.agents[ref];
  t.agents.set_role(ref, command.role);
  agent.spawner = command.spawner;
  agent.scope = {{command.scope.begin(), command.scope.end()}, command.scope_kinds};
  change_capabilities(t, ref, command.capabilities,
                      may_administer(context, Right::admin).has_value());
  agent.profile = command.profile;
  agent.webhook.change(command, t.now);
  if (command.kind == PrincipalKind::human) {
    const bool could_approve = may_approve(agent);
    t.agents.set_rights(ref, rights_in(command));
    if (could_approve && !may_approve(agent)) {
      lose_right_to_approve(t, command.name);
    }
  }
  if (command.token != TokenHash{}) {
    t.agents.add_token(ref, command.token, command.only_token ? 1 : t.rules.tokens_per_agent_max);
  }
  if (is_new) {
    broker_topics::availability(context.dispatch, ref, "registered");
  }
  if (!is_self) {
    broker_topics::audit(context.dispatch, is_new ? "registered" : "registration_changed",
                         context.entry.actor, command.name);
  }
  return Receipt{.message = {}, .count = subscribe(context, ref, command.subscriptions)};
}

Checked check(const ConstContext& context, const Unregister& command) {
  return checked(agent_to_remove(context, command));
}

Outcome on(Context& context, const Unregister& command) {
  Tables& t = context.t;
  const auto found = agent_to_remove(context, command);
  if (!found) {
    return std::unexpected(found.error());
  }
  const AgentRef ref = *found;
  // First, so that what the streams hold is in the inbox again, and nothing more is handed out.
  while (!t.agents[ref].streams.empty()) {
    close_stream(context.dispatch, t.agents[ref].streams.back(), false);
  }
  // Topics name their subscribers by slot, which `unregister` may free.
  while (!t.agents[ref].subscriptions.empty()) {
    unsubscribe(t, ref, std::string(*t.agents[ref].subscriptions.begin()));
  }
  // After the streams, which gave back a part of it.
  dead_letter_all(context.dispatch, ref);
  // Each of these names it, and tells others that it is gone.
  unblock_all(t, ref);
  RoomDepartures::run(context.dispatch, command.name);
  // First what follows from the deliveries that ended above, so that a pipeline whose stage failed
  // says why. Then what it owns, and the pipelines that would go on with it.
  context.requests.settle();
  context.requests.left(command.name);
  // After all steps that owe it a notice.
  t.outbox.forget(command.name);
  // While its kind and role are known, which the news need.
  broker_topics::availability(context.dispatch, ref, "unregistered");
  broker_topics::audit(context.dispatch, "unregistered", context.entry.actor, command.name);
  // Found by times that `unregister` clears. After the streams, whose end starts a silence.
  forget_relief(t, ref);
  presence::forget(t, ref);
  // Last: its slot may be another's from the next entry on.
  t.agents.unregister(ref);
  return Receipt{};
}

Outcome on(Context& context, const Heartbeat& command) {
  Tables& t = context.t;
  if (context.actor == none) {
    return refuse(Code::forbidden, "only a registered principal has a heartbeat");
  }
  for (const auto& [text, field] :
       {std::pair{command.status, "/status"}, std::pair{command.task, "/currentTask"}}) {
    if (text.size() > t.rules.name_bytes_max) {
      return refuse(Code::bad_request,
                    "status and task have at most " + std::to_string(t.rules.name_bytes_max) +
                        " bytes (name_bytes_max)",
                    field);
    }
  }
  Agent& agent = t.agents[context.actor];
  if (command.only_seen) {
    return Receipt{};
  }
  presence::expect(t, context.actor);
  if (policy_of(agent.dialect).heartbeat_renews) {
    renew_tasks(t, context.actor);
  }
  const bool was_busy = is_busy(t, agent);
  if (agent.status != command.status && !command.status.empty()) {
    presence::tell(context.dispatch, context.actor, command.status);
  }
  agent.status = command.status;
  agent.task = command.task;
  if (retry_all(t, context.actor)) {
    context.dispatch.pump(context.actor);
  }
  if (was_busy) {  // what waits for it goes on, unless it says that it is busy still
    resume_pipelines(context.dispatch, context.actor);
  }
  agent.budget.turn(t.now);
  agent.budget.tokens = base::saturating_sum(agent.budget.tokens, command.tokens);
  return Receipt{};
}

}  // namespace parley::core
