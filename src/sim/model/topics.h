// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>
#include <string>
#include <string_view>

#include "sim/model/step.h"

// How names stand for topics, and who listens to them. Written anew and not taken from the core, so
// that a mistake there shows.
namespace parley::sim {

// Who begins to listen with a command, and to what. No name: no one does.
struct NewListener {
  std::string name;
  std::set<std::string> topics;
};
NewListener new_listener(const Step& step);

// The topic without the prefix `topic:`.
std::string plain_topic(std::string_view name);

// The topic that a name which no agent has stands for; empty when it is none. A topic has a dot in
// it or the prefix `topic:`.
std::string topic_in(std::string_view name);

// True when one of the subscriptions, which may have wildcards, covers the topic.
bool listens(const std::set<std::string>& subscriptions, const std::string& topic);

// True when what the broker says on the topic is not for every subscriber: it is about a task, a
// pipeline, or an act.
bool is_for_concerned(std::string_view topic);

// Whose subscription a Subscribe or an Unsubscribe is about.
template <class C>
std::string subscriber_of(const Step& step, const C& command) {
  return std::string(command.agent.empty() ? step.entry.actor : command.agent);
}

}  // namespace parley::sim
