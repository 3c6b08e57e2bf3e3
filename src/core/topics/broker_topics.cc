// SPDX-License-Identifier: Apache-2.0
#include "core/topics/broker_topics.h"

#include "core/outbox/outbox_acts.h"
#include "core/requests/answers.h"

namespace parley::core::broker_topics {

namespace {

bool is_heard(const Tables& t, std::string_view topic) { return t.topics.is_heard(topic); }

std::string text(std::string_view value) { return std::string(value); }

std::string who(std::string_view actor) {
  return text(actor == broker_name ? broker_sender : actor);
}

void publish(Dispatch& dispatch, std::string_view topic, std::vector<Fact> facts) {
  const Tables& t = dispatch.t;
  facts.push_back({"at", t.now});
  owe(dispatch, {.kind = OutboxKind::published, .to = text(topic), .facts = std::move(facts)});
}

// What the news say under this name; nothing where they do not.
template <class T>
const T* fact_in(const OutboxItem& news, std::string_view name) {
  const auto at = std::ranges::find(news.facts, name, &Fact::name);
  return at == news.facts.end() ? nullptr : std::get_if<T>(&at->value);
}

bool is_said_to_be(const OutboxItem& news, std::string_view role, std::string_view name) {
  const auto* const found = fact_in<std::string>(news, role);
  return found != nullptr && *found == name;
}

bool is_asked(const Tables& t, const OutboxItem& news, AgentRef agent) {
  const auto* const seq = fact_in<int64_t>(news, "seq");
  const MessageRef request =
      seq == nullptr ? none : t.messages.find(Seq{static_cast<uint64_t>(*seq)});
  return request != none && t.messages.message(request).topic == none &&
         t.messages.delivery_to(request, agent) != none;
}

bool is_stage(const Tables& t, const OutboxItem& news, std::string_view name) {
  const auto* const owner = fact_in<std::string>(news, "owner");
  const auto* const id = fact_in<std::string>(news, "pipeline");
  const auto uuid = id == nullptr ? std::nullopt : base::parse_uuid(*id);
  const Pipeline* const pipeline =
      owner == nullptr || !uuid ? nullptr : t.pending.find_pipeline(*owner, *uuid);
  return pipeline != nullptr &&
         std::ranges::find(pipeline->stages, name, &Pipeline::Stage::agent) !=
             pipeline->stages.end();
}

}  // namespace

bool may_hear(const Tables& t, AgentRef subscriber, const OutboxItem& news) {
  if (!is_for_concerned(news.to) || t.agents.looks_after_workspace(subscriber)) {
    return true;
  }
  const std::string& name = t.agents[subscriber].name;
  if (news.to == task_topic) {
    return is_said_to_be(news, "sender", name) || is_said_to_be(news, "receiver", name) ||
           is_said_to_be(news, "by", name) || is_asked(t, news, subscriber);
  }
  if (news.to == phase_topic) {
    return is_said_to_be(news, "owner", name) || is_said_to_be(news, "agent", name) ||
           is_stage(t, news, name);
  }
  return is_said_to_be(news, "by", name) || is_said_to_be(news, "subject", name);
}

bool may_hear_retained(const Tables& t, AgentRef subscriber, const Message& message) {
  return !message.is_own || message.topic == none ||
         !is_for_concerned(t.topics[message.topic].name) ||
         t.agents.looks_after_workspace(subscriber);
}

void availability(Dispatch& dispatch, AgentRef ref, std::string_view status) {
  const Tables& t = dispatch.t;
  const Agent& agent = t.agents[ref];
  if (agent.kind == PrincipalKind::agent && is_heard(t, availability_topic)) {
    publish(dispatch, availability_topic,
            {{"agent", agent.name}, {"status", text(status)}, {"role", agent.role}});
  }
}

void policy(Dispatch& dispatch, const Rules& before, std::string_view by) {
  const Tables& t = dispatch.t;
  if (t.rules == before || !is_heard(t, policy_topic)) {
    return;
  }
  std::vector<std::string> names;
  std::vector<std::string> was;
  std::vector<std::string> is;
  for (const RuleInfo& info : all_rules()) {
    if (rule_value(before, info) != rule_value(t.rules, info)) {
      names.emplace_back(info.name);
      was.push_back(rule_value(before, info));
      is.push_back(rule_value(t.rules, info));
    }
  }
  publish(dispatch, policy_topic,
          {{"rules", std::move(names)},
           {"old", std::move(was)},
           {"new", std::move(is)},
           {"by", who(by)}});
}

void task(Dispatch& dispatch, MessageRef request, std::string_view status, AgentRef by) {
  const Tables& t = dispatch.t;
  const Message& message = t.messages.message(request);
  if (!asks(message.kind) || !is_heard(t, task_topic)) {
    return;
  }
  std::vector<Fact> facts = {{"task", base::format_uuid(message.id)},
                             {"seq", static_cast<int64_t>(message.seq.n)},
                             {"status", text(status)},
                             {"sender", t.agents[message.sender].name}};
  if (message.topic != none) {  // who subscribes to it is for no one to know
    facts.push_back({"receiver", t.topics[message.topic].name});
  } else if (const AgentRef asked = asked_alone(t, request); asked != none) {
    facts.push_back({"receiver", t.agents[asked].name});
  } else {
    facts.push_back({"receivers", static_cast<int64_t>(message.delivery_count)});
  }
  if (by != none) {
    facts.push_back({"by", t.agents[by].name});
  }
  publish(dispatch, task_topic, std::move(facts));
}

void task(Dispatch& dispatch, const Task& task, AgentRef by) {
  const Tables& t = dispatch.t;
  if (!is_heard(t, task_topic)) {
    return;
  }
  std::vector<Fact> facts = {{"task", task.id},
                             {"seq", static_cast<int64_t>(task.message.n)},
                             {"status", text(task_state_words[task.state])},
                             {"sender", task.director},
                             {"receiver", task.specialist}};
  if (by != none) {
    facts.push_back({"by", t.agents[by].name});
  }
  publish(dispatch, task_topic, std::move(facts));
}

std::string_view task_status(Status status) {
  switch (status) {
    case Status::unset:
    case Status::success:
      return "completed";
    case Status::partial:
      return "partial";
    case Status::error:
      return "failed";
    case Status::declined:
      return "declined";
  }
  return "completed";
}

void phase(Dispatch& dispatch, const Pipeline& pipeline) {
  const Tables& t = dispatch.t;
  if (is_heard(t, phase_topic)) {
    publish(dispatch, phase_topic,
            {{"pipeline", base::format_uuid(pipeline.id)},
             {"owner", pipeline.owner},
             {"agent", pipeline.stages[pipeline.stage].agent},
             {"stage", static_cast<int64_t>(pipeline.stage + 1)},
             {"stages", static_cast<int64_t>(pipeline.stages.size())}});
  }
}

void audit(Dispatch& dispatch, std::string_view action, std::string_view by,
           std::string_view subject) {
  const Tables& t = dispatch.t;
  if (is_heard(t, audit_topic)) {
    publish(dispatch, audit_topic,
            {{"action", text(action)}, {"by", who(by)}, {"subject", text(subject)}});
  }
}

}  // namespace parley::core::broker_topics
