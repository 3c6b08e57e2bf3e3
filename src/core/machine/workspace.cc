// SPDX-License-Identifier: Apache-2.0
#include "core/machine/workspace.h"

#include <algorithm>
#include <variant>

#include "core/agents/presence.h"
#include "core/agents/registry.h"
#include "core/conversation/lock_acts.h"
#include "core/conversation/session_acts.h"
#include "core/conversation/task_acts.h"
#include "core/conversation/thread_acts.h"
#include "core/dead_letters/dead_letter_acts.h"
#include "core/dead_letters/dead_letter_retry.h"
#include "core/delivery/due.h"
#include "core/delivery/forgetting.h"
#include "core/delivery/receiving.h"
#include "core/delivery/stream_acts.h"
#include "core/humans/escalation_acts.h"
#include "core/limits/admission.h"
#include "core/limits/backpressure_acts.h"
#include "core/machine/rule_acts.h"
#include "core/machine/send.h"
#include "core/machine/snapshot.h"
#include "core/requests/deadlock.h"
#include "core/topics/retention.h"
#include "core/topics/subscription_acts.h"

namespace parley::core {

namespace {

using base::Code;

// What time brings about, in this order.
void let_time_pass(Dispatch& dispatch, Requests& requests) {
  relieve_all(dispatch);
  advance_deliveries(dispatch);
  advance_threads(dispatch);
  advance_sessions(dispatch);
  advance_locks(dispatch);
  advance_dead_letters(dispatch);
  requests.settle();
  requests.advance();
  requests.settle();
  presence::advance(dispatch);
}

// Drops what is kept or remembered beyond its time or number, at the end of each entry. Messages go
// last: the others refer to them.
void forget_old(Dispatch& dispatch) {
  for (const AgentRef sender : dispatch.t.messages.gates.take_drained()) {
    relieve(dispatch, sender);
  }
  forget_dead_letters(dispatch);
  forget_retained(dispatch);
  forget_threads(dispatch.t);
  forget_sessions(dispatch.t);
  forget_tasks(dispatch.t);
  forget_messages(dispatch.t);
}

// Only the time of a tick matters. The machine does the other two itself.
Outcome on(Context&, const Tick&) { return Receipt{}; }
Outcome on(Context&, const StartNode&) { return Receipt{}; }
Outcome on(Context&, const AddWorkspace&) { return Receipt{}; }

// Old things are forgotten at whole minutes, and what is closed by its age is closed at whole
// seconds, so that an idle broker writes few ticks for it.
Time next_multiple(Time t, int64_t unit) {
  return t.us > base::time_max.us - unit ? base::time_max : Time{(t.us / unit + 1) * unit};
}

Time next_minute(Time t) { return next_multiple(t, 60'000'000); }

Time next_second(Time t) { return next_multiple(t, 1'000'000); }

}  // namespace

Workspace::Workspace(WorkspaceId id, std::string_view name, uint64_t hash_seed)
    : id_(id), name_(name), t_(hash_seed) {}

Outcome Workspace::apply(const Entry& entry, std::vector<Effect>& effects) {
  t_.now = entry.time;
  t_.agents.sweep();
  Dispatch dispatch(id_, t_, effects);
  Context context{
      .t = t_, .dispatch = dispatch, .requests = Requests(t_, dispatch), .entry = entry};
  let_time_pass(context.dispatch, context.requests);
  const auto actor = actor_of(entry);
  if (!actor) {
    forget_old(context.dispatch);
    return std::unexpected(actor.error());
  }
  context.actor = *actor;
  if (context.actor != none) {
    t_.agents[context.actor].seen = t_.now;
    if (t_.agents[context.actor].presence.is_away()) {
      presence::heard_from(dispatch, context.actor);
    }
  }
  Outcome outcome =
      std::visit([&](const auto& command) { return on(context, command); }, entry.command);
  context.requests.settle();
  forget_old(context.dispatch);
  return outcome;
}

// Who asks; none for the broker itself.
std::expected<AgentRef, Error> Workspace::actor_of(const Entry& entry) const {
  if (entry.actor == broker_name) {
    return none;
  }
  const AgentRef actor = t_.agents.find(entry.actor);
  if (actor == none || !t_.agents[actor].is_registered()) {
    return std::unexpected(Error{
        Code::forbidden,
        "\"" + std::string(entry.actor.substr(0, 256)) + "\" is not registered in this workspace",
        {}});
  }
  return actor;
}

void Workspace::advance(Time now, std::vector<Effect>& effects) {
  t_.now = now;
  t_.agents.sweep();
  Dispatch dispatch(id_, t_, effects);
  Requests requests(t_, dispatch);
  let_time_pass(dispatch, requests);
  forget_old(dispatch);
}

void Workspace::close_streams(uint64_t origin, Time now, std::vector<Effect>& effects) {
  t_.now = now;
  t_.agents.sweep();
  Dispatch dispatch(id_, t_, effects);
  end_broadcasts(dispatch, origin);  // before its streams give back what they hold
  const auto& by_id = t_.streams.by_id();
  for (auto at = by_id.lower_bound(StreamId{origin, 0});
       at != by_id.end() && at->first.origin == origin;
       at = by_id.lower_bound(StreamId{origin, 0})) {
    close_stream(dispatch, at->second, false);
  }
  leave_lines(t_, origin);
  unblock_callers(t_, origin);
  Requests(t_, dispatch).settle();
  forget_old(dispatch);
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
  Time next = base::time_max;
  if (!t_.messages.deadlines.all().empty()) {
    next = t_.messages.deadlines.all().first().at;
  }
  next = std::min(next, t_.patterns.next().at);
  if (!t_.silences.empty()) {
    next = std::min(next, t_.silences.begin()->first);
  }
  if (!t_.pressed.empty()) {
    next = std::min(next, t_.pressed.begin()->first);
  }
  if (t_.topics.oldest() != none) {
    next = std::min(next, next_minute(t_.topics.oldest_time() + t_.rules.topic_retention));
  }
  if (!t_.remembered.empty()) {
    next = std::min(next, next_minute(t_.remembered.front().since + t_.rules.settled_retention));
  }
  next = std::min(next, t_.dead_letters.next_due_at());
  next = std::min(next, t_.locks.next_due());
  if (const Task* const first = t_.tasks.first_ended()) {
    next = std::min(next, next_minute(first->changed + t_.rules.task_retention));
  }
  if (const Session* const first = t_.sessions.first_unwarned()) {
    next = std::min(next, session_warned_at(t_.rules, first->started));
  }
  if (const Session* const first = t_.sessions.first_live()) {
    next = std::min(next, first->started + t_.rules.session_duration_max);
  }
  if (const Session* const first = t_.sessions.first_ended()) {
    next = std::min(next, next_minute(first->ended + t_.rules.session_retention));
  }
  if (const ThreadRef oldest = t_.threads.oldest(); oldest != none) {
    next = std::min(next, next_second(t_.threads[oldest].created + t_.rules.thread_duration_max));
  }
  for (const auto standing : {Threads::Standing::closed, Threads::Standing::idle}) {
    if (const ThreadRef first = t_.threads.first(standing); first != none) {
      next = std::min(next, next_minute(t_.threads[first].changed + t_.rules.thread_retention));
    }
  }
  return next;
}

void Workspace::encode(Writer& out) const { core::encode(t_, out); }

bool Workspace::decode(Reader& in) { return core::decode(t_, in); }

}  // namespace parley::core
