// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

#include "core/delivery/dispatch.h"
#include "core/machine/tables.h"

// What the broker publishes by itself, on topics of its own. News are for who listens: nothing is
// written on a topic without a subscriber. They are about commands and about what agents send each
// other, never about the broker's own messages, so no news make news. When many outbox items wait
// they are left out first.
namespace parley::core::broker_topics {

constexpr std::string_view task_topic = "task.status_changed";
constexpr std::string_view availability_topic = "agent.availability_changed";
constexpr std::string_view policy_topic = "system.policy_updated";
constexpr std::string_view phase_topic = "workflow.phase_completed";
constexpr std::string_view audit_topic = "audit.event_logged";
constexpr std::array<std::string_view, 5> topics = {availability_topic, audit_topic, policy_topic,
                                                    task_topic, phase_topic};  // sorted

// The broker publishes on it, and no one has its name.
constexpr bool is_own_topic(std::string_view name) {
  return std::ranges::find(topics, name) != topics.end();
}

// No one else publishes on it. On the other two agents tell each other how their work stands: who
// sent a message says whose word it is.
constexpr bool is_only_ours(std::string_view name) {
  return is_own_topic(name) && name != task_topic && name != phase_topic;
}

// What the broker says on it is for those concerned, and for those who look after the workspace:
// who works for whom is not for every subscriber to know (FL-09).
constexpr bool is_for_concerned(std::string_view name) {
  return name == task_topic || name == phase_topic || name == audit_topic;
}
// Whether a subscriber gets these news of the broker's. A task concerns who gave it and who got it,
// a pipeline its owner and its stages, an act who did it and to whom.
bool may_hear(const Tables& t, AgentRef subscriber, const OutboxItem& news);
// The same of what the topic retained. Whom it concerned is not known any more, so it is for those
// who look after the workspace. What agents say there is for all.
bool may_hear_retained(const Tables& t, AgentRef subscriber, const Message& message);

// `registered`, `online` with the first stream, `offline` without one, `unregistered`, or what the
// agent says of itself in a heartbeat.
void availability(Dispatch& dispatch, AgentRef agent, std::string_view status);

// The rules changed from `before` to what they are.
void policy(Dispatch& dispatch, const Rules& before, std::string_view by);

// A request that someone waits for: `assigned`, `retried`, `completed`, `partial`, `failed`,
// `declined`, `timed_out`. `by` is who answered; none: no one.
void task(Dispatch& dispatch, MessageRef request, std::string_view status, AgentRef by = none);
std::string_view task_status(Status status);
// The same of a task by its name: `assigned`, `in_progress`, `acknowledged`, and how it ended.
void task(Dispatch& dispatch, const Task& task, AgentRef by);

// The pipeline's stage was answered.
void phase(Dispatch& dispatch, const Pipeline& pipeline);

// What a person or the broker did that others may want to look into.
void audit(Dispatch& dispatch, std::string_view action, std::string_view by,
           std::string_view subject);

}  // namespace parley::core::broker_topics
