// SPDX-License-Identifier: Apache-2.0
// An agent begins to work, or stops: what it leaves behind.
#include "core/handoffs/agent_session_acts.h"

#include "core/agents/authority.h"
#include "core/debates/debate_acts.h"
#include "core/delivery/dispatch.h"
#include "core/handoffs/unfinished.h"
#include "core/limits/admission.h"
#include "core/model/refusal.h"
#include "core/outbox/outbox_acts.h"
#include "core/topics/broker_topics.h"

namespace parley::core {

namespace {

using base::Code;

std::expected<AgentRef, Error> find_agent(const ConstContext& context,
                                          const MarkAgentSession& command) {
  const Tables& t = context.t;
  const AgentRef ref = t.agents.find(command.agent);
  const bool is_there = ref != none && t.agents[ref].kind == PrincipalKind::agent;
  const bool is_own = is_there && (ref == context.actor ||
                                   (context.actor != none && is_spawned_by(t, ref, context.actor)));
  if (!is_maintainer(context) && !is_own) {
    return refuse(Code::forbidden,
                  "an agent says itself when its session begins and ends, or who spawned it, or a "
                  "maintainer");
  }
  if (!is_there) {
    return refuse(Code::not_found, "no agent is named " + quoted_start(command.agent));
  }
  const AgentSession* const session = t.handoffs.session_of(t.agents[ref].name);
  if (command.is_end && session != nullptr && session->is_over()) {
    return refuse(Code::conflict, "the session of " + quoted_start(command.agent) + " ended at " +
                                      base::format_time(session->ended));
  }
  return ref;
}

// What waits for the agent is done with. What asks for an answer will not get one: its giver is
// told before. Returns how many.
uint32_t archive(Dispatch& dispatch, AgentRef agent) {
  Tables& t = dispatch.t;
  uint32_t count = 0;
  for (const DeliveryRef ref : unsettled_of(t, agent)) {
    const Delivery& delivery = t.messages.delivery(ref);
    if (delivery.on_hold || delivery.gate == Gate::removed) {
      continue;  // nobody let it pass yet
    }
    const Handoffs::Key key{t.messages.message_of(ref).seq, t.agents[agent].name};
    t.messages.notes.set_last_error(ref, "archived at the end of its receiver's session");
    dispatch.settle(ref, State::acked);
    t.handoffs.remove(key);
    ++count;
  }
  return count;
}

}  // namespace

Checked check(const ConstContext& context, const MarkAgentSession& command) {
  return checked(find_agent(context, command));
}

Outcome on(Context& context, const MarkAgentSession& command) {
  Tables& t = context.t;
  const auto found = find_agent(context, command);
  if (!found) {
    return std::unexpected(found.error());
  }
  // Each end tells those who wait for the agent, however often one says so.
  if (auto good = check_notices(context, command.is_end ? 1 : 0); !good) {
    return std::unexpected(good.error());
  }
  const std::string name = t.agents[*found].name;
  broker_topics::audit(context.dispatch,
                       command.is_end ? "agent_session_ended" : "agent_session_started",
                       context.entry.actor, name);
  if (!command.is_end) {
    t.handoffs.set_session({.agent = name, .started = t.now, .ended = {}});
    return Receipt{.message = {}, .count = static_cast<uint32_t>(t.agents[*found].inbox.unsettled)};
  }
  const AgentSession* const begun = t.handoffs.session_of(name);
  t.handoffs.set_session(
      {.agent = name,
       .started = begun == nullptr ? t.agents[*found].registered : begun->started,
       .ended = t.now});
  escalate_unanswered(context.dispatch, name);
  count_notices(context, tell_unfinished(context.dispatch, name, "session ended"));
  const Agent& agent = t.agents[*found];
  Receipt receipt;
  if (role_of(agent.dialect, agent.role).is_for_session) {
    receipt.count = archive(context.dispatch, *found);
    context.dispatch.pump(*found);
  }
  return receipt;
}

}  // namespace parley::core
