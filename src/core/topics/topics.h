// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/messages/messages.h"
#include "core/state/shares.h"
#include "core/topics/wildcards.h"

namespace parley::core {

// The topic that a name stands for: collab writes `topic:X` for X.
constexpr std::string_view topic_name(std::string_view name) {
  constexpr std::string_view prefix = "topic:";
  return name.starts_with(prefix) ? name.substr(prefix.size()) : name;
}

// `domain.event_type`, or a pattern of such names: what a flow agent can subscribe to.
constexpr bool is_domain_event(std::string_view topic) {
  if (topic == ">") {
    return true;
  }
  const size_t dot = topic.find('.');
  return dot != std::string_view::npos && dot > 0 && topic.back() != '.';
}

// A named channel with many readers. It exists while someone subscribes to it, it keeps a message
// for late subscribers, or a message names it.
struct Topic {
  std::string name;
  std::string maker;  // who published or subscribed first; empty: it counts in nobody's share
  std::vector<AgentRef> subscribers;  // in the order they subscribed
  std::deque<MessageRef> retained;    // oldest first
  Time published;                     // when the newest message came; 0: none since it exists
  uint64_t uses = 0;                  // messages that name it

  static void fields(auto& self, auto& field) {
    field("name", self.name);
    field("maker", self.maker);
    field("published", self.published);
    field("subscribers", self.subscribers, SlotOf::agent);
  }
};

// The topics of a workspace and what they retain. Retention has one length for all, so each
// topic's oldest message is its first to go.
class Topics {
 public:
  Topic& operator[](TopicRef ref) { return topics_[ref]; }
  const Topic& operator[](TopicRef ref) const { return topics_[ref]; }

  TopicRef find(std::string_view name) const;
  // The one with this name, made by `maker` where there was none.
  TopicRef intern(std::string_view name, std::string_view maker = {});
  // How many there are that it made.
  size_t made_by(std::string_view maker) const { return makers_.of(maker); }

  void use(TopicRef ref) { ++topics_[ref].uses; }
  void release(TopicRef ref);

  void subscribe(TopicRef ref, AgentRef agent);
  void unsubscribe(TopicRef ref, AgentRef agent);
  // Who gets what is published there, by the name or by a pattern: each once, in an order that does
  // not depend on slots.
  std::vector<AgentRef> listeners(std::string_view name) const;
  bool is_heard(std::string_view name) const;
  Wildcards& wildcards() { return wildcards_; }
  const Wildcards& wildcards() const { return wildcards_; }

  void retain(const Messages& messages, TopicRef ref, MessageRef message);
  // The topic with the oldest retained message of all; none when nothing is retained.
  TopicRef oldest() const;
  Time oldest_time() const;
  // Topics that retain something, at most `count_max`. Those whose oldest retained message is
  // newest come first.
  std::vector<TopicRef> retaining(size_t count_max) const;
  // Takes the topic's oldest message out and returns it.
  MessageRef pop(const Messages& messages, TopicRef ref);

  // All, by name.
  const std::map<std::string, TopicRef, std::less<>>& by_name() const { return by_name_; }
  size_t size() const { return topics_.size(); }

 private:
  // A topic's place by its oldest message: the time decides, the seq makes it unique.
  struct Front {
    Time time;
    Seq seq;
    TopicRef topic;

    bool operator<(const Front& other) const {
      return time != other.time ? time < other.time : seq < other.seq;
    }
  };

  Front front_of(const Messages& messages, TopicRef ref) const;
  void free(TopicRef ref);

  Slots<Topic> topics_;
  std::map<std::string, TopicRef, std::less<>> by_name_;
  std::set<Front> fronts_;
  Shares makers_;
  Wildcards wildcards_;
};

}  // namespace parley::core
