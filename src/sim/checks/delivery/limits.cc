// SPDX-License-Identifier: Apache-2.0
#include "sim/checks/delivery/limits.h"

#include <algorithm>
#include <utility>

#include "core/topics/broker_topics.h"
#include "sim/text.h"

namespace parley::sim {

void LimitChecks::check_counters(const Step& step) {
  const core::Tables& t = step.after.tables();
  Counted counted;
  count_messages(step, counted);
  for (size_t n = 0; n < core::Threads::standing_count; ++n) {
    for (core::ThreadRef ref = t.threads.first(static_cast<core::Threads::Standing>(n));
         ref != core::none; ref = t.threads.next(ref)) {
      for (const core::AgentRef participant : t.threads[ref].participants) {
        ++counted.uses[t.agents[participant].name];
      }
    }
  }
  size_t registered = 0;
  for (const core::AgentRef ref : t.agents.sorted()) {
    const core::Agent& agent = t.agents[ref];
    registered += agent.is_registered() ? 1 : 0;
    const uint64_t unsettled = counted.unsettled[agent.name];
    const uint64_t uses = counted.uses[agent.name];
    if (agent.inbox.unsettled + step.miscount != unsettled || agent.uses != uses ||
        t.messages.gates.outside_of(ref) != counted.outside[agent.name]) {
      model_.fail(Check::recount, step,
                  text("{} says {} unsettled and {} uses, has {} and {}", agent.name,
                       agent.inbox.unsettled, agent.uses, unsettled, uses));
    }
  }
  if (registered != t.agents.registered() || registered != model_.principals.size()) {
    model_.fail(Check::recount, step, "the number of principals is wrong");
  }
}

void LimitChecks::count_messages(const Step& step, Counted& counted) {
  const core::Tables& t = step.after.tables();
  std::map<Seq, uint32_t> letters;
  for (const auto& [id, letter] : t.dead_letters.all()) {
    letters[letter.message] += letter.is_open() ? 1 : 0;
  }
  t.messages.each([&](core::MessageRef ref, const core::Message& message) {
    uint32_t open = 0;
    uint32_t count = 0;
    ++counted.uses[t.agents[message.sender].name];
    if (message.reply_to != core::none) {
      ++counted.uses[t.agents[message.reply_to].name];
    }
    for (core::DeliveryRef d = message.deliveries; d != core::none;
         d = t.messages.delivery(d).sibling) {
      const core::Delivery& delivery = t.messages.delivery(d);
      const std::string_view receiver = t.agents[delivery.receiver].name;
      ++counted.uses[receiver];
      ++count;
      if (!core::is_final(delivery.state)) {
        ++open;
        ++counted.unsettled[receiver];
        counted.outside[receiver] += core::is_outside(delivery.gate) ? 1 : 0;
      }
      if (delivery.message != ref) {
        model_.fail(Check::recount, step, "a delivery is in another message's list");
      }
    }
    if (open != message.open || count != message.delivery_count) {
      model_.fail(Check::recount, step,
                  text("message {} says {} of {} open, has {} of {}", message.seq.n, message.open,
                       message.delivery_count, open, count));
    }
    if (letters[message.seq] != message.dead_letters) {
      model_.fail(Check::recount, step,
                  text("message {} says {} letters, has {}", message.seq.n, message.dead_letters,
                       letters[message.seq]));
    }
  });
}

void LimitChecks::check_sizes(const Step& step) {
  const core::Tables& t = step.after.tables();
  Sizes sizes;
  measure_agents(step, sizes);
  measure_topics(step, sizes);
  measure_sessions(step, sizes);
  sizes.dead_letters = t.dead_letters.size();
  sizes.streams = t.streams.size();
  sizes.agents = t.agents.registered();
  sizes.threads = t.threads.size();
  sizes.locks = t.locks.size();
  at_most("dead letters", sizes.dead_letters, model_.rules.dead_letters_max, sizes_.dead_letters);
  at_most("streams", sizes.streams, model_.rules.streams_max, sizes_.streams);
  at_most("principals", sizes.agents, model_.rules.agents_max, sizes_.agents);
  // The next message of a pipeline may bring its thread back.
  const auto* const send = done<core::Send>(step);
  const uint64_t stage = send != nullptr && send->outbox_item != 0 ? 1 : 0;
  at_most("threads", sizes.threads, model_.rules.threads_max + stage, sizes_.threads + stage);
  at_most("locks", sizes.locks, model_.rules.locks_max, sizes_.locks);
  at_most("remembered", t.remembered.shares().total(), model_.rules.settled_max, 0);
  queue_max_ = model_.rules.queue_max;
  model_.queue_sizes = sizes.queues;
  sizes_ = std::move(sizes);
}

void LimitChecks::measure_agents(const Step& step, Sizes& sizes) {
  const core::Tables& t = step.after.tables();
  // A full inbox takes one more: a message of the broker, an answer, or one that is tried and read
  // by its name.
  const auto* const send = done<core::Send>(step);
  const bool has_room = send != nullptr && (send->envelope.sender == core::broker_sender ||
                                            send->envelope.kind == core::Kind::response);
  const uint64_t places = std::max(model_.rules.queue_max, queue_max_);
  const uint64_t one_more = has_room || done<core::Read>(step) != nullptr ? 1 : 0;
  for (const core::AgentRef ref : t.agents.sorted()) {
    const core::Agent& agent = t.agents[ref];
    const std::string& name = agent.name;
    sizes.queues[name] = t.load_of(ref);
    sizes.subscriptions[name] = agent.subscriptions.size();
    sizes.throttled[name] = t.messages.gates.throttled_of(ref);
    sizes.tried[name] = t.messages.gates.outside_of(ref);
    at_most("throttled of " + name, sizes.throttled[name], model_.rules.flow_rate_throttled,
            sizes_.throttled[name]);
    at_most("inbox of " + name, sizes.queues[name], places + one_more,
            sizes_.queues[name] + one_more);
    at_most("tried for " + name, sizes.tried[name], places, sizes_.tried[name]);
    at_most("subscriptions of " + name, sizes.subscriptions[name],
            model_.rules.subscriptions_per_agent_max, sizes_.subscriptions[name]);
  }
}

void LimitChecks::measure_topics(const Step& step, Sizes& sizes) {
  const core::Tables& t = step.after.tables();
  size_t own_topics = 0;  // The broker has its own topics whatever the limit is.
  for (const auto& [name, ref] : t.topics.by_name()) {
    sizes.retained[name] = t.topics[ref].retained.size();
    own_topics += core::broker_topics::is_own_topic(name) ? 1 : 0;
    at_most("retained by " + name, sizes.retained[name], model_.rules.topic_retained_max,
            sizes_.retained[name]);
  }
  sizes.topics = std::max(t.topics.size() - own_topics, t.topics.wildcards().size());
  at_most("topics", sizes.topics, model_.rules.topics_max, sizes_.topics);
}

void LimitChecks::measure_sessions(const Step& step, Sizes& sizes) {
  const core::Tables& t = step.after.tables();
  sizes.sessions = t.sessions.size();
  at_most("sessions", sizes.sessions, model_.rules.sessions_max, sizes_.sessions);
  for (const auto& [began, session] : t.sessions.all()) {
    const core::AgentRef leader = t.agents.find(session.coordinator);
    if (!session.is_over() && leader != core::none &&
        t.agents[leader].kind == core::PrincipalKind::agent) {
      ++sizes.led[session.coordinator];
    }
  }
  for (const auto& [name, count] : sizes.led) {
    at_most("sessions of " + name, count, model_.rules.sessions_per_agent_max, sizes_.led[name]);
  }
}

void LimitChecks::at_most(std::string_view what, uint64_t size, uint64_t limit, uint64_t before) {
  if (size > std::max(limit, before)) {
    model_.verdict.fail(Check::limit, text("{}: {}, at most {}", what, size, limit));
  }
}

}  // namespace parley::sim
