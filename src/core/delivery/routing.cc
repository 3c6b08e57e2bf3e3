// SPDX-License-Identifier: Apache-2.0
// Who gets a message, and the way to them.
#include "core/delivery/routing.h"

#include <algorithm>
#include <set>

#include "core/agents/authority.h"
#include "core/dead_letters/dead_letter_acts.h"
#include "core/delivery/redelivery.h"
#include "core/limits/backpressure_acts.h"
#include "core/limits/rate_limit.h"
#include "core/limits/size_limit.h"
#include "core/model/refusal.h"
#include "core/topics/broker_topics.h"
#include "core/topics/retention.h"
#include "core/topics/subscription_acts.h"

namespace parley::core {

namespace {

using base::Code;

// `domain.event_type`, or collab's `topic:NAME`.
bool is_topic_name(std::string_view name) {
  return name.starts_with("topic:") || name.find('.') != std::string_view::npos;
}

// Whether the sender says that it means a topic, even where an agent has the name.
bool says_topic(const Envelope& e, std::string_view name) {
  return name.starts_with("topic:") || (e.kind == Kind::broadcast && is_topic_name(name));
}

// An escalation is for people: where it names none that there is, it goes to those who maintain the
// workspace (SQ-07).
void add_people(const Tables& t, Route& route) {
  constexpr size_t people_max = 16;
  if (std::ranges::any_of(route.agents, [&t](AgentRef ref) { return t.agents[ref].is_person(); })) {
    return;
  }
  std::vector<AgentRef> people = t.agents.maintainers();
  people = people.empty() ? t.agents.stewards() : people;
  people.resize(std::min(people.size(), people_max));
  for (const AgentRef ref : people) {
    if (std::ranges::find(route.agents, ref) == route.agents.end()) {
      route.agents.push_back(ref);
    }
  }
}

}  // namespace

std::vector<std::string> Route::people(const Tables& t) const {
  std::vector<std::string> names;
  for (const AgentRef ref : agents) {
    if (t.agents[ref].is_person()) {
      names.push_back(t.agents[ref].name);
    }
  }
  return names;
}

std::unexpected<Error> refuse_full(const Tables& t, AgentRef receiver, AgentRef sender) {
  const std::string inbox = "the inbox of " + quoted(t.agents[receiver].name);
  const std::string max = std::to_string(t.rules.queue_max);
  if (t.load_of(receiver) >= t.rules.queue_max) {
    return refuse(
        Code::queue_full,
        inbox + " is full (" + max + "); send again when it has settled some, or raise queue_max");
  }
  return refuse(Code::queue_full,
                inbox + " is nearly full (" + std::to_string(t.load_of(receiver)) + " of " + max +
                    "), and " + std::to_string(t.has_there(receiver, sender)) +
                    " of it is from this sender; the rest is for others (share_percent of "
                    "queue_max). Send again when it has settled some");
}

void deliver_to_route(Context& context, const Route& route, MessageRef message) {
  Tables& t = context.t;
  std::vector<AgentRef> receivers = route.agents;
  if (!route.topic.empty()) {
    const bool is_free = context.actor == none || broker_topics::is_own_topic(route.topic);
    const TopicRef topic =
        t.topics.intern(route.topic, is_free ? std::string_view{} : t.agents[context.actor].name);
    t.messages.message(message).topic = topic;
    t.topics.use(topic);
    if (!t.holds.contains(t.messages.message(message).seq,
                          none)) {  // late subscribers do not get it
      retain(context.dispatch, message);
    }
    receivers = t.topics.listeners(route.topic);
    if (route.news != nullptr) {
      std::erase_if(receivers, [&](AgentRef subscriber) {
        return !broker_topics::may_hear(t, subscriber, *route.news);
      });
    }
  }
  for (const std::string_view name : route.unknown) {
    receivers.push_back(t.agents.intern(name));
  }
  t.messages.message(message).refused =
      route.is_one() && !route.absent.empty() &&
      !will_be_retried(t, t.messages.message(message).dialect, route.absent.front());
  const bool fan_out = route.everyone || !route.topic.empty();
  // One passage for all receivers: the sender's limit is paid once.
  Passage passage = context.actor == none ? Passage{} : enter_limits(t, message);
  passage.is_answer = context.answers;
  const std::set<AgentRef> absent(route.absent.begin(), route.absent.end());
  context.dispatch.begin_fan_out(message);
  for (const AgentRef receiver : receivers) {
    if (!absent.empty() && absent.contains(receiver)) {
      context.dispatch.deliver_if_there(message, receiver);
    } else if (!fan_out || receiver != context.actor) {
      context.dispatch.deliver(message, receiver, passage);
    }
  }
  for (const auto& [stand_in, away] : route.redirected) {
    t.messages.notes.set_redirected_from(t.messages.delivery_to(message, stand_in),
                                         t.agents[away].name);
  }
  if (passage.is_paced) {
    signal_backpressure(context.dispatch, message, passage.relief);
  }
  context.dispatch.end_fan_out(message);
}

std::expected<Route, Error> find_route(const ConstContext& context, const Envelope& e) {
  const Tables& t = context.t;
  Route route;
  std::set<std::string_view> named;  // a list may have a thousand names
  for (const std::string_view name : e.receivers) {
    if (e.receivers.size() > 1 && !named.insert(name).second) {
      continue;
    }
    if (is_wildcard(name)) {
      if (auto good = route_wildcard(context, e, name, route); !good) {
        return std::unexpected(good.error());
      }
      continue;
    }
    const AgentRef agent = t.agents.find(name);
    if (agent != none && t.agents[agent].is_registered() && !says_topic(e, name)) {
      route.agents.push_back(agent);
    } else if (name == "*" || is_topic_name(name)) {
      if (e.receivers.size() > 1) {
        return refuse(Code::bad_request, "a topic or \"*\" is a message's only receiver",
                      "/receiver");
      }
      route.everyone = name == "*";
      route.topic = name == "*" ? std::string_view{} : topic_name(name);
      if (is_pattern(route.topic)) {
        return refuse(Code::bad_request,
                      "a message is published on one topic; \"*\" and \">\" in a name are for "
                      "those who subscribe",
                      "/receiver");
      }
    } else if (e.kind != Kind::escalation || context.actor == none) {
      route.unknown.push_back(name);
      // Before the rest of a long list is looked up.
      if (auto good = check_letter_share(context, route.unknown.size()); !good) {
        return std::unexpected(good.error());
      }
    }
  }
  if (e.kind == Kind::escalation && context.actor != none && route.topic.empty()) {
    add_people(t, route);
  }
  if (route.everyone) {
    route.agents = t.agents.sorted();
    // What is kept in memory only is for who is there.
    const bool all = e.durability == Durability::disk;
    std::erase_if(route.agents, [&t, all](AgentRef ref) {
      const Agent& agent = t.agents[ref];
      return agent.kind != PrincipalKind::agent || (!all && agent.is_offline());
    });
  }
  // The broker's own topics are few, and what it owes is always taken.
  if (!route.topic.empty() && t.topics.find(route.topic) == none && context.actor != none &&
      !broker_topics::is_own_topic(route.topic)) {
    // Also a pattern would bring it to who takes it for another.
    if (const std::string_view wrong = wrong_with_characters(route.topic); !wrong.empty()) {
      return refuse(Code::bad_request, std::string(wrong), "/receiver");
    }
    if (auto good = check_new_topics(t, t.agents[context.actor].name, 1, "/receiver"); !good) {
      return std::unexpected(good.error());
    }
  }
  if (context.actor != none && route.is_one() && e.priority != Priority::critical &&
      !context.answers && !t.has_room(route.agents.front(), context.actor) &&
      !will_be_retried(t, e.dialect, route.agents.front())) {
    return refuse_full(t, route.agents.front(), context.actor);
  }
  return route;
}

std::expected<void, Error> check_receivers(const ConstContext& context, const Envelope& e,
                                           const Route& route) {
  const Tables& t = context.t;
  if (route.everyone || (context.actor == none && e.sender == broker_sender)) {
    return {};
  }
  const MessageSizes sizes = sizes_of(e);
  for (const AgentRef ref : route.agents) {
    const Agent& receiver = t.agents[ref];
    if (std::string fault = size_fault(t.rules, receiver, e.dialect, sizes); !fault.empty()) {
      return refuse(Code::payload_too_large, std::move(fault),
                    policy_of(receiver.dialect).size_of == SizeOf::content ? "/body" : "/receiver");
    }
  }
  return {};
}

}  // namespace parley::core
