// SPDX-License-Identifier: Apache-2.0
// Advice at the door: what `apply` would refuse anyway need not be written down. Only what is
// certain by the present state, and what would leave nothing behind: no dead letter, no signal, no
// agent that counts as present again.
#include <variant>

#include "core/agents/registry.h"
#include "core/conversation/lock_acts.h"
#include "core/conversation/session_acts.h"
#include "core/conversation/task_acts.h"
#include "core/conversation/thread_acts.h"
#include "core/dead_letters/dead_letter_acts.h"
#include "core/delivery/receiving.h"
#include "core/humans/escalation_acts.h"
#include "core/limits/admission.h"
#include "core/machine/rule_acts.h"
#include "core/machine/send.h"
#include "core/machine/workspace.h"
#include "core/topics/subscription_acts.h"

namespace parley::core {

namespace {

using base::Code;

template <class Result>
std::optional<Error> error_of(const Result& result) {
  return result ? std::nullopt : std::optional<Error>(result.error());
}

std::optional<Error> refusal(const ConstContext& context, const Send& command) {
  const auto planned = plan_send(context, command);
  if (planned) {
    return std::nullopt;
  }
  const Agent& sender = context.t.agents[context.actor];
  const Error& error = planned.error();
  // The refusal leaves a dead letter, as long as there are not too many; its sender is told of it
  // once; or one of those who wait for each other may have given up by now.
  const bool leaves_letter =
      is_malformed(error) && keeps_malformed(context.t, context.actor, context.now());
  const bool is_signalled =
      error.code == Code::overloaded && sender.backpressure.level != BackpressureLevel::overloaded;
  return leaves_letter || is_signalled || error.code == Code::deadlock ? std::nullopt
                                                                       : std::optional(error);
}

// By the check that the command's room has. What the others are refused for is rare, or theirs
// alone to find out.
template <class Command>
std::optional<Error> refusal(const ConstContext& context, const Command& command) {
  if constexpr (requires { check(context, command); }) {
    return error_of(check(context, command));
  } else {
    return std::nullopt;
  }
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
  const ConstContext context{t_, entry, *actor};
  return std::visit([&](const auto& command) { return refusal(context, command); }, entry.command);
}

}  // namespace parley::core
