// SPDX-License-Identifier: Apache-2.0
// Who listens to which topics.
#include "core/topics/subscription_acts.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/text.h"
#include "core/agents/hub.h"
#include "core/machine/context.h"
#include "core/model/refusal.h"
#include "core/topics/broker_topics.h"

namespace parley::core {

namespace {

using base::Code;

// What no topic that a message can be published on looks like: such a subscription would wait for
// ever. Empty where nothing is wrong.
std::string_view wrong_with_tokens(std::string_view name) {
  const std::string dotted = "." + std::string(name) + ".";
  if (dotted.find("..") != dotted.npos) {
    return "no token between the dots of a topic is empty";
  }
  for (size_t n = dotted.find_first_of("*>"); n != dotted.npos;
       n = dotted.find_first_of("*>", n + 1)) {
    if (dotted[n - 1] != '.' || dotted[n + 1] != '.') {
      return "`*` and `>` stand for whole tokens, with dots around them";
    }
  }
  return {};
}

// What is wrong with the name of a topic for one who wants to subscribe to it.
std::expected<void, std::string> check_topic(const Rules& rules, PrincipalKind kind,
                                             Dialect dialect, std::string_view name) {
  if (name.empty() || name.size() > rules.name_bytes_max) {
    return std::unexpected("a topic must be 1 to " + std::to_string(rules.name_bytes_max) +
                           " bytes (name_bytes_max)");
  }
  if (const std::string_view wrong = wrong_with_characters(name); !wrong.empty()) {
    return std::unexpected(std::string(wrong));
  }
  if (const std::string_view wrong = is_pattern(name) ? wrong_with_pattern(name) : "";
      !wrong.empty()) {
    return std::unexpected(std::string(wrong) + "; " + quoted(name) + " is not one");
  }
  if (const std::string_view wrong = wrong_with_tokens(name); !wrong.empty()) {
    return std::unexpected(std::string(wrong) + "; " + quoted(name) + " is no topic");
  }
  if (kind == PrincipalKind::agent && policy_of(dialect).has_domain_topics &&
      !is_domain_event(name)) {
    return std::unexpected("a topic is named domain.event_type, such as task.status_changed; " +
                           quoted(name) + " is not");
  }
  return {};
}

// What the topics that one of the patterns matches retain, oldest first; the newest of it. So that
// it takes no longer with more topics, patterns and messages, each is bounded: the topics with the
// newest messages are looked at first.
std::deque<MessageRef> retained_by(const Tables& t, std::span<const std::string_view> patterns) {
  constexpr size_t compared_max = 4'096;  // topics with patterns
  const size_t count_max = std::min<uint64_t>(t.rules.topic_retained_max, 1'000);
  std::map<Seq, MessageRef> newest;
  for (const TopicRef ref : t.topics.retaining(compared_max / patterns.size() + 1)) {
    const Topic& topic = t.topics[ref];
    const auto is_of_it = [&topic](std::string_view each) { return matches(each, topic.name); };
    if (std::ranges::none_of(patterns, is_of_it)) {
      continue;
    }
    for (auto message = topic.retained.rbegin(); message != topic.retained.rend(); ++message) {
      const Seq seq = t.messages.message(*message).seq;
      const bool is_full = newest.size() >= count_max;
      if (is_full && (newest.empty() || seq < newest.begin()->first)) {
        break;  // and all before it
      }
      newest.emplace(seq, *message);
      if (is_full) {
        newest.erase(newest.begin());
      }
    }
  }
  std::deque<MessageRef> messages;
  for (const auto& [seq, message] : newest) {
    messages.push_back(message);
  }
  return messages;
}

// Late subscribers get what is retained, but nothing twice and nothing that they said.
uint32_t deliver_retained(Context& context, std::deque<MessageRef> retained, AgentRef to) {
  Tables& t = context.t;
  uint32_t count = 0;
  for (const MessageRef ref : retained) {
    const Message& message = t.messages.message(ref);
    const bool in_time = message.time + t.rules.topic_retention > t.now && message.expires > t.now;
    if (in_time && message.sender != to && t.messages.delivery_to(ref, to) == none &&
        may_write_to(t, message.sender, to) &&
        broker_topics::may_hear_retained(t, to, message)) {
      count += context.dispatch.deliver(ref, to) ? 1 : 0;
    }
  }
  return count;
}

// Whose subscription it is. Agents manage their own; stewards, who own the topics, and admins
// manage those of others. These are fewer than `looks_after_workspace` names: a maintainer who is
// no steward sees subscriptions and does not change them.
std::expected<AgentRef, Error> subscriber(const ConstContext& context, std::string_view agent) {
  const Tables& t = context.t;
  if (agent.empty() || (context.actor != none && agent == t.agents[context.actor].name)) {
    if (context.actor == none) {
      return refuse(Code::forbidden, "only a registered principal can subscribe");
    }
    return context.actor;
  }
  if (!may_administer(context, Right::admin) && !t.agents.is_steward(context.actor)) {
    return refuse(Code::forbidden,
                  "only the orchestrator, who owns the topics, or an admin changes what others "
                  "subscribe to");
  }
  const AgentRef found = t.agents.find(agent);
  if (found == none || !t.agents[found].is_registered()) {
    return refuse(Code::not_found, "no principal is named " + quoted_start(agent), "/agent");
  }
  return found;
}

// All topics, or all patterns, together.
Checked check_room(const Tables& t, size_t had, size_t count, std::string_view field) {
  if (had + count <= t.rules.topics_max) {
    return {};
  }
  return refuse(Code::limit_reached,
                "the workspace has " + std::to_string(had) + " topics or patterns; " +
                    std::to_string(t.rules.topics_max) + " is all it may have of each (topics_max)",
                std::string(field));
}

// Of the patterns an agent holds those that it subscribes to.
Checked check_patterns(const Tables& t, const Agent* agent,
                       const std::set<std::string_view>& patterns, std::string_view field) {
  const auto is_new = [&t](std::string_view pattern) {
    return !t.topics.wildcards().by_pattern().contains(pattern);
  };
  const auto made = static_cast<size_t>(std::ranges::count_if(patterns, is_new));
  if (made == 0) {
    return {};
  }
  const auto had =
      agent == nullptr
          ? size_t{0}
          : static_cast<size_t>(std::ranges::count_if(
                agent->subscriptions, [](const std::string& name) { return is_pattern(name); }));
  if (had + made > share_of(t.rules, t.rules.topics_max)) {
    return refuse_share("you subscribe to " + std::to_string(had) + " patterns", "topics_max",
                        "unsubscribe from some", std::string(field));
  }
  return check_room(t, t.topics.wildcards().size(), made, field);
}

Checked check_subscribed(const Agent& agent, std::string_view topic) {
  const std::string_view name = topic_name(topic);
  if (!agent.subscriptions.contains(name)) {
    return refuse(Code::not_found, "there is no subscription to " + quoted_start(name));
  }
  return {};
}

}  // namespace

std::string_view wrong_with_characters(std::string_view topic) {
  return base::is_plain_name(topic)
             ? ""
             : "a topic has no control or invisible characters, no space at its ends, and no "
               "combining mark in front";
}

Checked check(const ConstContext& context, const Subscribe& command) {
  const auto who = subscriber(context, command.agent);
  if (!who) {
    return std::unexpected(who.error());
  }
  const Agent& agent = context.t.agents[*who];
  return check_topics(context.t, {*who, agent.kind, agent.dialect, agent.name}, {&command.topic, 1},
                      "/topic");
}

Outcome on(Context& context, const Subscribe& command) {
  Tables& t = context.t;
  const auto who = subscriber(context, command.agent);
  if (!who) {
    return std::unexpected(who.error());
  }
  const Agent& agent = t.agents[*who];
  const Listener listener{*who, agent.kind, agent.dialect, agent.name};
  if (auto good = check_topics(t, listener, {&command.topic, 1}, "/topic"); !good) {
    return std::unexpected(good.error());
  }
  const bool is_new = !agent.subscriptions.contains(topic_name(command.topic));
  const uint32_t count = subscribe(context, *who, {&command.topic, 1});
  if (is_new && *who != context.actor) {
    broker_topics::audit(context.dispatch, "subscribed", context.entry.actor, t.agents[*who].name);
  }
  return Receipt{.message = {}, .count = count};
}

Checked check_topics(const Tables& t, const Listener& listener,
                     std::span<const std::string_view> topics, std::string_view field) {
  std::set<std::string_view> added;
  std::set<std::string_view> made;
  std::set<std::string_view> made_patterns;
  const Agent* const agent = listener.agent == none ? nullptr : &t.agents[listener.agent];
  for (const std::string_view topic : topics) {
    const std::string_view name = topic_name(topic);
    if (auto good = check_topic(t.rules, listener.kind, listener.dialect, name); !good) {
      return refuse(Code::bad_request, std::move(good.error()), std::string(field));
    }
    if (agent != nullptr && agent->subscriptions.contains(name)) {
      continue;
    }
    added.insert(name);
    // Patterns are counted like topics, though by themselves.
    if (is_pattern(name)) {
      made_patterns.insert(name);
    } else if (t.topics.find(name) == none && !broker_topics::is_own_topic(name)) {
      made.insert(name);
    }
  }
  const size_t had = agent == nullptr ? 0 : agent->subscriptions.size();
  if (!added.empty() && had + added.size() > t.rules.subscriptions_per_agent_max) {
    return refuse(Code::limit_reached,
                  "an agent subscribes to at most " +
                      std::to_string(t.rules.subscriptions_per_agent_max) +
                      " topics (subscriptions_per_agent_max)",
                  std::string(field));
  }
  if (auto good = check_patterns(t, agent, made_patterns, field); !good) {
    return good;
  }
  return check_new_topics(t, listener.name, made.size(), field);
}

Checked check_new_topics(const Tables& t, std::string_view maker, size_t count,
                         std::string_view field) {
  if (count == 0) {
    return {};
  }
  const size_t had = t.topics.made_by(maker);
  if (had + count > share_of(t.rules, t.rules.topics_max)) {
    return refuse_share("you have made " + std::to_string(had) + " topics", "topics_max",
                        "use those, or wait until some are used no more", std::string(field));
  }
  return check_room(t, t.topics.size(), count, field);
}

uint32_t subscribe(Context& context, AgentRef agent, std::span<const std::string_view> topics) {
  Tables& t = context.t;
  uint32_t count = 0;
  std::vector<std::string_view> patterns;
  for (const std::string_view topic : topics) {
    const std::string_view name = topic_name(topic);
    if (!t.agents[agent].subscriptions.emplace(name).second) {
      continue;
    }
    if (is_pattern(name)) {
      t.topics.wildcards().subscribe(name, agent);
      patterns.push_back(name);
      continue;
    }
    const bool is_free = broker_topics::is_own_topic(name);
    const TopicRef ref = t.topics.intern(name, is_free ? std::string_view{} : t.agents[agent].name);
    t.topics.subscribe(ref, agent);
    count += deliver_retained(context, t.topics[ref].retained, agent);
  }
  return patterns.empty() ? count
                          : count + deliver_retained(context, retained_by(t, patterns), agent);
}

void unsubscribe(Tables& t, AgentRef agent, std::string_view name) {
  t.agents[agent].subscriptions.erase(std::string(name));
  if (is_pattern(name)) {
    t.topics.wildcards().unsubscribe(name, agent);
  } else {
    t.topics.unsubscribe(t.topics.find(name), agent);
  }
}

Checked check(const ConstContext& context, const Unsubscribe& command) {
  const auto who = subscriber(context, command.agent);
  return who ? check_subscribed(context.t.agents[*who], command.topic)
             : std::unexpected(who.error());
}

Outcome on(Context& context, const Unsubscribe& command) {
  Tables& t = context.t;
  const auto who = subscriber(context, command.agent);
  if (!who) {
    return std::unexpected(who.error());
  }
  if (auto good = check_subscribed(t.agents[*who], command.topic); !good) {
    return std::unexpected(good.error());
  }
  // What is in the inbox already stays there: it was accepted for this receiver.
  unsubscribe(t, *who, topic_name(command.topic));
  if (*who != context.actor) {
    broker_topics::audit(context.dispatch, "unsubscribed", context.entry.actor,
                         t.agents[*who].name);
  }
  return Receipt{};
}

}  // namespace parley::core
