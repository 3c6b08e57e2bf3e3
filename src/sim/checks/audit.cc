// SPDX-License-Identifier: Apache-2.0
// Limits and counters, after each entry.

#include <algorithm>
#include <ranges>
#include <utility>

#include "core/topics/broker_topics.h"
#include "sim/checks/ledger.h"
#include "sim/text.h"

namespace parley::sim {

void Ledger::audit(const Step& step) {
  check_streams(step);
  check_waiting(step);
  check_told(step);
  check_letters(step);
  recount(step);
  check_limits(step);
}

void Ledger::check_streams(const Step& step) {
  const core::Tables& t = step.after.tables();
  if (t.streams.size() != streams_.size()) {
    fail(Check::window, step,
         text("{} streams are open, told of {}", t.streams.size(), streams_.size()));
  }
  std::map<core::StreamId, uint32_t> held;
  std::map<core::StreamId, uint32_t> pushed;  // of these: what its client had before takes no room
  for (const auto& [seq, sent] : sent_) {
    for (const Pair& pair : sent.pairs) {
      if (core::is_held(pair.state) && pair.stream != core::stream_none) {
        ++held[pair.stream];
        pushed[pair.stream] += pair.mark.number == 0 ? 0 : 1;
      }
    }
  }
  for (const auto& [id, ref] : t.streams.by_id()) {
    const auto opened = streams_.find(id);
    if (opened == streams_.end() || t.agents[t.streams[ref].agent].name != opened->second.agent) {
      fail(Check::window, step, "a stream is open that no one opened");
      return;
    }
    if (held[id] != t.streams[ref].held) {
      fail(Check::recount, step, "a stream holds another number than it says");
    }
    if (pushed[id] > opened->second.window) {
      fail(Check::window, step,
           text("a stream with a window of {} pushed {}", opened->second.window, pushed[id]));
    }
    if (ended_.contains(id.origin)) {
      fail(Check::life, step, text("stream {}.{} is of a life that is over", id.origin, id.number));
    }
  }
}

void Ledger::check_letters(const Step& step) {
  const auto& all = step.after.tables().dead_letters.all();
  const bool same = std::ranges::equal(std::views::keys(all), std::views::keys(letters_));
  if (!same) {
    fail(Check::letter, step,
         text("{} dead letters are kept, told of {}", all.size(), letters_.size()));
    return;
  }
  for (const auto& [id, letter] : all) {
    const Letter& told = letters_.at(id);
    if (letter.message != told.message || letter.reason != told.reason ||
        letter.receiver != told.receiver) {
      fail(Check::letter, step, text("letter {} is not as it was told", id));
    }
  }
}

// What is owed is said once, and each letter is owed to its sender.
void Ledger::check_told(const Step& step) {
  if (const auto* send = done<core::Send>(step); send != nullptr && send->outbox_item != 0) {
    if (owed_.erase(send->outbox_item) == 0) {
      fail(Check::notice, step, text("errand {} is done twice", send->outbox_item));
    }
    coverage_.count("told", "notice");
  }
  // What the broker could not send is owed no more: what it was for has ended.
  if (const auto* send = std::get_if<core::Send>(&step.entry.command);
      send != nullptr && step.entry.actor == core::broker_name && step.is_here && !step.outcome &&
      owed_.erase(send->outbox_item) > 0) {
    coverage_.count("told", "refused");
  }
  if (const auto* gone = done<core::Unregister>(step)) {
    // What was to be said to it, and the next stage of a pipeline of its own.
    std::erase_if(owed_, [&](const auto& item) {
      return item.second == gone->name || step.after.tables().outbox.find(item.first) == nullptr;
    });
    letters_untold_.erase(std::string(gone->name));  // there is no one to tell
  }
  for (const auto& [sender, count] : std::exchange(letters_untold_, {})) {
    const int summed = summed_up(sender, core::OutboxKind::delivery_failed) +
                       summed_up(sender, core::OutboxKind::message_malformed);
    if (count != summed) {
      fail(Check::notice, step, text("{} letters of {} are not owed to it", count, sender));
    }
  }
  if (!std::ranges::equal(std::views::keys(step.after.tables().outbox.all()),
                          std::views::keys(owed_))) {
    fail(Check::notice, step,
         text("{} errands are kept, told of {}", step.after.tables().outbox.size(), owed_.size()));
  }
}

void Ledger::recount(const Step& step) {
  const core::Tables& t = step.after.tables();
  std::map<std::string_view, uint64_t> unsettled;
  std::map<std::string_view, uint64_t> outside;
  std::map<std::string_view, uint64_t> uses;
  std::map<Seq, uint32_t> letters;
  for (const auto& [id, letter] : t.dead_letters.all()) {
    letters[letter.message] += letter.is_open() ? 1 : 0;
  }
  t.messages.each([&](core::MessageRef ref, const core::Message& message) {
    uint32_t open = 0;
    uint32_t count = 0;
    ++uses[t.agents[message.sender].name];
    if (message.reply_to != core::none) {
      ++uses[t.agents[message.reply_to].name];
    }
    for (core::DeliveryRef d = message.deliveries; d != core::none;
         d = t.messages.delivery(d).sibling) {
      const core::Delivery& delivery = t.messages.delivery(d);
      const std::string_view receiver = t.agents[delivery.receiver].name;
      ++uses[receiver];
      ++count;
      if (!core::is_final(delivery.state)) {
        ++open;
        ++unsettled[receiver];
        outside[receiver] += core::is_outside(delivery.gate) ? 1 : 0;
      }
      if (delivery.message != ref) {
        fail(Check::recount, step, "a delivery is in another message's list");
      }
    }
    if (open != message.open || count != message.delivery_count) {
      fail(Check::recount, step,
           text("message {} says {} of {} open, has {} of {}", message.seq.n, message.open,
                message.delivery_count, open, count));
    }
    if (letters[message.seq] != message.dead_letters) {
      fail(Check::recount, step,
           text("message {} says {} letters, has {}", message.seq.n, message.dead_letters,
                letters[message.seq]));
    }
  });
  for (size_t n = 0; n < core::Threads::standing_count; ++n) {
    for (core::ThreadRef ref = t.threads.first(static_cast<core::Threads::Standing>(n));
         ref != core::none; ref = t.threads.next(ref)) {
      for (const core::AgentRef participant : t.threads[ref].participants) {
        ++uses[t.agents[participant].name];
      }
    }
  }
  size_t registered = 0;
  for (const core::AgentRef ref : t.agents.sorted()) {
    const core::Agent& agent = t.agents[ref];
    registered += agent.is_registered() ? 1 : 0;
    if (agent.inbox.unsettled + step.miscount != unsettled[agent.name] ||
        agent.uses != uses[agent.name] || t.messages.outside_of(ref) != outside[agent.name]) {
      fail(Check::recount, step,
           text("{} says {} unsettled and {} uses, has {} and {}", agent.name,
                agent.inbox.unsettled, agent.uses, unsettled[agent.name], uses[agent.name]));
    }
  }
  if (registered != t.agents.registered() || registered != members_.size()) {
    fail(Check::recount, step, "the number of principals is wrong");
  }
}

void Ledger::at_most(std::string_view what, uint64_t size, uint64_t limit, uint64_t before) {
  if (size > std::max(limit, before)) {
    verdict_.fail(Check::limit, text("{}: {}, at most {}", what, size, limit));
  }
}

void Ledger::check_limits(const Step& step) {
  const core::Tables& t = step.after.tables();
  Sizes sizes;
  // An inbox takes the broker's own when it is full, too, and what is tried and read by its name.
  const auto* send = done<core::Send>(step);
  const bool has_room = send != nullptr && (send->envelope.sender == core::broker_sender ||
                                            send->envelope.kind == core::Kind::response);
  const uint64_t broker_topics = has_room || done<core::Read>(step) != nullptr ? 1 : 0;
  for (const core::AgentRef ref : t.agents.sorted()) {
    const core::Agent& agent = t.agents[ref];
    sizes.queues[agent.name] = t.load_of(ref);
    sizes.subscriptions[agent.name] = agent.subscriptions.size();
    sizes.throttled[agent.name] = t.messages.throttled_of(ref);
    at_most("throttled of " + agent.name, sizes.throttled[agent.name], rules_.flow_rate_throttled,
            sizes_.throttled[agent.name]);
    at_most("inbox of " + agent.name, t.load_of(ref), rules_.queue_max + broker_topics,
            sizes_.queues[agent.name] + broker_topics);
    sizes.tried[agent.name] = t.messages.outside_of(ref);
    at_most("tried for " + agent.name, sizes.tried[agent.name], rules_.queue_max,
            sizes_.tried[agent.name]);
    at_most("subscriptions of " + agent.name, agent.subscriptions.size(),
            rules_.subscriptions_per_agent_max, sizes_.subscriptions[agent.name]);
  }
  size_t own_topics = 0;  // of the broker, which has them whatever the limit is
  for (const auto& [name, ref] : t.topics.by_name()) {
    sizes.retained[name] = t.topics[ref].retained.size();
    own_topics += core::broker_topics::is_own_topic(name) ? 1 : 0;
    at_most("retained by " + name, sizes.retained[name], rules_.topic_retained_max,
            sizes_.retained[name]);
  }
  sizes.letters = t.dead_letters.size();
  sizes.streams = t.streams.size();
  sizes.topics = std::max(t.topics.size() - own_topics, t.topics.wildcards().size());
  sizes.agents = t.agents.registered();
  sizes.threads = t.threads.size();
  sizes.sessions = t.sessions.size();
  sizes.locks = t.locks.size();
  at_most("dead letters", sizes.letters, rules_.dead_letters_max, sizes_.letters);
  at_most("streams", sizes.streams, rules_.streams_max, sizes_.streams);
  at_most("topics", sizes.topics, rules_.topics_max, sizes_.topics);
  at_most("principals", sizes.agents, rules_.agents_max, sizes_.agents);
  // The next message of a pipeline may bring its thread back.
  const uint64_t stage = send != nullptr && send->outbox_item != 0 ? 1 : 0;
  at_most("threads", sizes.threads, rules_.threads_max + stage, sizes_.threads + stage);
  at_most("sessions", sizes.sessions, rules_.sessions_max, sizes_.sessions);
  for (const auto& [began, session] : t.sessions.all()) {
    const core::AgentRef leader = t.agents.find(session.coordinator);
    if (!session.is_over() && leader != core::none &&
        t.agents[leader].kind == core::PrincipalKind::agent) {
      ++sizes.led[session.coordinator];
    }
  }
  for (const auto& [name, count] : sizes.led) {
    at_most("sessions of " + name, count, rules_.sessions_per_agent_max, sizes_.led[name]);
  }
  at_most("locks", sizes.locks, rules_.locks_max, sizes_.locks);
  at_most("remembered", t.messages.remembered().size(), rules_.settled_max, 0);
  sizes_ = std::move(sizes);
}

}  // namespace parley::sim
