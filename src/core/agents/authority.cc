// SPDX-License-Identifier: Apache-2.0
#include "core/agents/authority.h"

#include <algorithm>
#include <vector>

#include "core/agents/hub.h"
#include "core/dead_letters/dead_letter_acts.h"
#include "core/delivery/routing.h"
#include "core/model/refusal.h"

namespace parley::core {

namespace {

using base::Code;

constexpr std::string_view prefix = "agent:";
constexpr std::string_view wildcard_end = ":*";
constexpr std::string_view announcement = "broadcast";
constexpr std::string_view main_role = "main";
constexpr std::string_view subagent_role = "subagent";
constexpr std::string_view council_role = "council";
constexpr std::string_view reviewer_role = "reviewer";
constexpr std::string_view cron_role = "cron";

bool has_authority(const Agent& agent) {
  return agent.kind == PrincipalKind::agent && policy_of(agent.dialect).has_authority;
}

bool is_main_of(const Agent& agent, std::string_view owner) {
  const auto name = parse_role_name(agent.name);
  return is_main(agent) && name && name->owner == owner;
}

std::string in_words(std::string_view role) { return "a " + std::string(role); }

// Whom a subagent answers to: who spawned it, where that one is there, else any main of its owner.
bool answers_to(const Tables& t, AgentRef agent, AgentRef other) {
  const Agent& subagent = t.agents[agent];
  const AgentRef spawner = t.agents.find(subagent.spawner);
  if (spawner != none && is_spawned_by(t, agent, spawner)) {
    return other == spawner;
  }
  const auto name = parse_role_name(subagent.name);
  return name && is_main_of(t.agents[other], name->owner);
}

// Whether the receiver sent what the message answers or acknowledges, or gets the answers to it.
bool asked_for(const ConstContext& context, const Envelope& e, AgentRef receiver) {
  const Tables& t = context.t;
  if (e.kind != Kind::response && e.kind != Kind::acknowledgement) {
    return false;
  }
  if (t.messages.find_received(context.actor, e.in_reply_to, receiver) != none) {
    return true;
  }
  const MessageRef question = t.messages.find_received(context.actor, e.in_reply_to);
  return question != none && t.messages.message(question).answers_to() == receiver;
}

bool is_in_scope(const Scope& scope, std::string_view name) {
  return std::ranges::any_of(scope.receivers, [name](const std::string& allowed) {
    return allowed == name || matches_wildcard(allowed, name) ||
           (name == "*" && allowed == announcement);
  });
}

// A response or a report of a subagent: to who asked, and to whom it answers.
Checked check_subagent(const ConstContext& context, const Envelope& e, const Route& route) {
  const bool tells = e.kind == Kind::response || e.kind == Kind::notification ||
                     e.kind == Kind::broadcast || e.kind == Kind::acknowledgement;
  if (!tells || !route.topic.empty()) {
    return {};
  }
  if (route.everyone) {
    return refuse(Code::role_forbidden,
                  "a subagent announces nothing: it reports to its spawner, and asks or challenges "
                  "others",
                  "/receiver");
  }
  for (const AgentRef ref : route.agents) {
    if (!asked_for(context, e, ref) && !answers_to(context.t, context.actor, ref)) {
      return refuse(Code::role_forbidden,
                    "a subagent responds to who asked and reports to its spawner, and " +
                        quoted(context.t.agents[ref].name) + " is neither; ask or challenge it",
                    "/receiver");
    }
  }
  return {};
}

std::unexpected<Error> refuse_scope(std::string_view receiver) {
  return refuse(Code::role_forbidden,
                "a cron does what was approved beforehand, and " + quoted_start(receiver) +
                    " is not in its scope; an admin or its main can add it",
                "/receiver");
}

Checked check_cron(const ConstContext& context, const Envelope& e, const Route& route) {
  const Tables& t = context.t;
  const Scope& scope = t.agents[context.actor].scope;
  const bool answers =
      std::ranges::all_of(route.agents, [&](AgentRef ref) { return asked_for(context, e, ref); });
  if (answers && !route.agents.empty() && !route.everyone) {
    return {};
  }
  if ((scope.kinds >> static_cast<uint8_t>(e.kind) & 1) == 0) {
    return refuse(Code::role_forbidden,
                  "a cron does what was approved beforehand, and a message of this type is not in "
                  "its scope; an admin or its main can add it",
                  "/type");
  }
  if (route.everyone || !route.topic.empty()) {
    const std::string_view name = route.everyone ? "*" : route.topic;
    return is_in_scope(scope, name) ? Checked() : refuse_scope(name);
  }
  for (const AgentRef ref : route.agents) {
    if (!is_in_scope(scope, t.agents[ref].name)) {
      return refuse_scope(t.agents[ref].name);
    }
  }
  for (const std::string_view name : route.unknown) {
    if (!is_in_scope(scope, name)) {
      return refuse_scope(name);
    }
  }
  return {};
}

// What its own role allows, whomever it writes to. To ask for people is allowed to all.
Checked check_role(const ConstContext& context, const Envelope& e, const Route& route) {
  const Agent& sender = context.t.agents[context.actor];
  if (!has_authority(sender) || e.kind == Kind::escalation) {
    return {};
  }
  const bool hands_off = e.kind == Kind::request;
  if (hands_off && (sender.role == subagent_role || sender.role == council_role)) {
    return refuse(Code::role_forbidden,
                  in_words(sender.role) + " hands no work off" +
                      (sender.role == council_role ? ": it advises" : "; ask its main to") +
                      ". It may send a query or a challenge",
                  "/type");
  }
  if (sender.role == subagent_role) {
    return check_subagent(context, e, route);
  }
  return sender.role == cron_role ? check_cron(context, e, route) : Checked();
}

// An agent of another dialect counts as a main towards those that it addresses by name.
Checked check_foreign(const ConstContext& context, const Envelope& e, AgentRef ref) {
  const Tables& t = context.t;
  const Agent& sender = t.agents[context.actor];
  const Agent& receiver = t.agents[ref];
  if (!has_authority(receiver) || sender.dialect == receiver.dialect || context.answers) {
    return {};
  }
  const std::string_view dialect = policy_of(receiver.dialect).name.value;
  if (static_cast<ForeignPolicy>(t.rules.foreign) == ForeignPolicy::refuse) {
    return refuse(Code::role_forbidden,
                  quoted(receiver.name) + " speaks " + std::string(dialect) +
                      ", and agents of other dialects may only answer it (foreign = refuse)",
                  "/receiver");
  }
  if (e.kind == Kind::request && !directs(sender.dialect, sender.role)) {
    return refuse(Code::role_forbidden,
                  in_words(sender.role) + " hands no work off; let one who directs others do it",
                  "/receiver");
  }
  return {};
}

uint64_t spawned_by(const Tables& t, AgentRef main) {
  uint64_t count = 0;
  t.agents.each([&](const Agent& agent) {
    count += agent.is_registered() && agent.spawner == t.agents[main].name ? 1 : 0;
  });
  return count;
}

// A main says what a cron of its owner may do. Nothing else of it changes.
bool only_changes_scope(const Agent& agent, const Register& c) {
  return agent.kind == c.kind && agent.dialect == c.dialect && agent.role == c.role &&
         agent.spawner == c.spawner && agent.profile == c.profile &&
         agent.webhook.url == c.webhook && c.webhook_secret == WebhookSecret{} &&
         c.token == TokenHash{} && c.subscriptions.empty();
}

// Those whom the actor may address, by name.
std::vector<AgentRef> named_by(const ConstContext& context, std::string_view wildcard) {
  const Tables& t = context.t;
  const bool is_cron = context.actor != none && has_authority(t.agents[context.actor]) &&
                       t.agents[context.actor].role == cron_role;
  std::vector<AgentRef> found;
  t.agents.each([&](const Agent& agent) {
    if (agent.kind != PrincipalKind::agent || !matches_wildcard(wildcard, agent.name)) {
      return;
    }
    const AgentRef ref = t.agents.find(agent.name);
    const bool may_address = ref != context.actor && may_write_to(t, context.actor, ref) &&
                             (!is_cron || is_in_scope(t.agents[context.actor].scope, agent.name));
    if (may_address) {
      found.push_back(ref);
    }
  });
  std::ranges::sort(found, {},
                    [&t](AgentRef ref) -> const std::string& { return t.agents[ref].name; });
  return found;
}

}  // namespace

std::optional<RoleName> parse_role_name(std::string_view name) {
  if (!name.starts_with(prefix) || name.find('*') != std::string_view::npos) {
    return std::nullopt;
  }
  name.remove_prefix(prefix.size());
  const size_t first = name.find(':');
  if (first == std::string_view::npos) {
    return std::nullopt;
  }
  RoleName parsed{.owner = name.substr(0, first), .role = name.substr(first + 1), .instance = {}};
  if (const size_t second = parsed.role.find(':'); second != std::string_view::npos) {
    parsed.instance = parsed.role.substr(second + 1);
    parsed.role = parsed.role.substr(0, second);
    if (parsed.instance.empty() || parsed.instance.find(':') != std::string_view::npos) {
      return std::nullopt;
    }
  }
  return parsed.owner.empty() || parsed.role.empty() ? std::nullopt : std::optional(parsed);
}

bool is_wildcard(std::string_view name) {
  return name.starts_with(prefix) && name.ends_with(wildcard_end) &&
         name.size() > prefix.size() + wildcard_end.size() && name.find('*') == name.size() - 1;
}

bool matches_wildcard(std::string_view wildcard, std::string_view name) {
  return is_wildcard(wildcard) && name.size() >= wildcard.size() &&
         name.starts_with(wildcard.substr(0, wildcard.size() - 1));
}

bool is_main(const Agent& agent) { return has_authority(agent) && agent.role == main_role; }

bool is_spawned_by(const Tables& t, AgentRef agent, AgentRef main) {
  const Agent& spawned = t.agents[agent];
  const Agent& spawner = t.agents[main];
  const auto name = parse_role_name(spawned.name);
  // A former one of that name spawned what is older than it.
  return spawned.is_registered() && spawned.spawner == spawner.name && name &&
         is_main_of(spawner, name->owner) && spawner.since < spawned.since;
}

Checked route_wildcard(const ConstContext& context, const Envelope& e, std::string_view wildcard,
                       Route& route) {
  const Tables& t = context.t;
  if (e.receivers.size() > 1) {
    return refuse(Code::bad_request, "a wildcard is a message's only receiver", "/receiver");
  }
  route.agents = named_by(context, wildcard);
  if (route.agents.empty()) {
    route.unknown.push_back(wildcard);
    return check_letter_share(context, 1);
  }
  if (route.agents.size() <= t.rules.receivers_max) {
    return {};
  }
  return refuse(Code::limit_reached,
                quoted_start(wildcard) + " stands for " + std::to_string(route.agents.size()) +
                    " agents, and a message has at most " + std::to_string(t.rules.receivers_max) +
                    " receivers (receivers_max); name some of them, or announce it",
                "/receiver");
}

Checked check_standing(const Tables& t, const Register& c) {
  if (c.name.starts_with(prefix) && c.name.find('*') != std::string_view::npos) {
    return refuse(Code::bad_request, quoted(c.name) + " stands for several; an agent's name is one",
                  "/id");
  }
  const bool is_bound = c.kind == PrincipalKind::agent && policy_of(c.dialect).has_authority;
  const auto name = parse_role_name(c.name);
  if (is_bound && name && name->role != c.role) {
    return refuse(Code::bad_request,
                  "the role is the one that the name says: " + quoted(name->role) + " in " +
                      quoted(c.name) + ", not " + quoted(c.role),
                  "/role");
  }
  const auto is_name = [&t](std::string_view text) {
    return !text.empty() && text.size() <= t.rules.name_bytes_max;
  };
  if (!c.spawner.empty() && !is_name(c.spawner)) {
    return refuse(Code::bad_request, "a spawner is the name of a main", "/spawner");
  }
  const auto spawner = parse_role_name(c.spawner);
  const bool is_right = is_bound && name && spawner && spawner->role == main_role &&
                        spawner->owner == name->owner && c.role != main_role;
  if (!c.spawner.empty() && !is_right) {
    return refuse(Code::bad_request,
                  "a spawner is a main of the same owner, and mains have none: agent:{owner}:main",
                  "/spawner");
  }
  if (c.scope.size() > t.rules.receivers_max || !std::ranges::all_of(c.scope, is_name)) {
    return refuse(Code::bad_request,
                  "a scope names at most " + std::to_string(t.rules.receivers_max) +
                      " receivers (receivers_max), each of 1 to " +
                      std::to_string(t.rules.name_bytes_max) + " bytes (name_bytes_max)",
                  "/scope");
  }
  return {};
}

Checked may_spawn(const ConstContext& context, const Register& c) {
  const Tables& t = context.t;
  const auto refused = [](std::string detail, std::string field = {}) {
    return refuse(Code::forbidden, std::move(detail), std::move(field));
  };
  const auto name = parse_role_name(c.name);
  if (context.actor == none || !name || !is_main_of(t.agents[context.actor], name->owner)) {
    return refused("only an admin may do this");
  }
  const Agent& main = t.agents[context.actor];
  const AgentRef ref = t.agents.find(c.name);
  const bool is_new = ref == none || !t.agents[ref].is_registered();
  if (!is_new && c.role == cron_role && t.agents[ref].role == cron_role &&
      only_changes_scope(t.agents[ref], c)) {
    return {};
  }
  if (c.role != subagent_role && c.role != council_role && c.role != reviewer_role) {
    return refused(
        "a main registers subagents, council and reviewers of its owner; only an admin registers " +
            in_words(c.role),
        "/role");
  }
  if (c.kind != PrincipalKind::agent || c.dialect != main.dialect) {
    return refused("a main registers agents that speak what it speaks", "/dialect");
  }
  if (c.spawner != main.name) {
    return refused("who a main registers answers to that one", "/spawner");
  }
  if (!is_new && !is_spawned_by(t, ref, context.actor)) {
    return refused("a main changes only those that it registered itself", "/id");
  }
  if (is_new && spawned_by(t, context.actor) >= t.rules.squad_spawned_max) {
    return refuse(Code::limit_reached,
                  "you have registered " + std::to_string(t.rules.squad_spawned_max) +
                      " agents (squad.spawned_max); remove those that have ended",
                  "/id");
  }
  return {};
}

Checked check_authority(const ConstContext& context, const Envelope& e, const Route& route) {
  const Tables& t = context.t;
  if (context.actor == none || t.agents[context.actor].kind != PrincipalKind::agent) {
    return {};
  }
  if (auto good = check_role(context, e, route); !good) {
    return good;
  }
  if (route.everyone) {
    return {};
  }
  for (const AgentRef ref : route.agents) {
    if (auto good = check_foreign(context, e, ref); !good) {
      return good;
    }
  }
  return {};
}

}  // namespace parley::core
