// SPDX-License-Identifier: Apache-2.0
// What the agents could not settle is put before people, who say what was decided.
#include "core/humans/escalation_acts.h"

#include "base/text.h"
#include "core/machine/context.h"
#include "core/model/refusal.h"
#include "core/outbox/outbox_acts.h"
#include "core/topics/broker_topics.h"

namespace parley::core {

namespace {

using base::Code;

}  // namespace

Checked check_escalation_share(const ConstContext& context, const Send& command) {
  const Tables& t = context.t;
  const Envelope& e = command.envelope;
  const bool is_critical = e.priority == Priority::critical;
  const bool escalates = is_critical || !command.later_stages.empty() ||
                         (asks(e.kind) && e.on_timeout == OnTimeout::escalate);
  if (context.actor == none || !escalates) {
    return {};
  }
  const size_t open = t.escalations.open_of(e.sender);
  if (open < share_of(t.rules, t.rules.escalations_max)) {
    return {};
  }
  return refuse_share("you have " + std::to_string(open) +
                          " open escalations, and this would be another if it fails",
                      "escalations_max",
                      is_critical ? "send it with a lower priority, let a maintainer resolve some"
                                  : "let a maintainer resolve some",
                      is_critical ? "/priority" : "");
}

uint64_t escalate_if_room(Dispatch& dispatch, Escalation escalation) {
  if (!dispatch.t.escalations.has_room(dispatch.t.rules, escalation.agent)) {
    dispatch.t.escalations.count_dropped();
    return 0;
  }
  return escalate(dispatch, std::move(escalation));
}

void escalate_for_review(Dispatch& dispatch, const Envelope& e, MessageRef message,
                         MessageRef question, std::string_view why) {
  const Tables& t = dispatch.t;
  if (e.review.empty() || question == none) {
    return;
  }
  const Seq asked = t.messages.message(question).seq;
  if (!t.escalations.has_review(e.sender, asked)) {
    escalate_if_room(dispatch, {.cause = EscalationCause::review_wanted,
                                .about = t.messages.message(message).seq,
                                .agent = std::string(e.sender),
                                .receiver = {},
                                .why = std::string(why),
                                .question = asked});
  }
}

uint64_t escalate(Dispatch& dispatch, Escalation escalation) {
  Tables& t = dispatch.t;
  escalation.since = t.now;
  escalation.why = base::cut(escalation.why, t.rules.reason_bytes_max);
  const uint64_t id = t.escalations.add(std::move(escalation), t.rules.escalations_max);
  const Escalation& added = *t.escalations.find(id);
  OutboxItem item{.kind = OutboxKind::escalated,
                  .to = {},
                  .about = added.about,
                  .priority = Priority::high,
                  .facts = {{"escalation", static_cast<int64_t>(id)},
                            {"cause", std::string(cause_name(added.cause))},
                            {"agent", added.agent},
                            {"receiver", added.receiver},
                            {"why", added.why}}};
  // Where an orchestrator gives out the work, it knows already, and people must look (SP-06).
  const AgentRef agent = t.agents.find(added.agent);
  const bool is_of_hub = agent != none && policy_of(t.agents[agent].dialect).via_hub;
  if (is_of_hub || added.cause == EscalationCause::review_wanted) {
    owe_maintainers(dispatch, std::move(item));
  } else {
    owe_stewards(dispatch, std::move(item));
  }
  broker_topics::audit(dispatch, "escalated", broker_name, added.agent);
  return id;
}

Checked check(const ConstContext& context, const ResolveEscalation& command) {
  const Tables& t = context.t;
  if (auto allowed = may_administer(context, Right::maintainer); !allowed) {
    return allowed;
  }
  const Escalation* const escalation = t.escalations.find(command.id);
  if (escalation == nullptr) {
    return refuse(Code::not_found, "there is no escalation " + std::to_string(command.id));
  }
  if (!escalation->is_open()) {
    return refuse(Code::conflict, "the escalation was resolved by " +
                                      quoted(escalation->resolved_by) + " at " +
                                      base::format_time(escalation->resolved_at));
  }
  if (command.resolution.empty() || command.resolution.size() > t.rules.reason_bytes_max) {
    return refuse(Code::bad_request,
                  "a resolution says what was decided, in 1 to " +
                      std::to_string(t.rules.reason_bytes_max) + " bytes (reason_bytes_max)",
                  "/resolution");
  }
  return {};
}

Outcome on(Context& context, const ResolveEscalation& command) {
  Tables& t = context.t;
  if (auto good = check(context, command); !good) {
    return std::unexpected(good.error());
  }
  const Escalation* const escalation = t.escalations.find(command.id);
  const std::string_view by = context.actor == none ? broker_sender : context.entry.actor;
  t.escalations.resolve(command.id, command.resolution, by, t.now);
  owe(context.dispatch, {.kind = OutboxKind::escalation_resolved,
                         .to = escalation->agent,
                         .about = escalation->about,
                         .facts = {{"escalation", static_cast<int64_t>(command.id)},
                                   {"cause", std::string(cause_name(escalation->cause))},
                                   {"resolution", std::string(command.resolution)},
                                   {"resolved_by", std::string(by)}}});
  broker_topics::audit(context.dispatch, "escalation_resolved", context.entry.actor,
                       std::to_string(command.id));
  return Receipt{.message = escalation->about};
}

}  // namespace parley::core
