// SPDX-License-Identifier: Apache-2.0
// Agents: who is there, what they say of themselves, and what they are allowed.
#include <algorithm>
#include <array>

#include "base/text.h"
#include "core/agents/authority.h"
#include "core/model/entry.h"
#include "edge/answers/health.h"
#include "edge/api/commands.h"
#include "edge/api/context.h"
#include "edge/api/members.h"
#include "edge/gate.h"
#include "edge/render.h"
#include "edge/routes/routes.h"
#include "edge/scope.h"
#include "edge/webhooks/setting.h"
#include "edge/webhooks/webhooks.h"
#include "lib/crypto.h"
#include "lib/json_writer.h"

namespace parley::edge {

namespace {

using base::Code;
using lib::Json;
using lib::JsonWriter;

constexpr uint64_t agents_max = 1'000;

std::unexpected<Error> wrong(std::string detail, std::string field) {
  return std::unexpected(Error{Code::bad_request, std::move(detail), std::move(field)});
}

std::expected<core::Dialect, Error> parse_dialect(std::string_view name) {
  const auto found = core::find_dialect(name);
  return found ? std::expected<core::Dialect, Error>(*found)
               : wrong("dialect is " + core::dialect_names(), "/dialect");
}

std::expected<void, Error> check_role(core::Dialect dialect, std::string_view role) {
  const core::Policy& policy = core::policy_of(dialect);
  if (std::ranges::find(policy.roles.value, role, &core::Role::name) != policy.roles.value.end()) {
    return {};
  }
  std::string wanted;
  for (const core::Role& each : policy.roles.value) {
    wanted.append(wanted.empty() ? "" : ", ").append(each.name.empty() ? "none" : each.name);
  }
  return wrong(
      "an agent that speaks " + std::string(policy.name.value) + " has one of the roles " + wanted,
      "/role");
}

void check_profile(std::string_view key, Members& body) {
  if (key == "supportedActions") {
    (void)body.texts(key);
  } else {
    (void)body.text(key);
  }
}

// What an agent says of itself beyond what the machine acts on: the members of `body` that are
// there, else those of `before`. A null takes one away.
std::string profile_of(Members& body, std::string_view before) {
  constexpr std::array<std::string_view, 2> keys = {"name", "supportedActions"};
  std::string text;
  JsonWriter out(text);
  out.object();
  bool any = false;
  for (const std::string_view key : keys) {
    const Json given = body.find(key);
    std::string_view value = given.is_null() ? std::string_view{} : given.raw();
    check_profile(key, body);
    if (!given) {
      lib::JsonSlice member;
      for (lib::JsonSlices members(before); members.next(member);) {
        value = member.key == "\"" + std::string(key) + "\"" ? member.value : value;
      }
    }
    if (!value.empty()) {
      out.key(key).raw(value);
      any = true;
    }
  }
  out.end_object();
  return any ? text : std::string();
}

// In a dialect whose names say roles, one that is left out is that of the name.
std::string_view role_in(Members& body, const core::Agent* before, std::string_view name,
                         core::Dialect dialect) {
  const auto said = core::parse_role_name(name);
  const bool is_bound = core::policy_of(dialect).has_authority;
  if (is_bound && !said) {
    body.blame("id",
               "an agent that speaks squad is named agent:{owner}:{role} or "
               "agent:{owner}:{role}:{instance}");
  }
  // Not `? "" : before->role`: that is a temporary string, which the view would outlive.
  const std::string_view known = is_bound && said    ? said->role
                                 : before == nullptr ? std::string_view{}
                                                     : std::string_view(before->role);
  return body.text("role", known);
}

// What is asked for of an agent. What the body leaves out stays as it was `before`; null: it is
// new. An agent that changes itself makes claims of capabilities; it keeps those it has made.
core::Register registration(Members& body, const core::Agent* before, std::string_view name,
                            const Call& call) {
  const bool is_own_claim = !call.caller.is_admin();
  const core::Agent& asker = call.tables().agents[call.caller.ref];
  const bool is_spawned = is_own_claim && before == nullptr && core::is_main(asker);
  core::Register command;
  const core::Dialect spoken = before != nullptr ? before->dialect
                               : is_spawned      ? asker.dialect
                                                 : dialect::default_dialect;
  const auto dialect = parse_dialect(body.text("dialect", dialect::name_of(spoken)));
  if (!dialect) {
    body.blame(dialect.error());
  }
  command.dialect = dialect.value_or(dialect::default_dialect);
  command.role = role_in(body, before, name, command.dialect);
  command.spawner = body.said("spawner", before != nullptr ? std::string_view(before->spawner)
                                         : is_spawned      ? std::string_view(asker.name)
                                                           : std::string_view{});
  const WantedScope scope = scope_in(body, before, command.dialect);
  command.scope = scope.receivers;
  command.scope_kinds = scope.kinds;
  command.capabilities = body.texts("capabilities");
  if (before != nullptr && !body.find("capabilities")) {
    const auto& kept = is_own_claim ? before->claims : before->capabilities;
    command.capabilities.assign(kept.begin(), kept.end());
  }
  command.subscriptions = body.texts("subscriptions");
  const WantedWebhook webhook = webhook_in(body, before, call.context->webhooks->reach());
  command.webhook = webhook.url;
  command.webhook_secret = webhook.secret;
  if (const auto good = check_role(command.dialect, command.role); !good) {
    body.blame(good.error());
  }
  return command;
}

void add_agent(Call& call) {
  Members body(call.body);
  const std::string name(body.needed_text("id", "an agent has an id, a string"));
  if (std::ranges::equal(std::string_view("human:"), std::string_view(name).substr(0, 6), {}, {},
                         base::to_lower)) {
    body.blame("id", "names with human: are for people; use POST /v1/humans");
  }
  const core::AgentRef found = call.tables().agents.find(name);
  // One whose removal is on its way is gone before this is heard.
  const bool is_new = found == core::none || !call.tables().agents[found].is_registered() ||
                      call.context->removing.contains({call.caller.workspace, name});
  const core::Agent* before = is_new ? nullptr : &call.tables().agents[found];
  core::Register command = registration(body, before, name, call);
  const std::string profile =
      profile_of(body, before == nullptr ? std::string_view{} : std::string_view(before->profile));
  const bool rotate = body.flag("rotate_token", false);
  if (body.error()) {
    call.refuse(*body.error());
    return;
  }
  command.name = name;
  command.profile = profile;
  const std::string token = is_new || rotate ? lib::random_token() : std::string();
  if (!token.empty()) {
    command.token = lib::sha256(token);
    command.only_token = rotate;
  }
  std::string text = credentials_text(name, token, command.webhook_secret);
  call.ask(std::move(command), call.reply(std::move(text), token.empty() ? 200 : 201));
}

void heartbeat(Call& call) {
  const core::Agent& before = call.tables().agents[call.caller.ref];
  const auto command = heartbeat_command(before, call.body);
  if (call.arguments[0] != call.caller.name) {
    call.refuse(Error{Code::forbidden, "only the agent itself may do this", {}});
  } else if (!command) {
    call.refuse(command.error());
  } else {
    call.ask(*command, call.reply());
  }
}

bool holds(std::string_view text, std::string_view part) {
  return part.empty() ||
         !std::ranges::search(text, part, {}, base::to_lower, base::to_lower).empty();
}

// `agent`, or `agent,human`.
std::expected<std::vector<core::PrincipalKind>, Error> parse_kinds(std::string_view text) {
  std::vector<core::PrincipalKind> kinds;
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), word.size() + 1));
    if (word != "agent" && word != "human" && word != "admin") {
      return wrong("kind is agent, human or admin, or several of them with commas", {});
    }
    kinds.push_back(word == "agent"   ? core::PrincipalKind::agent
                    : word == "human" ? core::PrincipalKind::human
                                      : core::PrincipalKind::admin);
  }
  return kinds;
}

