// SPDX-License-Identifier: Apache-2.0
#include "sim/model/topics.h"

#include <algorithm>

namespace parley::sim {

namespace {

// Tokens with dots between them: `*` stands for any one of them, `>` for one or more.
bool covers(std::string_view pattern, std::string_view topic) {
  while (true) {
    const std::string_view token = pattern.substr(0, pattern.find('.'));
    const std::string_view found = topic.substr(0, topic.find('.'));
    if (token == ">") {
      return true;
    }
    if (token != "*" && token != found) {
      return false;
    }
    const bool ends = token.size() == pattern.size();
    if (ends || found.size() == topic.size()) {
      return ends && found.size() == topic.size();
    }
    pattern.remove_prefix(token.size() + 1);
    topic.remove_prefix(found.size() + 1);
  }
}

}  // namespace

NewListener new_listener(const Step& step) {
  NewListener listener;
  if (const auto* subscribe = std::get_if<core::Subscribe>(&step.entry.command)) {
    listener.name = subscriber_of(step, *subscribe);
    listener.topics.insert(plain_topic(subscribe->topic));
  } else if (const auto* add = std::get_if<core::Register>(&step.entry.command)) {
    listener.name = add->name;
    for (const std::string_view topic : add->subscriptions) {
      listener.topics.insert(plain_topic(topic));
    }
  }
  return listener;
}

std::string plain_topic(std::string_view name) {
  return std::string(name.starts_with("topic:") ? name.substr(6) : name);
}

std::string topic_in(std::string_view name) {
  if (name.starts_with("topic:")) {
    return plain_topic(name);
  }
  return name.find('.') == std::string_view::npos ? std::string{} : std::string(name);
}

bool listens(const std::set<std::string>& subscriptions, const std::string& topic) {
  return std::ranges::any_of(subscriptions,
                             [&](const std::string& pattern) { return covers(pattern, topic); });
}

bool is_for_concerned(std::string_view topic) {
  return topic == "task.status_changed" || topic == "workflow.phase_completed" ||
         topic == "audit.event_logged";
}

}  // namespace parley::sim
