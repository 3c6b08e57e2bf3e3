// SPDX-License-Identifier: Apache-2.0
// Advice at the door: what `apply` would refuse anyway need not be written down. Only what is
// certain by the present state, and what would leave nothing behind: no dead letter, no signal, no
// agent that counts as present again.
#include <variant>

#include "core/checks.h"
#include "core/refusal.h"
#include "core/workspace.h"

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
                        : error_of(check_topics(
                              {*who, t_.agents[*who].kind, t_.agents[*who].dialect},
                              {&c.topic, 1}, "/topic"));
          },
          [&](const Unsubscribe& c) {
            const auto who = subscriber(asking, c.agent);
            return !who ? error_of(who) : error_of(check_subscribed(t_.agents[*who], c.topic));
          },
          [&](const TakeLock& c) { return error_of(check(asking, c)); },
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
      error.code == Code::overloaded && sender.pressure.level != PressureLevel::overloaded;
  return leaves_letter || is_news || error.code == Code::deadlock ? std::nullopt
                                                                  : std::optional(error);
}

std::optional<Error> Workspace::refusal(const Asking& asking, const Malformed& command) const {
  return error_of(check(asking, command));
}

}  // namespace parley::core
