// SPDX-License-Identifier: Apache-2.0
// What becomes of a message to one who is away.
#include "core/delivery/absence.h"

#include "core/agents/presence.h"
#include "core/dead_letters/dead_letter_acts.h"
#include "core/limits/size_limit.h"
#include "core/model/refusal.h"

namespace parley::core {

namespace {

using base::Code;

OnUnavailable choice_of(const Rules& rules, const Send& command) {
  if (command.on_unavailable != OnUnavailable::by_rules) {
    return command.on_unavailable;
  }
  const Policy::NumberRule rule = policy_of(command.envelope.dialect).on_unavailable;
  return rule == nullptr ? OnUnavailable::queue : static_cast<OnUnavailable>(rules.*rule + 1);
}

}  // namespace

void redirect_absent(const ConstContext& context, const Send& command, Route& route) {
  const Tables& t = context.t;
  const OnUnavailable policy = choice_of(t.rules, command);
  if (policy == OnUnavailable::queue || context.actor == none || route.everyone ||
      !route.topic.empty() || command.envelope.kind == Kind::response) {
    return;
  }
  // What is said in a session stays among those who take part.
  const Session* const session = t.sessions.find(command.envelope.session);
  size_t looked_for = 0;
  for (AgentRef& receiver : route.agents) {
    if (presence::is_available_to(t, receiver, context.actor)) {
      continue;
    }
    if (policy == OnUnavailable::fail) {
      route.absent.push_back(receiver);
      continue;
    }
    // Each looks through all who could stand in. For more than these it waits.
    constexpr size_t redirected_max = 16;
    if (++looked_for > redirected_max) {
      continue;
    }
    const AgentRef other = presence::stand_in(t, receiver, context.actor, command.envelope.action,
                                              session, route.agents);
    if (other != none &&
        size_fault(t.rules, t.agents[other], command.envelope.dialect, sizes_of(command.envelope))
            .empty()) {
      route.redirected.emplace_back(other, receiver);
      receiver = other;
    }
  }
}

Outcome repeat_refused(Context& context, const Send& command, MessageRef ref) {
  Tables& t = context.t;
  const Message& message = t.messages.message(ref);
  const DeliveryRef delivery = message.deliveries;
  const AgentRef away = t.messages.delivery(delivery).receiver;
  const OnUnavailable policy = choice_of(t.rules, command);
  const bool is_away = !presence::is_available_to(t, away, context.actor);
  if (is_away && policy == OnUnavailable::fail) {
    return refuse(Code::receiver_unavailable, presence::why_away(t.agents[away]), "/receiver");
  }
  AgentRef other = none;
  if (is_away && policy == OnUnavailable::redirect) {
    other = presence::stand_in(t, away, context.actor, command.envelope.action,
                               t.sessions.find(command.envelope.session), {});
  }
  DeadLetter* const letter = t.dead_letters.find_open(message.seq, t.agents[away].name);
  if (letter == nullptr) {
    return refuse(Code::receiver_unavailable, presence::why_away(t.agents[away]), "/receiver");
  }
  Outcome retried = retry_dead_letter(context, *letter, other);
  if (retried) {
    t.messages.message(ref).refused = false;
  }
  return retried;
}

}  // namespace parley::core
