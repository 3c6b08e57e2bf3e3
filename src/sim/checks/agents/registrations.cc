// SPDX-License-Identifier: Apache-2.0
#include "sim/checks/agents/registrations.h"

#include <algorithm>
#include <utility>

#include "sim/model/topics.h"
#include "sim/text.h"

namespace parley::sim {

void RegistrationChecks::check(const Step& step) {
  check_broker_topics(step);
  learn(step);
}

void RegistrationChecks::learn(const Step& step) {
  if (const auto* command = done<core::Register>(step)) {
    const auto [at, is_new] = model_.principals.try_emplace(std::string(command->name));
    Principal& principal = at->second;
    principal.registered = is_new ? step.entry.seq : principal.registered;
    principal.kind = command->kind;
    principal.dialect = command->dialect;
    principal.role = command->role;
    // What an agent says that it can do is a claim, by which nothing is routed.
    const auto actor = model_.principals.find(std::string(step.entry.actor));
    if (step.entry.actor == core::broker_name ||
        (actor != model_.principals.end() && actor->second.kind == core::PrincipalKind::admin)) {
      principal.capabilities.assign(command->capabilities.begin(), command->capabilities.end());
    }
    learn_webhook(step, *command, principal);
    const NewListener listener = new_listener(step);
    principal.topics.insert(listener.topics.begin(), listener.topics.end());
  } else if (const auto* gone = done<core::Unregister>(step)) {
    model_.principals.erase(std::string(gone->name));
  } else if (const auto* subscribe = done<core::Subscribe>(step)) {
    model_.principals[subscriber_of(step, *subscribe)].topics.insert(plain_topic(subscribe->topic));
  } else if (const auto* unsubscribe = done<core::Unsubscribe>(step)) {
    model_.principals[subscriber_of(step, *unsubscribe)].topics.erase(
        plain_topic(unsubscribe->topic));
  } else if (const auto* rules = done<core::SetRules>(step)) {
    model_.rules = model_.rules_after(*rules);
  }
}

void RegistrationChecks::check_broker_topics(const Step& step) {
  const std::set<std::string> published = std::exchange(published_, {});
  const auto heard = [this](const std::string& topic) {
    return std::ranges::any_of(model_.principals, [&topic](const auto& item) {
      return listens(item.second.topics, topic);
    });
  };
  std::set<std::string> expected;
  if (const auto* rules = done<core::SetRules>(step)) {
    if (model_.rules_after(*rules) != model_.rules) {
      expected.insert("system.policy_updated");
    }
  } else if (const auto* command = done<core::Register>(step);
             command != nullptr && command->kind == core::PrincipalKind::agent &&
             !model_.is_registered(std::string(command->name))) {
    expected.insert("agent.availability_changed");
  }
  for (const std::string& topic : expected) {
    // While the outbox is half full the broker does not publish; a quarter is for who is there.
    const uint64_t part = topic == "agent.availability_changed" ? 4 : 2;
    const bool may_be_left_out =
        step.after.tables().outbox.size() >= step.after.tables().rules.errands_max / part;
    if (heard(topic) && !published.contains(topic) && !may_be_left_out) {
      model_.fail(Check::notice, step, "nothing is published on " + topic);
    }
  }
  // An agent that subscribes with this entry hears what comes of the messages that it got with it.
  std::set<std::string> added;
  if (const auto* command = done<core::Register>(step)) {
    for (const std::string_view topic : command->subscriptions) {
      added.emplace(core::topic_name(topic));
    }
  } else if (const auto* subscribe = done<core::Subscribe>(step)) {
    added.emplace(core::topic_name(subscribe->topic));
  }
  for (const std::string& topic : published) {
    model_.coverage.count("published", topic);
    if (!heard(topic) && !listens(added, topic)) {
      model_.fail(Check::notice, step, "published on " + topic + ", where no one listens");
    }
  }
}

// Without a URL there is no webhook. Without a new secret the former one stays; with a new one the
// former one is kept beside it.
void RegistrationChecks::learn_webhook(const Step& step, const core::Register& command,
                                       Principal& principal) {
  core::Webhook& known = principal.webhook;
  const bool has_secret = command.webhook_secret != core::WebhookSecret{};
  if (command.webhook.empty()) {
    known = {};
  } else if (known.url.empty() && !has_secret) {
    model_.fail(Check::webhook, step, text("{} has a webhook without a secret", command.name));
  } else {
    model_.coverage.count("webhook", has_secret ? "secret" : "moved");
    known.url = command.webhook;
    known.former = has_secret ? known.secret : known.former;
    known.secret = has_secret ? command.webhook_secret : known.secret;
    known.rotated = has_secret ? model_.now : known.rotated;
  }
  const core::Agents& agents = step.after.tables().agents;
  const core::AgentRef ref = agents.find(command.name);
  if (ref == core::none || agents[ref].webhook != known) {
    model_.fail(Check::webhook, step,
                text("{} has another webhook than it was given", command.name));
  }
}

}  // namespace parley::sim
