// SPDX-License-Identifier: Apache-2.0
#include "sim/checks/agents/budgets.h"

#include <algorithm>

#include "sim/text.h"

namespace parley::sim {

namespace {

constexpr int64_t day_us = 86'400'000'000;

// The budgets begin anew with each day.
void turn_day(Principal& principal, Time now) {
  if (principal.day != now.us / day_us) {
    principal.day = now.us / day_us;
    principal.sent = 0;
    principal.tokens = 0;
  }
}

// The key under which an exchange of two agents outside of any conversation is kept.
constexpr std::string_view key_of_two = "pair of ";

// One more message of the exchange, which goes on as it began or begins anew.
void pass_round(BudgetChecks::Exchange& exchange, const std::string& from, const std::string& to,
                Time now) {
  std::vector<std::string>& agents = exchange.agents;
  constexpr size_t ring_max = 8;
  for (size_t n = 0; n + 1 < agents.size() + (exchange.is_ring ? 1 : 0); ++n) {
    if (agents[n] != from || agents[(n + 1) % agents.size()] != to) {
      continue;
    }
    if (exchange.is_ring && exchange.turn == n) {
      exchange.turn = (n + 1) % agents.size();
      ++exchange.turns;
    }
    return;
  }
  if (exchange.is_ring || agents.back() != from) {
    exchange = {.agents = {from, to}, .turns = 1, .since = now};
    return;
  }
  const auto before = std::ranges::find(agents, to);
  if (before != agents.end()) {
    agents.erase(agents.begin(), before);
    exchange.is_ring = true;
    exchange.turns = agents.size();
    return;
  }
  agents.push_back(to);
  if (agents.size() > ring_max) {
    agents.erase(agents.begin());
  }
}

}  // namespace

void BudgetChecks::check(const Step& step) {
  const auto actor = model_.principals.find(std::string(step.entry.actor));
  if (step.is_here && actor != model_.principals.end()) {
    turn_day(actor->second, model_.now);
    if (const auto* send = std::get_if<core::Send>(&step.entry.command)) {
      if (!step.outcome) {
        check_refusal(step);
      } else if (!step.outcome->duplicate) {
        check_budget(step, *send);
        check_fan_out(step);
        check_critical(step, *send);
        check_exchange(step, *send);
      }
    }
    if (const auto* beat = done<core::Heartbeat>(step); beat != nullptr && !beat->only_seen) {
      actor->second.tokens += beat->tokens;
    }
  }
  if (const auto* added = done<core::Register>(step)) {
    const core::Agents& agents = step.after.tables().agents;
    if (agents[agents.find(added->name)].since == step.entry.seq) {  // Another one of the name.
      end_exchanges(std::string(added->name));
    }
  }
  if (const auto* command = done<core::ResetLimits>(step)) {
    reset(std::string(command->name));
  }
  if (done<core::SetRules>(step) != nullptr) {  // What was caused before counts by the old limit.
    for (auto& [name, principal] : model_.principals) {
      principal.caused.clear();
      principal.urgent.clear();
    }
  }
}

void BudgetChecks::reset(const std::string& name) {
  Principal& principal = model_.principals[name];
  principal.sent = 0;
  principal.tokens = 0;
  principal.caused.clear();
  principal.urgent.clear();
  rates_.reset();
  end_exchanges(name);
}

void BudgetChecks::end_exchanges(const std::string& name) {
  std::erase_if(exchanges_, [&](const auto& item) {
    return std::ranges::find(item.second.agents, name) != item.second.agents.end();
  });
}

void BudgetChecks::check_budget(const Step& step, const core::Send& command) {
  Principal& principal = model_.principals[std::string(step.entry.actor)];
  if (principal.kind != core::PrincipalKind::agent) {
    return;
  }
  if (model_.rules.guard_messages > 0 && principal.sent >= model_.rules.guard_messages) {
    model_.fail(Check::guard, step,
                text("{} sends message {} of a day, at most {}", step.entry.actor,
                     principal.sent + 1, model_.rules.guard_messages));
  }
  if (model_.rules.guard_tokens > 0 && principal.tokens >= model_.rules.guard_tokens) {
    model_.fail(Check::guard, step,
                text("{} has used {} tokens", step.entry.actor, principal.tokens));
  }
  ++principal.sent;
  principal.tokens += command.tokens;
}

// Since any moment there are no more deliveries than a minute allows and what came in since.
void BudgetChecks::check_fan_out(const Step& step) {
  Principal& principal = model_.principals[std::string(step.entry.actor)];
  check_minute(step, "deliveries", step.outcome->count, model_.rules.guard_fan_out,
               principal.caused);
}

// So it is with critical messages.
void BudgetChecks::check_critical(const Step& step, const core::Send& command) {
  Principal& principal = model_.principals[std::string(step.entry.actor)];
  if (command.envelope.priority == core::Priority::critical) {
    check_minute(step, "critical messages", 1, model_.rules.guard_critical, principal.urgent);
  }
}

void BudgetChecks::check_minute(const Step& step, std::string_view what, uint64_t added,
                                uint64_t per_min, std::vector<std::pair<Time, uint64_t>>& past) {
  const Principal& principal = model_.principals[std::string(step.entry.actor)];
  if (principal.kind != core::PrincipalKind::agent || per_min == 0) {
    return;
  }
  constexpr size_t past_max = 64;
  constexpr int64_t minute_us = 60'000'000;
  past.emplace_back(model_.now, added);
  if (past.size() > past_max) {
    past.erase(past.begin());
  }
  uint64_t count = 0;
  for (auto at = past.rbegin(); at != past.rend(); ++at) {
    count += at->second;
    const auto since = static_cast<uint64_t>((model_.now - at->first).us);
    const uint64_t most = per_min + per_min * since / minute_us + 1;
    if (count > most) {
      model_.fail(Check::guard, step,
                  text("{} causes {} {} within {} us, at most {}", step.entry.actor, count, what,
                       since, most));
    }
  }
}

// Agents that answer each other, or go round in a ring with nobody else in their conversation, are
// stopped. So are two that begin a conversation each time.
void BudgetChecks::check_exchange(const Step& step, const core::Send& command) {
  const core::Envelope& e = command.envelope;
  const std::string from(step.entry.actor);
  const SentMessage& sent = model_.messages.at(step.entry.seq);
  const bool is_person = model_.principals[from].kind != core::PrincipalKind::agent;
  if (is_person || sent.deliveries.empty()) {
    forget_exchanges(e, sent);
    return;
  }
  // It may stand in for the one that was named.
  const std::string& to = sent.deliveries.front().receiver;
  const auto at = model_.principals.find(to);
  if (model_.rules.guard_ping_pong == 0 || sent.deliveries.size() != 1 || !sent.topic.empty() ||
      to == from || at == model_.principals.end() ||
      at->second.kind != core::PrincipalKind::agent) {
    return;
  }
  const std::string key = text("{}{} {}", key_of_two, std::min(from, to), std::max(from, to));
  const core::Threads& threads = step.after.tables().threads;
  const core::ThreadRef thread = e.thread.empty() ? core::none : threads.find(e.thread);
  const bool alone = e.correlation.empty() && e.kind != core::Kind::response;
  if (alone && !e.thread.empty() && thread == core::none) {
    exchanges_.erase(key);  // The thread is forgotten: nobody knows whether it was new.
  }
  const bool begins =
      e.thread.empty() || (thread != core::none && threads[thread].root == step.entry.seq);
  for (const std::string& name :
       {std::string(e.thread), std::string(e.correlation), alone && begins ? key : std::string()}) {
    if (!name.empty()) {
      count_turn(step, name, from, to);
    }
  }
}

// A person who takes part ends the exchange. So does a message that is forgotten already, because
// nobody knows to whom it went.
void BudgetChecks::forget_exchanges(const core::Envelope& e, const SentMessage& sent) {
  exchanges_.erase(std::string(e.thread));
  exchanges_.erase(std::string(e.correlation));
  std::erase_if(exchanges_, [&](const auto& item) {
    const auto heard = [&](const Delivery& delivery) {
      return std::ranges::find(item.second.agents, delivery.receiver) != item.second.agents.end();
    };
    return item.first.starts_with(key_of_two) &&
           (sent.deliveries.empty() || std::ranges::any_of(sent.deliveries, heard));
  });
}

void BudgetChecks::count_turn(const Step& step, const std::string& name, const std::string& from,
                              const std::string& to) {
  Exchange& exchange = exchanges_[name];
  if (exchange.turns == 0 || exchange.since + model_.rules.guard_ping_pong_window <= model_.now) {
    exchange = {.agents = {from, to}, .turns = 1, .since = model_.now};
  } else {
    pass_round(exchange, from, to, model_.now);
  }
  if (exchange.turns > model_.rules.guard_ping_pong && !answers_.is_waited_for()) {
    model_.fail(
        Check::guard, step,
        text("{} and {} have answered each other {} times in {}", from, to, exchange.turns, name));
  }
  model_.coverage.count("ring", exchange.is_ring ? text("of {}", exchange.agents.size()) : "open");
}

// A refusal says the truth.
void BudgetChecks::check_refusal(const Step& step) {
  const base::Code code = step.outcome.error().code;
  const Principal& sender = model_.principals[std::string(step.entry.actor)];
  const bool is_agent = sender.kind == core::PrincipalKind::agent;
  if (code == base::Code::budget_exceeded) {
    const bool spent =
        (model_.rules.guard_messages > 0 && sender.sent >= model_.rules.guard_messages) ||
        (model_.rules.guard_tokens > 0 && sender.tokens >= model_.rules.guard_tokens);
    if (!is_agent || !spent) {
      model_.fail(Check::guard, step, "refused for a budget that is not spent");
    }
  } else if (code == base::Code::ping_pong || code == base::Code::fan_out_limit) {
    const uint64_t limit =
        code == base::Code::ping_pong ? model_.rules.guard_ping_pong : model_.rules.guard_fan_out;
    if (!is_agent || limit == 0) {
      model_.fail(Check::guard, step, "refused for a guard that is off, or does not bind");
    }
  } else if (code == base::Code::rate_limited) {
    const auto& send = std::get<core::Send>(step.entry.command);
    if (!is_agent || model_.rules.guard_critical == 0 ||
        send.envelope.priority != core::Priority::critical) {
      model_.fail(Check::guard, step, "refused for a guard that is off, or does not bind");
    }
    model_.coverage.count("case", "too many critical");
  }
}

}  // namespace parley::sim