AgentParts shown_of(const core::Tables& t, const Principal& caller, core::AgentRef agent) {
  const bool is_own = agent == caller.ref;
  return {.webhook = is_own || caller.is_admin(),
          .subscriptions = is_own || sees_subscribers(t, caller)};
}

void render_webhook(const Call& call, const AgentParts& shown, const core::Agent& agent,
                    JsonWriter& out) {
  if (shown.webhook && !agent.webhook.url.empty()) {
    out.key("webhook");
    call.context->webhooks->render(call.caller.workspace, agent, call.caller.is_admin(), out);
  }
}

// Chosen and cut before anything is written, so that a large workspace costs its reader no more
// than what it is shown.
void list_agents(Call& call) {
  const core::Tables& t = call.tables();
  const auto kinds = parse_kinds(call.text("kind"));
  const std::string part = call.text("name");
  const std::string after = call.text("after");
  const auto capability = call.parameter("capability");
  const auto role = call.parameter("role");
  const auto status = call.parameter("status");
  const auto name = call.parameter("dialect");
  const auto dialect = name ? parse_dialect(*name) : dialect::default_dialect;
  const auto good =
      name && dialect ? check_status(*dialect, status.value_or("")) : std::expected<void, Error>{};
  if (!dialect || !good || !kinds) {
    call.refuse(!dialect ? dialect.error() : !good ? good.error() : kinds.error());
    return;
  }
  std::vector<core::AgentRef> found;
  t.agents.each([&](const core::Agent& agent) {
    const bool wanted = agent.is_registered() && agent.name > after &&
                        (kinds->empty() || std::ranges::find(*kinds, agent.kind) != kinds->end()) &&
                        (!capability || std::ranges::find(agent.capabilities, *capability) !=
                                            agent.capabilities.end()) &&
                        (!role || agent.role == *role) &&
                        (!status || agent_status(agent) == *status) &&
                        (!name || agent.dialect == *dialect) && holds(agent.name, part);
    if (wanted) {
      found.push_back(t.agents.find(agent.name));
    }
  });
  const size_t shown = std::min<size_t>(found.size(), call.number("limit", agents_max));
  std::ranges::partial_sort(
      found, found.begin() + static_cast<std::ptrdiff_t>(shown), {},
      [&](core::AgentRef ref) -> const std::string& { return t.agents[ref].name; });
  std::string text;
  JsonWriter out(text);
  out.object().key("count").number(uint64_t{found.size()});
  out.key("more").boolean(found.size() > shown).key("agents").array();
  for (size_t n = 0; n < shown; ++n) {
    const AgentParts shown_parts = shown_of(t, call.caller, found[n]);
    render_agent(t, found[n], call.now(), shown_parts, out,
                 [&](const core::Agent& agent) { render_webhook(call, shown_parts, agent, out); });
  }
  out.end_array().end_object();
  call.respond(json_response(200, std::move(text)));
}

