// SPDX-License-Identifier: Apache-2.0
#include "core/machine/workspace.h"

#include <algorithm>
#include <variant>

#include "core/machine/rooms.h"
#include "core/machine/snapshot.h"
#include "core/model/refusal.h"

namespace parley::core {

namespace {

using base::Code;

// `Machine::apply` does these itself and never passes them on.
Outcome on(Context&, const Tick&) { return Receipt{}; }
Outcome on(Context&, const StartNode&) { return Receipt{}; }
Outcome on(Context&, const AddWorkspace&) { return Receipt{}; }

}  // namespace

Workspace::Workspace(WorkspaceId id, std::string_view name, uint64_t hash_seed)
    : id_(id), name_(name), t_(hash_seed) {}

Outcome Workspace::apply(const Entry& entry, std::vector<Effect>& effects) {
  t_.now = entry.time;
  t_.agents.sweep();
  Dispatch dispatch(id_, t_, effects);
  Context context{
      .t = t_, .dispatch = dispatch, .requests = Requests(t_, dispatch), .entry = entry};
  TimeSteps::run(dispatch);
  const auto actor = actor_of(entry);
  if (!actor) {
    LastSteps::run(dispatch);
    return std::unexpected(actor.error());
  }
  context.actor = *actor;
  if (context.actor != none) {
    t_.agents[context.actor].seen = t_.now;
    if (t_.agents[context.actor].presence.is_away()) {
      presence::heard_from(dispatch, context.actor);
    }
  }
  const Checked within_budget = check_written(context);
  count_written(context);
  Outcome outcome =
      within_budget
          ? std::visit([&](const auto& command) { return on(context, command); }, entry.command)
          : std::unexpected(within_budget.error());
  context.requests.settle();
  LastSteps::run(dispatch);
  return outcome;
}

// Who asks; none for the broker itself.
std::expected<AgentRef, Error> Workspace::actor_of(const Entry& entry) const {
  if (entry.actor == broker_name) {
    return none;
  }
  const AgentRef actor = t_.agents.find(entry.actor);
  if (actor == none || !t_.agents[actor].is_registered()) {
    return refuse(Code::forbidden,
                  quoted_start(entry.actor) + " is not registered in this workspace");
  }
  return actor;
}

void Workspace::advance(Time now, std::vector<Effect>& effects) {
  t_.now = now;
  t_.agents.sweep();
  Dispatch dispatch(id_, t_, effects);
  TimeSteps::run(dispatch);
  LastSteps::run(dispatch);
}

void Workspace::end_node_life(uint64_t life, Time now, std::vector<Effect>& effects) {
  t_.now = now;
  t_.agents.sweep();
  Dispatch dispatch(id_, t_, effects);
  end_broadcasts(dispatch, life);  // before its streams give back what they hold
  const auto& by_id = t_.streams.by_id();
  for (auto at = by_id.lower_bound(StreamId{life, 0});
       at != by_id.end() && at->first.origin == life; at = by_id.lower_bound(StreamId{life, 0})) {
    close_stream(dispatch, at->second, false);
  }
  end_lock_waits(t_, life);
  unblock_callers(t_, life);
  Requests(t_, dispatch).settle();
  LastSteps::run(dispatch);
}

void Workspace::add_admin(const TokenHash& token, Time now) {
  const AgentRef ref = t_.agents.intern("admin");
  t_.agents.set_kind(ref, PrincipalKind::admin);
  t_.agents[ref].registered = now;
  if (token != TokenHash{}) {
    t_.agents.add_token(ref, token, t_.rules.tokens_per_agent_max);
  }
}

Time Workspace::next_deadline() const {
  return std::min(TimeSteps::next_due(t_), LastSteps::next_due(t_));
}

void Workspace::encode(Writer& out) const { core::encode(t_, out); }

bool Workspace::decode(Reader& in) { return core::decode(t_, in); }

}  // namespace parley::core
