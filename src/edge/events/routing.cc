// SPDX-License-Identifier: Apache-2.0
#include "edge/events/routing.h"

#include <algorithm>

#include "base/text.h"

namespace parley::edge::events {

namespace {

bool equal_ignoring_case(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b,
                            [](char x, char y) { return base::to_lower(x) == base::to_lower(y); });
}

bool fits_repository(std::string_view wanted, std::string_view repository) {
  if (!wanted.ends_with("/*")) {
    return equal_ignoring_case(wanted, repository);
  }
  const std::string_view owner = wanted.substr(0, wanted.size() - 1);
  return repository.size() > owner.size() &&
         equal_ignoring_case(owner, repository.substr(0, owner.size()));
}

bool fits_command(std::string_view wanted, const Event& event) {
  return std::ranges::any_of(event.commands, [&](const std::string& command) {
    return wanted == "*" || equal_ignoring_case(wanted, command_word(command));
  });
}

bool fits(const EventRoute& route, const Event& event) {
  const auto& authors = route.author_association;
  return (route.event.empty() || route.event == event.type) &&
         (route.repository.empty() || fits_repository(route.repository, event.repository)) &&
         (authors.empty() ||
          std::ranges::find(authors, event.user.author_association) != authors.end()) &&
         (route.command.empty() || fits_command(route.command, event)) &&
         (route.label.empty() || std::ranges::any_of(event.content.labels, [&](const auto& label) {
            return equal_ignoring_case(route.label, label);
          }));
}

// A command of somebody who may change the repository.
EventRoute command_route(std::string_view command, std::string_view worker) {
  return {.event = std::string(comment_created),
          .command = std::string(command),
          .author_association = {"OWNER", "MEMBER", "COLLABORATOR"},
          .terms = {.worker = std::string(worker), .priority = "high"}};
}

EventRoute label_route(std::string_view label, std::string_view worker) {
  return {.event = std::string(issue_opened),
          .label = std::string(label),
          .terms = {.worker = std::string(worker)}};
}

}  // namespace

const std::vector<EventRoute>& default_routes() {
  static const std::vector<EventRoute> routes = {
      command_route("triage", "triage"),
      command_route("review", "lifecycle"),
      command_route("summarize", "scribe"),
      command_route("document", "scribe"),
      {.event = std::string(comment_created), .command = "*", .terms = {.worker = "concierge"}},
      {.event = std::string(comment_created), .terms = {.worker = "community", .priority = "low"}},
      label_route("documentation", "scribe"),
      label_route("question", "concierge"),
      {.event = std::string(issue_opened), .terms = {.worker = "triage"}},
      {.event = std::string(pull_request_opened),
       .author_association = {"FIRST_TIME_CONTRIBUTOR", "FIRST_TIMER"},
       .terms = {.worker = "concierge"}},
      {.event = std::string(pull_request_opened), .terms = {.worker = "lifecycle"}},
  };
  return routes;
}

const EventRoute* find_route(std::span<const EventRoute> routes, const Event& event) {
  const auto found =
      std::ranges::find_if(routes, [&](const EventRoute& route) { return fits(route, event); });
  return found == routes.end() ? nullptr : &*found;
}

std::string conditions_of(const EventRoute& route) {
  std::string words = route.event.empty() ? "any event" : route.event;
  const auto add = [&](std::string_view what, const std::string& value) {
    if (!value.empty()) {
      words.append(", ").append(what).append(" ").append(value);
    }
  };
  add("label", route.label);
  add("command", route.command);
  std::string authors;
  for (const std::string& author : route.author_association) {
    authors.append(authors.empty() ? "" : " or ").append(author);
  }
  add("author", authors);
  add("repository", route.repository);
  return words;
}

}  // namespace parley::edge::events