// What it uses of the server's limits; `parley config show` has those.
void render_held(const net::Account& held, JsonWriter& out) {
  out.key("holds").object().key("connections").number(uint64_t{held.connections});
  out.key("waits").number(uint64_t{held.waits});
  out.key("unfinished_bytes").number(uint64_t{held.unfinished_bytes});
  out.key("unread_bytes").number(uint64_t{held.unread_bytes}).end_object();
}

// What the agent last said of its health; empty where it said nothing, or that cannot be read.
std::string report_of(const Call& call, base::Seq seq) {
  if (seq.n == 0) {
    return {};
  }
  const auto bytes = call.broker().records().read(seq);
  if (!bytes) {
    return {};
  }
  const auto entry = core::decode_entry(seq, base::Time{}, *bytes);
  const auto* const sent = entry ? std::get_if<core::Send>(&entry->command) : nullptr;
  return sent == nullptr ? std::string() : std::string(sent->envelope.body);
}

void show_agent(Call& call) {
  const core::Tables& t = call.tables();
  const core::AgentRef ref = t.agents.find(call.arguments[0]);
  if (ref == core::none || !t.agents[ref].is_registered()) {
    call.refuse(Error{Code::not_found, "no principal has this name", {}});
    return;
  }
  std::string text;
  JsonWriter out(text);
  const AgentParts parts = shown_of(t, call.caller, ref);
  render_agent(t, ref, call.now(), parts, out, [&](const core::Agent& agent) {
    render_webhook(call, parts, agent, out);
    render_health(agent.work, call.now(), report_of(call, agent.work.report), out);
    if (ref == call.caller.ref || call.caller.is_maintainer()) {
      render_held(call.context->server->held_by(caller_id(call.caller.workspace, ref)), out);
    }
  });
  call.respond(json_response(200, std::move(text)));
}

void remove_agent(Call& call) {
  const std::pair key{call.caller.workspace, call.arguments[0]};
  call.context->removing.insert(key);
  call.ask(core::Unregister{.name = key.second},
           [&context = *call.context, key, done = call.reply()](
               const core::Outcome& outcome, std::span<const core::Effect> effects) mutable {
             context.removing.erase(context.removing.find(key));
             done(outcome, effects);
           });
}

void reset_agent(Call& call) {
  call.ask(core::ResetLimits{.name = call.arguments[0]}, call.reply());
}

}  // namespace

std::span<const Route> agent_routes() {
  static const std::vector<Route> routes = {
      {.method = "POST",
       .pattern = "/v1/agents",
       .handler = add_agent,
       .body = body_with_secrets_of({"id", "dialect", "role", "capabilities", "subscriptions",
                                     "name", "supportedActions", "spawner", "scope", "webhook",
                                     "rotate_token"}),
       .who = Who::machine},
      {.method = "GET",
       .pattern = "/v1/agents",
       .handler = list_agents,
       .parameters = {query::text("capability"), query::text("role"), query::text("dialect"),
                      query::text("name"), query::text("kind"), query::text("after"),
                      query::number("limit", agents_max), query::text("status")},
       .who = Who::principal},
      {.method = "GET", .pattern = "/v1/agents/{}", .handler = show_agent, .who = Who::principal},
      {.method = "DELETE",
       .pattern = "/v1/agents/{}",
       .handler = remove_agent,
       .who = Who::machine},
      {.method = "POST",
       .pattern = "/v1/agents/{}/heartbeat",
       .handler = heartbeat,
       .body = {.kind = Body::Kind::members, .members = heartbeat_members()},
       .who = Who::machine},
      {.method = "POST",
       .pattern = "/v1/agents/{}/reset",
       .handler = reset_agent,
       .who = Who::machine},
  };
  return routes;
}

}  // namespace parley::edge
