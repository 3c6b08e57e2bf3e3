// SPDX-License-Identifier: Apache-2.0
// Advice at the door: what `apply` would refuse anyway need not be written down. Only what is
// certain by the present state, and what would leave nothing behind: no dead letter, no signal, no
// agent that counts as present again.
#include <variant>

#include "core/machine/checks.h"
#include "core/machine/workspace.h"
#include "core/model/refusal.h"

namespace parley::core {

namespace {

using base::Code;

template <class... Each>
struct Choices : Each... {
  using Each::operator()...;
};

template <class Checked>
std::optional<Error> error_of(const Checked& checked) {
  return checked ? std::nullopt : std::optional<Error>(checked.error());
}

}  // namespace

// Whoever is no admin changes only what is said of itself, not what it may do.
Allowed may_register(const Tables& t, AgentRef actor, const Allowed& is_admin,
                     const Register& command) {
  const bool is_self = actor != none && t.agents[actor].name == command.name;
  const bool same_standing = is_self && t.agents[actor].kind == command.kind &&
                             t.agents[actor].role == command.role && command.rights.empty() &&
                             command.token == TokenHash{};
  return is_admin || same_standing ? Allowed{} : is_admin;
}

std::expected<AgentRef, Error> agent_to_remove(const Tables& t, AgentRef actor,
                                               const Allowed& is_admin, const Unregister& command) {
  const AgentRef ref = t.agents.find(command.name);
  const bool is_self = ref != none && ref == actor;
  if (!is_admin && !is_self) {
    return std::unexpected(is_admin.error());
  }
  if (ref == none || !t.agents[ref].is_registered()) {
    return refuse(Code::not_found, "no principal is named " + quoted_start(command.name));
  }
  if (t.agents[ref].kind == PrincipalKind::admin) {
    return refuse(Code::conflict, "the admin cannot be removed: no one could register it again");
  }
  return ref;
}

std::optional<Error> Workspace::admit(const Entry& entry) const {
  // What is due would be done first, and may let it pass. A thread's end is due before the full
  // second at which a tick comes for it.
  const ThreadRef oldest = t_.threads.oldest();
  const bool ends_thread =
      oldest != none && t_.threads[oldest].created + t_.rules.thread_duration_max <= entry.time;
  if (entry.actor == broker_name || ends_thread || next_deadline() <= entry.time) {
    return std::nullopt;
  }
  const auto actor = actor_of(entry);
  if (!actor) {
    return actor.error();
  }
  if (t_.agents[*actor].presence.is_away()) {
    return std::nullopt;
  }
  const Asking asking{entry, *actor};
  const auto found = [&](const auto& c) { return error_of(find_delivery(asking, c.target)); };
  const auto held = [&](const auto& c) { return error_of(find_held(asking, c.target)); };
  const auto allowed = [&](Right right) { return error_of(may_administer(asking, right)); };
  const auto claimant = [&] {
    return Claimant{*actor, may_administer(asking, Right::maintainer).has_value()};
  };
  return std::visit(
      Choices{
          [&](const Send& c) { return refusal(asking, c); },
          [&](const Malformed& c) { return refusal(asking, c); },
          [&](const Read& c) { return found(c); },
          [&](const Ack& c) { return c.stream == stream_none ? found(c) : std::nullopt; },
          [&](const Nack& c) { return held(c); },
          [&](const Reject& c) { return held(c); },
          [&](const Extend& c) { return held(c); },
          [&](const SetRules& c) {
            const auto error = allowed(Right::admin);
            return error ? error : error_of(changed_rules(t_.rules, c));
          },
          [&](const ResetLimits&) { return allowed(Right::admin); },
          [&](const ResolveEscalation& c) {
            const auto error = allowed(Right::maintainer);
            return error ? error : error_of(check_escalation(t_, c));
          },
          [&](const ResolveDeadLetter& c) {
            const auto error = allowed(Right::maintainer);
            return error ? error : error_of(check_letter(t_, c));
          },
          [&](const CloseThread& c) { return error_of(thread_to_close(t_, claimant(), c)); },
          [&](const ReassignTask& c) { return error_of(task_to_reassign(t_, claimant(), c)); },
          [&](const Subscribe& c) {
            const auto who = subscriber(asking, c.agent);
            return !who ? error_of(who)
                        : error_of(
                              check_topics({*who, t_.agents[*who].kind, t_.agents[*who].dialect},
                                           {&c.topic, 1}, "/topic"));
          },
          [&](const Unsubscribe& c) {
            const auto who = subscriber(asking, c.agent);
            return !who ? error_of(who) : error_of(check_subscribed(t_.agents[*who], c.topic));
          },
          [&](const TakeLock& c) { return error_of(check(asking, c)); },
          [&](const ReleaseLock& c) {
            return error_of(check_release(t_, claimant(), c, entry.time));
          },
          [&](const Register& c) {
            const auto error = error_of(check(c));
            return error ? error
                         : error_of(
                               may_register(t_, *actor, may_administer(asking, Right::admin), c));
          },
          [&](const Unregister& c) {
            return error_of(agent_to_remove(t_, *actor, may_administer(asking, Right::admin), c));
          },
          [&](const StartSession& c) {
            return error_of(check(asking, c, c.coordinator.empty() ? entry.actor : c.coordinator));
          },
          // What these are refused for is rare, or theirs alone to find out.
          [](const auto&) { return std::optional<Error>(); },
      },
      entry.command);
}

std::optional<Error> Workspace::refusal(const Asking& asking, const Send& command) const {
  const auto planned = plan(asking, command);
  if (planned) {
    return std::nullopt;
  }
  const Agent& sender = t_.agents[asking.actor];
  const Error& error = planned.error();
  // It leaves a dead letter, as long as there are not too many; it is told to its sender once; or
  // one of those who wait for each other may have given up by now.
  const bool leaves_letter =
      is_malformed(error) && Dispatch::keeps_malformed(t_, asking.actor, asking.now());
  const bool is_news =
      error.code == Code::overloaded && sender.backpressure.level != BackpressureLevel::overloaded;
  return leaves_letter || is_news || error.code == Code::deadlock ? std::nullopt
                                                                  : std::optional(error);
}

std::optional<Error> Workspace::refusal(const Asking& asking, const Malformed& command) const {
  return error_of(check(asking, command));
}

}  // namespace parley::core
