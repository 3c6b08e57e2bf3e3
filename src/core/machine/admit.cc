// SPDX-License-Identifier: Apache-2.0
// Advice at the door: what `apply` would refuse anyway need not be written down. Only what is
// certain by the present state, and what would leave nothing behind: no dead letter, no signal, no
// agent that counts as present again.
#include <variant>

#include "core/agents/hub.h"
#include "core/machine/rooms.h"
#include "core/machine/workspace.h"

namespace parley::core {

namespace {

using base::Code;

std::optional<Error> refusal(const ConstContext& context, const Send& command) {
  const auto planned = plan_send(context, command);
  if (planned) {
    return std::nullopt;
  }
  const Agent& sender = context.t.agents[context.actor];
  const Error& error = planned.error();
  // The refusal leaves a dead letter, as long as there are not too many; its sender is told of it
  // once; or one of those who wait for each other may have given up by now; or it is counted.
  const bool leaves_letter =
      is_malformed(error) && keeps_malformed(context.t, context.actor, context.now());
  const bool is_signalled =
      error.code == Code::overloaded && sender.backpressure.level != BackpressureLevel::overloaded;
  const bool goes_in = leaves_letter || is_signalled || error.code == Code::deadlock ||
                       is_counted_violation(context, error);
  return goes_in ? std::nullopt : std::optional(error);
}

// By the check that the command's room has. A command without one is refused seldom, or only its
// act can find out.
template <class Command>
std::optional<Error> refusal(const ConstContext& context, const Command& command) {
  if constexpr (requires { check(context, command); }) {
    const Checked good = check(context, command);
    return good ? std::nullopt : std::optional(good.error());
  } else {
    return std::nullopt;
  }
}

}  // namespace

std::optional<Error> Workspace::admit(const Entry& entry) const {
  // What is due would be done first, and may let it pass. A thread's end is due before the full
  // second at which a tick comes for it.
  const bool ends_thread = next_thread_end(t_) <= entry.time;
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
  if (const Checked good = check_written(context); !good) {
    return good.error();
  }
  return std::visit([&](const auto& command) { return refusal(context, command); }, entry.command);
}

std::optional<Error> Workspace::over_budget(const Entry& entry, uint64_t ahead) const {
  const auto actor = actor_of(entry);
  const Checked good = actor ? check_written({t_, entry, *actor}, ahead) : Checked();
  return good ? std::nullopt : std::optional(good.error());
}

}  // namespace parley::core
