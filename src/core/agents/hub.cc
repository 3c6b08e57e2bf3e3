// SPDX-License-Identifier: Apache-2.0
#include "core/agents/hub.h"

#include <algorithm>

#include "base/text.h"

#include "core/delivery/routing.h"
#include "core/model/refusal.h"
#include "core/outbox/outbox_acts.h"
#include "core/topics/broker_topics.h"

namespace parley::core {

namespace {

using base::Code;

constexpr std::string_view orchestrator = "orchestrator";

bool is_bound(const Agent& agent) {
  return agent.kind == PrincipalKind::agent && policy_of(agent.dialect).via_hub;
}

// An agent without a role is a worker, unless its name says what it is.
bool is_hub(const Agent& agent) {
  return agent.role == orchestrator || (agent.role.empty() && agent.name == orchestrator);
}

// Both are workers of one dialect.
bool bypasses_hub(const Agent& sender, const Agent& receiver) {
  return is_bound(sender) && is_bound(receiver) && sender.dialect == receiver.dialect &&
         !is_hub(sender) && !is_hub(receiver);
}

std::unexpected<Error> refuse_direct(const Agent& sender, std::string reached) {
  return refuse(Code::not_via_orchestrator,
                quoted(sender.name) + " is a worker, and " + std::move(reached) +
                    "; workers write to an orchestrator, who passes it on",
                "/receiver");
}

// By name: an agent of another dialect who directs no one, or any where the rules say so.
Checked check_foreign(const ConstContext& context, const Agent& sender, const Agent& receiver) {
  if (!is_bound(receiver) || sender.dialect == receiver.dialect || context.answers) {
    return {};
  }
  if (static_cast<ForeignPolicy>(context.t.rules.foreign) == ForeignPolicy::refuse) {
    return refuse(Code::role_forbidden,
                  quoted(receiver.name) + " speaks " +
                      std::string(policy_of(receiver.dialect).name.value) +
                      ", and agents of other dialects may only answer it (foreign = refuse)",
                  "/receiver");
  }
  if (!is_hub(receiver) && !directs(sender.dialect, sender.role)) {
    return refuse(Code::role_forbidden,
                  quoted(receiver.name) + " is a worker, and " + quoted(sender.name) +
                      " directs no one (role " + sender.role + "); write to an orchestrator",
                  "/receiver");
  }
  return {};
}

// Whether a violation of the actor's counts: of each agent some in a minute do.
bool may_count(const ConstContext& context) {
  return context.actor != none && context.t.agents[context.actor].violations.at(context.now()) <
                                      context.t.rules.violations_per_min;
}

void tell_violations(Dispatch& dispatch, AgentRef ref) {
  Tables& t = dispatch.t;
  const Agent& agent = t.agents[ref];
  std::vector<std::string> kinds;
  for (const auto& [kind, count] : agent.violations.kinds) {
    kinds.push_back(kind + " " + std::to_string(count));
  }
  owe_maintainers(dispatch, {.kind = OutboxKind::protocol_violation,
                             .to = {},
                             .about = {},
                             .facts = {{"agent", agent.name},
                                       {"code", agent.violations.code},
                                       {"detail", agent.violations.detail},
                                       {"new", static_cast<int64_t>(agent.violations.untold)},
                                       {"violations", static_cast<int64_t>(agent.violations.count)},
                                       {"kinds", std::move(kinds)}}});
  t.agents[ref].violations.told = t.now;
  t.agents[ref].violations.untold = 0;
}

void count_violation(Context& context, const Error& refusal) {
  Tables& t = context.t;
  Agent& agent = t.agents[context.actor];
  Violations& violations = agent.violations;
  const uint64_t before = violations.at(t.now);
  violations.since = before == 0 ? t.now : violations.since;
  violations.in_minute = before + 1;
  violations.code = base::info(refusal.code).name;
  violations.detail = base::cut(refusal.detail, t.rules.reason_bytes_max);
  ++violations.count;
  ++violations.kinds[violations.code];
  broker_topics::audit(context.dispatch, "protocol_violation", context.entry.actor, agent.name);
  if (++violations.untold > 1) {
    return;
  }
  if (violations.count == 1 || violations.due() <= t.now) {
    tell_violations(context.dispatch, context.actor);
  } else {
    t.violated.add(violations.due(), agent.name);
  }
}

// An answer goes to whom its question names: that is no way around the hub, either, and who is
// asked could not answer. It holds for what people ask, too.
Checked check_reply_to(const ConstContext& context, std::string_view reply_to, const Route& route) {
  const Tables& t = context.t;
  const AgentRef to = reply_to.empty() ? none : t.agents.find(reply_to);
  if (to == none || to == context.actor) {
    return {};
  }
  if (!may_write_to(t, context.actor, to)) {
    return refuse(Code::not_via_orchestrator,
                  quoted(t.agents[context.actor].name) + " is a worker, and so is " +
                      quoted(t.agents[to].name) +
                      ", to whom the answers are to go; an orchestrator passes them on",
                  "/reply_to");
  }
  const std::vector<AgentRef> reached =
      route.topic.empty() ? route.agents : t.topics.listeners(route.topic);
  const auto bypassed =
      std::ranges::find_if(reached, [&](AgentRef each) { return !may_write_to(t, each, to); });
  if (bypassed != reached.end()) {
    return refuse(Code::not_via_orchestrator,
                  quoted(t.agents[*bypassed].name) + " is a worker, and so is " +
                      quoted(t.agents[to].name) +
                      ", to whom the answers are to go; have them sent to an orchestrator",
                  "/reply_to");
  }
  return {};
}

}  // namespace

bool may_write_to(const Tables& tables, AgentRef sender, AgentRef receiver) {
  return sender == none || sender == receiver ||
         !bypasses_hub(tables.agents[sender], tables.agents[receiver]);
}

Checked check_hub(const ConstContext& context, const Send& command, const Route& route) {
  const Tables& t = context.t;
  if (context.actor == none) {
    return {};
  }
  if (auto good = check_reply_to(context, command.envelope.reply_to, route); !good) {
    return good;
  }
  const Agent& sender = t.agents[context.actor];
  if (sender.kind != PrincipalKind::agent) {
    return {};
  }
  const auto bypassed = [&](AgentRef ref) { return !may_write_to(t, context.actor, ref); };
  if (route.everyone || !route.topic.empty()) {
    if (!is_bound(sender) || is_hub(sender)) {
      return {};
    }
    const std::vector<AgentRef> reached =
        route.everyone ? route.agents : t.topics.listeners(route.topic);
    if (std::ranges::any_of(reached, bypassed)) {
      return refuse_direct(sender, route.everyone ? "\"*\" reaches other workers"
                                                  : "the topic has other workers");
    }
    return {};
  }
  for (const AgentRef ref : route.agents) {
    if (bypassed(ref)) {
      return refuse_direct(sender, "so is " + quoted(t.agents[ref].name));
    }
    if (auto good = check_foreign(context, sender, t.agents[ref]); !good) {
      return good;
    }
  }
  for (const std::string_view stage : command.later_stages) {
    const AgentRef ref = t.agents.find(stage);
    if (ref != none && bypassed(ref)) {
      return refuse_direct(sender, "so is " + quoted_start(stage) + " of the pipeline");
    }
  }
  return {};
}

bool is_counted_violation(const ConstContext& context, const Error& refusal) {
  return refusal.code == Code::not_via_orchestrator && may_count(context) &&
         is_bound(context.t.agents[context.actor]);
}

void note_violation(Context& context, const Error& refusal) {
  if (is_counted_violation(context, refusal)) {
    count_violation(context, refusal);
  }
}

void advance_violations(Dispatch& dispatch) {
  Tables& t = dispatch.t;
  for (size_t n = 0; n < due_max && t.violated.next() <= t.now; ++n) {
    tell_violations(dispatch, t.agents.find(t.violated.take()));
  }
}

Time violations_due(const Tables& t) { return t.violated.next(); }

void leave_violations(Dispatch& dispatch, std::string_view name) {
  Tables& t = dispatch.t;
  const AgentRef ref = t.agents.find(name);
  if (const Violations& violations = t.agents[ref].violations; violations.untold > 0) {
    t.violated.remove(violations.due(), name);
    tell_violations(dispatch, ref);
  }
}

void note_malformed(Context& context, std::string_view error) {
  if (may_count(context) && is_bound(context.t.agents[context.actor])) {
    count_violation(context, {Code::validation_failed, std::string(error), {}});
  }
}

}  // namespace parley::core
