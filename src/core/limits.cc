// SPDX-License-Identifier: Apache-2.0
// What a sender may not exceed: rate limits, circuit breakers of receivers, runaway guards.
#include <algorithm>

#include "core/refusal.h"
#include "core/workspace.h"

namespace parley::core {

namespace {

using base::Code;

std::unexpected<Error> refuse(Code code, std::string detail, Duration retry_after) {
  return std::unexpected(Error{code, std::move(detail), {}, retry_after});
}

// The circuit breaker is one of flow's rules, as the rates are.
bool is_flow_agent(const Agent& agent) {
  return agent.kind == PrincipalKind::agent && agent.dialect == Dialect::flow;
}

}  // namespace

// What waits for its sender's limits is bounded, too. A critical message waits for none.
std::expected<void, Error> Workspace::check_pace(Turn& turn, const Envelope& e) {
  const uint64_t waiting = t_.messages.throttled_of(turn.actor);
  if (waiting < t_.rules.flow_rate_throttled || e.priority == Priority::critical ||
      !is_flow_agent(t_.agents[turn.actor])) {
    return {};
  }
  turn.dispatch.signal_overload(turn.actor);
  return refuse(Code::overloaded,
                std::to_string(waiting) +
                    " of your messages wait for your rate limits, and no more may "
                    "(flow.rate.throttled_max); send again when some have gone, or ask an admin to "
                    "raise flow.rate",
                t_.messages.passing_of(turn.actor, t_.now).first - t_.now);
}

std::expected<void, Error> Workspace::check_breaker(const Turn& turn, const Envelope& e,
                                                    const Route& route) const {
  if (!route.is_one() || e.priority == Priority::critical || turn.answers ||
      !is_flow_agent(t_.agents[turn.actor])) {
    return {};
  }
  const Agent& receiver = t_.agents[route.agents.front()];
  const Breaker& breaker = receiver.breaker;
  const Duration wait = breaker.refuses(t_.now, t_.rules.breaker_pause);
  if (wait.us == 0) {
    return {};
  }
  const bool failing = breaker.reason() == Breaker::Reason::failures;
  return refuse(Code::circuit_open,
                "the circuit breaker of " + quoted(receiver.name) + " is " +
                    (breaker.raw_state() == Breaker::State::open ? "open since "
                                                                 : "testing it since ") +
                    base::format_time(breaker.since()) + ": " +
                    (failing ? std::to_string(breaker.failures()) +
                                   " deliveries in a row have failed (breaker.failures_max)"
                             : "its inbox was nearly full (breaker.queue_percent)") +
                    "; a critical message passes, and an admin can reset it",
                wait);
}

// What an agent sends in a day, and what it says that its model used.
std::expected<void, Error> Workspace::check_budget(const Agent& sender) const {
  const Budget today = sender.budget.on(t_.now);
  const Duration rest = Budget::day_ends(t_.now) - t_.now;
  const std::string who = "; an admin can raise it or reset the agent";
  if (t_.rules.guard_messages > 0 && today.messages >= t_.rules.guard_messages) {
    return refuse(Code::budget_exceeded,
                  "you have sent " + std::to_string(today.messages) + " messages today; " +
                      std::to_string(t_.rules.guard_messages) +
                      " are allowed in a day (guard.messages_per_day)" + who,
                  rest);
  }
  if (t_.rules.guard_tokens > 0 && today.tokens >= t_.rules.guard_tokens) {
    return refuse(Code::budget_exceeded,
                  "you have reported " + std::to_string(today.tokens) + " tokens today; " +
                      std::to_string(t_.rules.guard_tokens) +
                      " are allowed in a day (guard.tokens_per_day)" + who,
                  rest);
  }
  return {};
}

std::expected<void, Error> Workspace::check_fan_out(const Agent& sender, uint64_t count) const {
  const uint64_t per_min = t_.rules.guard_fan_out;
  if (per_min == 0) {
    return {};
  }
  const Duration used = sender.fan_out.used(t_.now);
  const Duration cost = cost_of(count, per_min);
  if (used.us + cost.us <= Bucket::minute.us) {
    return {};
  }
  if (count > per_min) {  // no time to wait helps
    return refuse(Code::fan_out_limit,
                  "this message goes to " + std::to_string(count) + " receivers, and " +
                      std::to_string(per_min) +
                      " deliveries are allowed in a minute (guard.fan_out_per_min), so it can "
                      "never pass; send it to fewer at a time, or ask an admin to raise the limit");
  }
  const auto caused = static_cast<uint64_t>(used.us) * per_min /
                      static_cast<uint64_t>(Bucket::minute.us);
  return refuse(Code::fan_out_limit,
                "this message goes to " + std::to_string(count) + " receivers, and yours have "
                    "caused " + std::to_string(caused) + " deliveries of the " +
                    std::to_string(per_min) +
                    " that are allowed in a minute (guard.fan_out_per_min); an admin can raise it",
                Duration{used.us + cost.us - Bucket::minute.us});
}

std::expected<void, Error> Workspace::check_rally(const Turn& turn, const Envelope& e,
                                                  const Route& route,
                                                  std::array<Rally, 2>& rallies) const {
  const std::array<std::string_view, 2> conversations = {e.thread, e.correlation};
  const Agent& receiver = t_.agents[route.agents.front()];
  const uint64_t from = Rallies::name_of(t_.agents[turn.actor].name);
  const uint64_t to = Rallies::name_of(receiver.name);
  for (size_t n = 0; n < conversations.size(); ++n) {
    if (conversations[n].empty()) {
      continue;
    }
    rallies[n] = t_.rallies.with(Rallies::key_of(conversations[n]), from, to, t_.now,
                                 t_.rules.guard_ping_pong_window);
    if (rallies[n].turns > t_.rules.guard_ping_pong && !turn.answers) {
      return refuse(Code::ping_pong,
                    "you and " + quoted(receiver.name) + " have answered each other " +
                        std::to_string(t_.rules.guard_ping_pong) + " times since " +
                        base::format_time(rallies[n].since) + " in the " +
                        (n == 0 ? "conversation " : "conversations linked by ") +
                        quoted(conversations[n].substr(0, 64)) +
                        ", and nobody else has spoken (guard.ping_pong_max); a message of a person "
                        "or of another agent in it lets you go on, or an admin resets one of you",
                    rallies[n].since + t_.rules.guard_ping_pong_window - t_.now);
    }
  }
  return {};
}

uint64_t Workspace::count_receivers(const Turn& turn, const Route& route) const {
  const TopicRef topic = route.topic.empty() ? none : t_.topics.find(route.topic);
  const std::vector<AgentRef>& agents = topic == none ? route.agents : t_.topics[topic].subscribers;
  const bool fan_out = route.everyone || !route.topic.empty();
  const bool to_self = fan_out && std::ranges::find(agents, turn.actor) != agents.end();
  return agents.size() + route.unknown.size() - (to_self ? 1 : 0);
}

// The last thing that can refuse a message. What a node sends for the broker is free.
std::expected<void, Error> Workspace::admit(Turn& turn, const Send& command, const Route& route) {
  if (turn.actor == none) {
    return {};
  }
  if (auto good = check_pace(turn, command.envelope); !good) {
    return good;
  }
  if (auto good = check_breaker(turn, command.envelope, route); !good) {
    return good;
  }
  return guard(turn, command, route);
}

// Refuses what has run away; else counts it.
std::expected<void, Error> Workspace::guard(Turn& turn, const Send& command, const Route& route) {
  const Envelope& e = command.envelope;
  Agent& sender = t_.agents[turn.actor];
  if (sender.kind != PrincipalKind::agent) {
    if (t_.rallies.size() > 0) {  // a person has the word
      t_.rallies.end(Rallies::key_of(e.thread));
      t_.rallies.end(Rallies::key_of(e.correlation));
    }
    return {};
  }
  if (auto good = check_budget(sender); !good) {
    return good;
  }
  const uint64_t count = count_receivers(turn, route);
  if (auto good = check_fan_out(sender, count); !good) {
    return good;
  }
  std::array<Rally, 2> rallies{};
  const bool is_rally = t_.rules.guard_ping_pong > 0 && route.is_one() &&
                        route.agents.front() != turn.actor &&
                        t_.agents[route.agents.front()].kind == PrincipalKind::agent;
  if (is_rally) {
    if (auto good = check_rally(turn, e, route, rallies); !good) {
      return good;
    }
  }
  if (route.is_one() && e.priority != Priority::critical && is_flow_agent(sender)) {
    t_.agents[route.agents.front()].breaker.admitted(t_.now);
  }
  sender.budget.turn(t_.now);
  ++sender.budget.messages;
  sender.budget.tokens = base::saturating_sum(sender.budget.tokens, command.tokens);
  if (t_.rules.guard_fan_out > 0) {
    (void)sender.fan_out.take(t_.now, cost_of(count, t_.rules.guard_fan_out));
  }
  for (const Rally& rally : rallies) {
    if (rally.key != 0) {
      t_.rallies.put(rally, t_.now, t_.rules.guard_ping_pong_window,
                     t_.rules.guard_conversations);
    }
  }
  return {};
}

Outcome Workspace::on(Turn& turn, const ResetLimits& command) {
  if (auto allowed = may_administer(turn, Right::admin); !allowed) {
    return std::unexpected(allowed.error());
  }
  const AgentRef ref = t_.agents.find(command.name);
  if (ref == none || !t_.agents[ref].is_registered()) {
    return refuse(Code::not_found, "no principal is named " + quoted_start(command.name));
  }
  Agent& agent = t_.agents[ref];
  agent.breaker = {};
  agent.budget = {};
  agent.fan_out = {};
  agent.pace = {};
  t_.buckets.at(Buckets::notices(agent.name), t_.now) = {};
  t_.rallies.end_all_of(Rallies::name_of(agent.name));
  return Receipt{};
}

}  // namespace parley::core
