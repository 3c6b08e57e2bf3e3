// SPDX-License-Identifier: Apache-2.0
#include "sim/checks/delivery/receivers.h"

#include <algorithm>

#include "sim/checks/agents/presence.h"
#include "sim/checks/groups/tasks.h"
#include "sim/checks/waiting/held.h"
#include "sim/model/topics.h"
#include "sim/text.h"

namespace parley::sim {

namespace {

bool can(const Principal& principal, const std::string& capability) {
  return std::ranges::find(principal.capabilities, capability) != principal.capabilities.end();
}

}  // namespace

std::vector<std::string> people_besides(const Model& model, const Step& step,
                                        const core::Envelope& e) {
  const bool is_for_agents = model.topic_of(e).empty() && e.receivers.front() != "*";
  const bool has_people = std::ranges::any_of(e.receivers, [&model](std::string_view name) {
    const auto at = model.principals.find(std::string(name));
    return at != model.principals.end() && at->second.kind != core::PrincipalKind::agent;
  });
  std::vector<std::string> names;
  if (e.kind != core::Kind::escalation || !is_for_agents || has_people) {
    return names;
  }
  const core::Agents& agents = step.after.tables().agents;
  for (const core::AgentRef ref :
       agents.maintainers().empty() ? agents.stewards() : agents.maintainers()) {
    names.push_back(agents[ref].name);
  }
  return names;
}

void ReceiverChecks::check_repeat(const Step& step, const core::Send& command) {
  const core::Envelope& e = command.envelope;
  const auto is_first = [&](const auto& item) {
    const SentMessage& sent = item.second;
    return sent.sender == e.sender &&
           (sent.id == e.id || (!sent.key.is_none() && sent.key == e.idempotency_key));
  };
  const bool known = std::ranges::any_of(model_.messages, is_first);
  if (step.outcome && step.outcome->duplicate) {
    const auto first = model_.messages.find(step.outcome->message);
    if (is_given_again(step, e)) {
      model_.coverage.count("task", "given again");
    } else if (first == model_.messages.end() || !is_first(*first)) {
      model_.fail(Check::duplicate, step,
                  text("told a duplicate of {}, which it is not", step.outcome->message.n));
    } else if (step.outcome->count != first->second.deliveries.size()) {
      model_.fail(Check::duplicate, step, "told another number of receivers than the first");
    }
    model_.coverage.count("case", "duplicate");
  } else if (step.outcome && known) {
    // Time passes first: the core may have forgotten the first one with this entry.
    const auto first = std::ranges::find_if(model_.messages, is_first);
    if (!first->second.is_final() ||
        step.after.tables().messages.find(first->first) != core::none) {
      model_.fail(Check::duplicate, step,
                  text("accepted again, though it is message {}", first->first.n));
    }
  } else if (!step.outcome && step.outcome.error().code == base::Code::duplicate_id && !known) {
    model_.fail(Check::duplicate, step, "refused as a repeated id, which it is not");
  }
}

void ReceiverChecks::accept(const Step& step, const core::Send& command) {
  const core::Envelope& e = command.envelope;
  SentMessage sent;
  sent.seq = step.entry.seq;
  sent.accepted = step.entry.time;
  sent.ttl = e.ttl.us > 0 ? e.ttl : core::default_ttl(model_.rules, e.dialect, e.priority);
  sent.expires = sent.ttl.us > 0 ? step.entry.time + sent.ttl : base::time_max;
  sent.expires_before = sent.expires;
  sent.begun = step.entry.time;
  sent.bytes = e.body.size();
  sent.id = e.id;
  sent.key = e.idempotency_key;
  sent.priority = e.priority;
  sent.sender = e.sender;
  sent.thread = e.thread;
  sent.kind = e.kind;
  sent.dialect = e.dialect;
  sent.asker = e.reply_to.empty() ? e.sender : e.reply_to;
  sent.approve_below = decided_below(e);
  sent.asks = core::asks(e.kind) && !e.thread.empty() && e.sender != core::broker_sender;
  const core::Duration timeout =
      e.response_timeout.us > 0 ? e.response_timeout
                                : core::default_timeout(model_.rules, e.dialect, e.kind, false);
  sent.waits_by_rule = command.gathering || !command.later_stages.empty() ||
                       command.outbox_item != 0 || timeout.us > 0;
  sent.memory_only = e.receivers == std::vector<std::string_view>{"*"} && !core::asks(e.kind) &&
                     e.durability == core::Durability::memory && !command.gathering &&
                     command.later_stages.empty() && command.outbox_item == 0 && !e.requires_ack;
  sent.life = step.entry.id.origin;
  sent.topic = e.receivers == std::vector<std::string_view>{"*"} ? "*" : model_.topic_of(e);
  sent.since = model_.now;
  sessions_.join(step, e, sent);
  if (step.outcome->message != step.entry.seq) {
    model_.fail(Check::duplicate, step, "a new message has the place of another");
  }
  model_.messages.emplace(sent.seq, std::move(sent));
}

// Every delivery in the tables that the model does not have is new: this command must have made it.
void ReceiverChecks::add_deliveries(const Step& step) {
  const core::Tables& t = step.after.tables();
  const NewListener listener = new_listener(step);
  uint32_t count = 0;
  t.messages.each_delivery([&](core::DeliveryRef ref, const core::Delivery& actual) {
    const core::Message& message = t.messages.message_of(ref);
    const std::string& receiver = t.agents[actual.receiver].name;
    const auto at = model_.messages.find(message.seq);
    if (at == model_.messages.end() || find_delivery(at->second, receiver) != nullptr) {
      return;  // DeliveryChecks::reconcile finds one without an accepted message.
    }
    const bool late =
        receiver == listener.name && at->second.topic != "*" && !at->second.topic.empty() &&
        listens(listener.topics, at->second.topic) && at->second.sender != receiver &&
        !at->second.was_held &&
        (at->second.sender != core::broker_sender || !is_for_concerned(at->second.topic) ||
         t.agents.looks_after_workspace(actual.receiver));
    if (message.seq != step.entry.seq && !late) {
      model_.fail(Check::receivers, step,
                  text("{} was not addressed to {}", message.seq.n, receiver));
    }
    Delivery delivery;
    delivery.receiver = receiver;
    delivery.made = step.entry.seq;
    delivery.paced = !late && step.entry.actor == at->second.sender &&
                     model_.is_paced(at->second.sender, at->second.priority);
    delivery.touched = step.entry.seq;
    at->second.deliveries.push_back(std::move(delivery));
    ++count;
  });
  // A message that ends quietly for all receivers may be forgotten in the same entry.
  const auto made = done<core::Send>(step) == nullptr ? model_.messages.end()
                                                      : model_.messages.find(step.entry.seq);
  for (const NamedEffect& effect : step.effects) {
    if (effect.kind == NamedEffect::Kind::settled && made != model_.messages.end() &&
        effect.message == made->first && t.messages.find(made->first) == core::none) {
      made->second.deliveries.push_back(
          {.receiver = effect.receiver, .made = step.entry.seq, .touched = step.entry.seq});
      ++count;
    }
  }
  if (!step.outcome->duplicate && step.outcome->count != count) {
    model_.fail(Check::receivers, step,
                text("told {} receivers, has {}", step.outcome->count, count));
  }
  if (!listener.topics.empty() && count > 0) {
    model_.coverage.count("case", "retained", count);
  }
}

void ReceiverChecks::check_receivers(const Step& step, const core::Send& command) {
  std::set<std::string> found;
  for (const Delivery& delivery : model_.messages.at(step.entry.seq).deliveries) {
    found.insert(delivery.receiver);
    if (command.outbox_item == 0 &&
        bypasses_hub(model_, std::string(command.envelope.sender), delivery.receiver)) {
      model_.fail(Check::receivers, step,
                  text("{} writes to {}, and not by way of an orchestrator",
                       command.envelope.sender, delivery.receiver));
    }
  }
  std::set<std::string> expected = receivers_of(command.envelope);
  keep_concerned(step, command, found, expected);
  add_people(step, command, expected);
  // A full inbox does not get what the broker publishes; nor one that is half full who is there.
  if (command.outbox_item != 0 && !model_.topic_of(command.envelope).empty()) {
    const bool is_who = model_.topic_of(command.envelope) == "agent.availability_changed";
    std::erase_if(expected, [&](const std::string& name) {
      const core::Agents& agents = step.after.tables().agents;
      return !found.contains(name) &&
             step.after.tables().load_of(agents.find(name)) * (is_who ? 2 : 1) >=
                 model_.rules.queue_max;
    });
  }
  if (command.envelope.durability == core::Durability::memory &&
      command.envelope.receivers.front() == "*") {
    std::erase_if(expected, [this](const std::string& name) { return model_.is_offline(name); });
  }
  redirect(step, command, found, expected);
  if (found != expected) {
    const auto list = [](const std::set<std::string>& names) {
      std::string all;
      for (const std::string& name : names) {
        all += (all.empty() ? "" : ", ") + name;
      }
      return all;
    };
    model_.fail(
        Check::receivers, step,
        text("is for {} receivers, wanted {}: {} ({}, wanted {})", found.size(), expected.size(),
             command.envelope.receivers.front(), list(found), list(expected)));
  }
}

// News of the broker's that are not for every subscriber: those concerned get them, and those who
// look after the workspace. The engine may have forgotten whom a request went to, or a pipeline
// that is over.
void ReceiverChecks::keep_concerned(const Step& step, const core::Send& command,
                                    const std::set<std::string>& found,
                                    std::set<std::string>& expected) {
  if (command.outbox_item == 0 || !is_for_concerned(model_.topic_of(command.envelope))) {
    return;
  }
  const auto news = model_.outbox.news.find(command.outbox_item);
  if (news == model_.outbox.news.end()) {
    // Owed and sent in one entry: nobody saw what it says.
    std::erase_if(expected, [&](const std::string& name) { return !found.contains(name); });
    return;
  }
  const core::Agents& agents = step.after.tables().agents;
  const auto request = model_.messages.find(news->second.about);
  std::erase_if(expected, [&](const std::string& name) {
    const bool by_name = request != model_.messages.end() &&
                         (request->second.topic.empty() || request->second.topic == "*");
    const bool was_asked = by_name && find_delivery(request->second, name) != nullptr;
    const bool is_stage = news->second.stages.contains(name);
    if (is_stage && model_.pipelines.contains(news->second.pipeline)) {
      return false;
    }
    return !news->second.concerned.contains(name) &&
           !agents.looks_after_workspace(agents.find(name)) &&
           !((was_asked || is_stage) && found.contains(name));
  });
  model_.coverage.count("case", "news for those concerned");
}

// Those that it names and that are there get it as well.
void ReceiverChecks::add_people(const Step& step, const core::Send& command,
                                std::set<std::string>& expected) const {
  const core::Envelope& e = command.envelope;
  if (e.kind != core::Kind::escalation || command.outbox_item != 0 ||
      !model_.topic_of(e).empty() || e.receivers.front() == "*") {
    return;
  }
  std::erase_if(expected, [this](const std::string& name) { return !model_.is_registered(name); });
  for (const std::string& name : people_besides(model_, step, e)) {
    expected.insert(name);
  }
}

std::set<std::string> ReceiverChecks::receivers_of(const core::Envelope& e) const {
  const std::string topic = model_.topic_of(e);
  std::set<std::string> names;
  if (!topic.empty()) {
    for (const auto& [name, principal] : model_.principals) {
      if (listens(principal.topics, topic) && name != e.sender) {
        names.insert(name);
      }
    }
    return names;
  }
  if (e.receivers.size() == 1 && e.receivers.front() == "*") {
    const auto session = model_.sessions.find(std::string(e.session));
    if (session != model_.sessions.end() && !session->second.over) {
      names = session->second.participants;
      names.erase(std::string(e.sender));
      return names;
    }
    for (const auto& [name, principal] : model_.principals) {
      if (principal.kind == core::PrincipalKind::agent && name != e.sender) {
        names.insert(name);
      }
    }
    return names;
  }
  names.insert(e.receivers.begin(), e.receivers.end());
  return names;
}

// Where another agent took the place of an expected receiver, it is expected instead.
void ReceiverChecks::redirect(const Step& step, const core::Send& command,
                              const std::set<std::string>& found, std::set<std::string>& expected) {
  if (!redirects(model_, command)) {
    return;
  }
  const core::Tables& t = step.after.tables();
  for (const std::string& name : std::set<std::string>(expected)) {
    if (!is_away_for(step, name)) {
      continue;
    }
    if (found.contains(name)) {
      for (const auto& [other, principal] : model_.principals) {
        if (!expected.contains(other) && !found.contains(other) &&
            !may_be_too_large(command.envelope.body.size()) &&
            may_stand_in(step, command, name, other) &&
            t.has_room(t.agents.find(other), t.agents.find(step.entry.actor))) {
          model_.fail(Check::receivers, step,
                      text("waits for {}, though {} is there", name, other));
        }
      }
      continue;
    }
    const auto other = std::ranges::find_if(found, [&](const std::string& one) {
      return !expected.contains(one) && may_stand_in(step, command, name, one);
    });
    if (other != found.end()) {
      expected.erase(name);
      expected.insert(*other);
      model_.coverage.count("case", "redirected");
    }
  }
}

// True when `other` may have the message in place of `named`: that one is away, and the other has
// the capabilities for it.
bool ReceiverChecks::may_stand_in(const Step& step, const core::Send& command,
                                  const std::string& named, const std::string& other) const {
  const auto away = model_.principals.find(named);
  const auto there = model_.principals.find(other);
  if (away == model_.principals.end() || there == model_.principals.end() || named == other ||
      !is_away_for(step, named) || is_away_for(step, other) ||
      there->second.kind != core::PrincipalKind::agent || there->second.role == "observer" ||
      other == command.envelope.sender ||
      bypasses_hub(model_, std::string(command.envelope.sender), other)) {
    return false;
  }
  const auto session = model_.sessions.find(std::string(command.envelope.session));
  if (session != model_.sessions.end() && !session->second.participants.contains(other)) {
    return false;
  }
  const std::string action(command.envelope.action);
  if (can(away->second, action)) {
    return can(there->second, action);
  }
  return !away->second.capabilities.empty() &&
         std::ranges::all_of(away->second.capabilities, [&](const std::string& capability) {
           return can(there->second, capability);
         });
}

// Whether it is away as far as the actor is concerned. An agent that did not answer in time is away
// before the command of the same entry is done.
bool ReceiverChecks::is_away_for(const Step& step, const std::string& name) const {
  const auto at = model_.principals.find(name);
  if (at == model_.principals.end() || model_.is_offline(name)) {
    return at != model_.principals.end();
  }
  Principal principal = at->second;
  for (const NamedEffect& effect : step.effects) {
    const auto request = model_.requests.find(effect.message);
    if (effect.kind == NamedEffect::Kind::timed_out && name != step.entry.actor &&
        request != model_.requests.end() && request->second.held.n == 0 &&
        !request->second.reported && model_.messages.contains(effect.message) &&
        model_.asked_alone(model_.messages.at(effect.message)) == name &&
        is_missed(model_, name, request->second)) {
      principal.miss(request->second.sender);
    }
  }
  return principal.unanswered &&
         (principal.missed_by.empty() || principal.missed_by == step.entry.actor);
}

bool bypasses_hub(const Model& model, const std::string& sender, const std::string& receiver) {
  const auto is_worker = [&model](const std::string& name) {
    const auto at = model.principals.find(name);
    return at != model.principals.end() && at->second.kind == core::PrincipalKind::agent &&
           at->second.dialect == core::Dialect::superprompt && at->second.role != "orchestrator";
  };
  return sender != receiver && is_worker(sender) && is_worker(receiver);
}

bool redirects(const Model& model, const core::Send& command) {
  const core::Envelope& e = command.envelope;
  const bool by_rules = command.on_unavailable == core::OnUnavailable::by_rules &&
                        e.dialect == core::Dialect::collab &&
                        model.rules.collab_on_unavailable == 1;
  return (command.on_unavailable == core::OnUnavailable::redirect || by_rules) &&
         e.kind != core::Kind::response && e.sender != core::broker_sender &&
         command.outbox_item == 0 && model.topic_of(e).empty() && e.receivers.front() != "*";
}

}  // namespace parley::sim
