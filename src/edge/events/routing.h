// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "edge/events/event.h"

namespace parley::edge::events {

// What a delegation asks of its worker.
struct TaskTerms {
  std::string worker;
  std::string priority = "medium";  // high, medium or low
  base::Duration timeout = base::minutes(5);
  bool requires_hitl = false;
  double confidence_threshold = 0.95;

  bool operator==(const TaskTerms&) const = default;
};

// One row of the routing table. What is empty fits every event.
struct EventRoute {
  std::string event{};                            // `issues.opened`
  std::string label{};                            // one of the event's; case does not matter
  std::string command{};                          // the word behind `/agent `; `*`: any
  std::vector<std::string> author_association{};  // one of these
  std::string repository{};                       // `owner/name`, or `owner/*`
  TaskTerms terms{};

  bool operator==(const EventRoute&) const = default;
};

// The table that is used where the configuration has none.
const std::vector<EventRoute>& default_routes();

// The first route that fits; null when none does.
const EventRoute* find_route(std::span<const EventRoute> routes, const Event& event);

// What the route asks of an event, in words: `issues.opened, label "bug"`.
std::string conditions_of(const EventRoute& route);

}  // namespace parley::edge::events
