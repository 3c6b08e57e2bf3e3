// SPDX-License-Identifier: Apache-2.0
// What the agents could not settle is put before people, who say what was decided.
#include "core/humans/escalation_acts.h"

#include <algorithm>
#include <optional>

#include "base/text.h"
#include "core/debates/debate_acts.h"
#include "core/handoffs/handoff_acts.h"
#include "core/machine/context.h"
#include "core/model/refusal.h"
#include "core/outbox/outbox_acts.h"
#include "core/topics/broker_topics.h"

namespace parley::core {

namespace {

using base::Code;

// What each side says, and by which messages.
void add_positions(const Debate& debate, OutboxItem& item) {
  std::vector<std::string> positions;
  std::vector<std::string> log;
  for (const DebateStep& step : debate.steps) {
    log.push_back(step.id);
    if (step.act != DebateAct::claim) {
      positions.push_back(step.agent + " " + std::string(debate_act_words[step.act]) +
                          (step.subject.empty() ? "" : ": " + step.subject) + " (" + step.id + ")");
    }
  }
  item.facts.push_back({"debate", static_cast<int64_t>(debate.id)});
  item.facts.push_back({"thread", debate.thread});
  item.facts.push_back({"positions", std::move(positions)});
  item.facts.push_back({"debate_log", std::move(log)});
}

// Whether the actor was named by the agent that asked, and is still the same.
bool is_asked(const ConstContext& context, const Escalation& escalation) {
  if (context.actor == none) {
    return false;
  }
  const Agent& actor = context.t.agents[context.actor];
  return escalation.about > actor.since &&
         std::ranges::find(escalation.people, actor.name) != escalation.people.end();
}

// Why people are to look at the message, and by which rule first; none where they need not.
std::optional<EscalationCause> cause_in(const Tables& t, const Envelope& e, std::string& why) {
  const Policy& policy = policy_of(e.dialect);
  const Policy::NumberRule wanted = policy.confidence_min;
  std::optional<EscalationCause> cause;
  const auto add = [&](EscalationCause each, std::string reason) {
    cause = cause.value_or(each);
    why += (why.empty() ? "" : "; ") + std::move(reason);
  };
  if (e.kind == Kind::escalation) {
    add(EscalationCause::requested,
        e.subject.empty() ? "its sender asks for it" : std::string(e.subject));
  }
  if (policy.escalates_critical && e.priority == Priority::critical &&
      (asks(e.kind) || e.kind == Kind::response)) {
    add(EscalationCause::critical, "it is critical");
  }
  constexpr int32_t percent = 10'000;  // in parts per million
  if (wanted != nullptr && e.kind == Kind::response && e.confidence_ppm >= 0 &&
      static_cast<uint64_t>(e.confidence_ppm) < t.rules.*wanted * percent) {
    add(EscalationCause::low_confidence,
        "its sender is sure to " + std::to_string(e.confidence_ppm / percent) + " %, and " +
            std::to_string(t.rules.*wanted) + " % are wanted");
  }
  return cause;
}

}  // namespace

void escalate_by_policy(Dispatch& dispatch, const Envelope& e, Seq message,
                        std::vector<std::string> people) {
  std::string why;
  const auto cause = cause_in(dispatch.t, e, why);
  if (!cause) {
    return;
  }
  const bool is_asked_for = *cause == EscalationCause::requested;
  const std::string_view first = e.receivers.empty() ? std::string_view{} : e.receivers.front();
  escalate_if_room(dispatch,
                   {.cause = *cause,
                    .about = message,
                    .agent = std::string(e.sender),
                    .receiver = is_asked_for ? std::string{} : std::string(first),
                    .why = std::move(why),
                    .people = is_asked_for ? std::move(people) : std::vector<std::string>{},
                    .concerned = is_asked_for ? std::vector<std::string>{}
                                              : std::vector<std::string>{std::string(first)}});
}

Checked check_escalation_share(const ConstContext& context, const Send& command) {
  const Tables& t = context.t;
  const Envelope& e = command.envelope;
  const bool is_critical = e.priority == Priority::critical;
  const bool escalates = is_critical || e.kind == Kind::escalation ||
                         !command.later_stages.empty() ||
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

bool escalate_expired(Dispatch& dispatch, DeliveryRef ref) {
  Tables& t = dispatch.t;
  const Delivery& delivery = t.messages.delivery(ref);
  const Message& message = t.messages.message_of(ref);
  const std::string& sender = t.agents[message.sender].name;
  const std::string& receiver = t.agents[delivery.receiver].name;
  if (message.to_many()) {
    return true;
  }
  const bool is_known =
      t.escalations.is_open_about(message.seq) || escalate_unread_challenge(dispatch, message.seq);
  if (!is_known) {
    const uint64_t id = escalate_if_room(
        dispatch, {.cause = EscalationCause::expired,
                   .about = message.seq,
                   .agent = sender,
                   .receiver = receiver,
                   .why = "nobody read it until " + base::format_time(message.expires)});
    if (id == 0) {
      return false;
    }
  }
  owe(dispatch, {.kind = OutboxKind::delivery_failed,
                 .to = sender,
                 .about = message.seq,
                 .facts = {{"seq", static_cast<int64_t>(message.seq.n)},
                           {"receiver", receiver},
                           {"attempts", int64_t{delivery.attempts}},
                           {"reason", std::string(reason_name(Reason::ttl_expired))},
                           {"detail", std::string("it expired, and people were asked to look")},
                           {"failed_at", t.now}}});
  return true;
}

uint64_t escalate(Dispatch& dispatch, Escalation escalation) {
  Tables& t = dispatch.t;
  escalation.since = t.now;
  escalation.why = base::shortened(escalation.why, t.rules.reason_bytes_max);
  const uint64_t id = t.escalations.add(std::move(escalation), t.rules.escalations_max);
  const Escalation& added = *t.escalations.find(id);
  OutboxItem item{
      .kind = OutboxKind::escalated,
      .to = {},
      .about = added.about,
      .priority = added.cause == EscalationCause::critical ? Priority::critical : Priority::high,
      .facts = {{"escalation", static_cast<int64_t>(id)},
                {"cause", std::string(cause_name(added.cause))},
                {"agent", added.agent},
                {"receiver", added.receiver},
                {"why", added.why}}};
  if (const Debate* const debate = t.debates.find(added.debate); debate != nullptr) {
    add_positions(*debate, item);
  }
  // Where an orchestrator gives out the work, it knows already, and people must look (SP-06).
  const AgentRef agent = t.agents.find(added.agent);
  const bool is_of_hub = agent != none && policy_of(t.agents[agent].dialect).via_hub;
  if (!added.people.empty()) {
    // They have the agent's own message.
  } else if (is_of_hub || added.cause >= EscalationCause::review_wanted) {
    owe_maintainers(dispatch, std::move(item));
  } else {
    owe_stewards(dispatch, std::move(item));
  }
  broker_topics::audit(dispatch, "escalated", broker_name, added.agent);
  return id;
}

Checked check(const ConstContext& context, const ResolveEscalation& command) {
  const Tables& t = context.t;
  const Escalation* const escalation = t.escalations.find(command.id);
  const bool was_asked = escalation != nullptr && is_asked(context, *escalation);
  if (auto allowed = may_administer(context, Right::maintainer); !allowed && !was_asked) {
    return allowed;
  }
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
  OutboxItem item{.kind = OutboxKind::escalation_resolved,
                  .to = escalation->agent,
                  .about = escalation->about,
                  .facts = {{"escalation", static_cast<int64_t>(command.id)},
                            {"cause", std::string(cause_name(escalation->cause))},
                            {"resolution", std::string(command.resolution)},
                            {"resolved_by", std::string(by)}}};
  if (escalation->debate != 0) {
    item.facts.push_back({"debate", static_cast<int64_t>(escalation->debate)});
  }
  owe(context.dispatch, item);
  for (const std::string& name : escalation->concerned) {
    item.to = name;
    owe(context.dispatch, item);
  }
  note_resolved(t, escalation->about);
  resolve_debate(context.dispatch, escalation->debate, command.resolution, by);
  broker_topics::audit(context.dispatch, "escalation_resolved", context.entry.actor,
                       std::to_string(command.id));
  return Receipt{.message = escalation->about};
}

}  // namespace parley::core
