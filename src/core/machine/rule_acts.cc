// SPDX-License-Identifier: Apache-2.0
// The rules change.
#include "core/machine/rule_acts.h"

#include "core/agents/presence.h"
#include "core/limits/rate_limit.h"
#include "core/machine/context.h"
#include "core/topics/broker_topics.h"

namespace parley::core {

namespace {

std::expected<Rules, Error> changed_rules(const Rules& rules, const SetRules& command) {
  Rules changed = rules;
  for (const auto& [name, value] : command.values) {
    if (auto set = set_rule(changed, name, value); !set) {
      return std::unexpected(set.error());
    }
  }
  return changed;
}

}  // namespace

Checked check(const ConstContext& context, const SetRules& command) {
  if (auto allowed = may_administer(context, Right::admin); !allowed) {
    return allowed;
  }
  return checked(changed_rules(context.t.rules, command));
}

Outcome on(Context& context, const SetRules& command) {
  Tables& t = context.t;
  if (auto good = check(context, command); !good) {
    return std::unexpected(good.error());
  }
  const Rules before = std::exchange(t.rules, *changed_rules(t.rules, command));
  if (!same_rates(before, t.rules)) {
    restart_rate_limits(context.dispatch, context.entry.seq);
  }
  if (before.collab_heartbeat != t.rules.collab_heartbeat ||
      before.collab_heartbeats_missed != t.rules.collab_heartbeats_missed) {
    presence::begin_anew(t);
  }
  broker_topics::policy(context.dispatch, before, context.entry.actor);
  if (before != t.rules) {
    broker_topics::audit(context.dispatch, "rules_changed", context.entry.actor, "");
  }
  return Receipt{};
}

}  // namespace parley::core
