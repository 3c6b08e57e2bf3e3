// SPDX-License-Identifier: Apache-2.0
// Circuit breakers and runaway guards. Not all failures can be seen from outside, but a nack is one
// for certain: enough of them in a row must open a breaker.

#include <algorithm>

#include "sim/checks/ledger.h"
#include "sim/text.h"

namespace parley::sim {

namespace {

constexpr int64_t day_us = 86'400'000'000;

void turn_day(Member& member, Time now) {
  if (member.day != now.us / day_us) {
    member.day = now.us / day_us;
    member.sent = 0;
    member.tokens = 0;
  }
}

// What is kept of two agents beside what is kept of conversations.
const std::string pair_mark = "pair of ";

// One more message of the exchange: it goes on as it began, or begins anew.
void pass_round(Exchange& exchange, const std::string& from, const std::string& to, Time now) {
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

void Ledger::check_guards(const Step& step) {
  const auto actor = members_.find(std::string(step.entry.actor));
  if (step.is_here && actor != members_.end()) {
    turn_day(actor->second, now_);
    if (const auto* send = std::get_if<core::Send>(&step.entry.command)) {
      if (!step.outcome) {
        check_refusal(step, *send);
      } else if (!step.outcome->duplicate) {
        check_budget(step, *send);
        check_fan_out(step);
        check_exchange(step, *send);
        check_shut(step, *send);
      }
    }
    if (const auto* beat = done<core::Heartbeat>(step); beat != nullptr && !beat->only_seen) {
      actor->second.tokens += beat->tokens;
    }
  }
  learn_failures(step);
  if (const auto* reset = done<core::ResetLimits>(step)) {
    Member& member = members_[std::string(reset->name)];
    member.sent = 0;
    member.tokens = 0;
    member.nacks = 0;
    member.caused.clear();
    booked_.clear();
    std::erase_if(exchanges_, [reset](const auto& item) {
      return std::ranges::find(item.second.agents, reset->name) != item.second.agents.end();
    });
  }
  if (done<core::SetRules>(step) != nullptr) {  // by another measure
    for (auto& [name, member] : members_) {
      member.caused.clear();
    }
  }
}

void Ledger::check_budget(const Step& step, const core::Send& command) {
  Member& member = members_[std::string(step.entry.actor)];
  if (member.kind != core::PrincipalKind::agent) {
    return;
  }
  if (rules_.guard_messages > 0 && member.sent >= rules_.guard_messages) {
    fail(Check::guard, step,
         text("{} sends message {} of a day, at most {}", step.entry.actor, member.sent + 1,
              rules_.guard_messages));
  }
  if (rules_.guard_tokens > 0 && member.tokens >= rules_.guard_tokens) {
    fail(Check::guard, step, text("{} has used {} tokens", step.entry.actor, member.tokens));
  }
  ++member.sent;
  member.tokens += command.tokens;
}

// Of the deliveries since any moment no more than a minute's worth and what came in since.
void Ledger::check_fan_out(const Step& step) {
  Member& member = members_[std::string(step.entry.actor)];
  const uint64_t per_min = rules_.guard_fan_out;
  if (member.kind != core::PrincipalKind::agent || per_min == 0) {
    return;
  }
  constexpr size_t caused_max = 64;
  constexpr int64_t minute_us = 60'000'000;
  member.caused.emplace_back(now_, step.outcome->count);
  if (member.caused.size() > caused_max) {
    member.caused.erase(member.caused.begin());
  }
  uint64_t count = 0;
  for (auto at = member.caused.rbegin(); at != member.caused.rend(); ++at) {
    count += at->second;
    const auto since = static_cast<uint64_t>((now_ - at->first).us);
    const uint64_t most = per_min + per_min * since / minute_us + 1;
    if (count > most) {
      fail(Check::guard, step,
           text("{} causes {} deliveries within {} us, at most {}", step.entry.actor, count, since,
                most));
    }
  }
}

// Agents that answer each other, or go round in a ring, and nobody else in their conversation, come
// to an end; so do two that begin a conversation each time.
void Ledger::check_exchange(const Step& step, const core::Send& command) {
  const core::Envelope& e = command.envelope;
  const std::string from(step.entry.actor);
  const Sent& sent = sent_.at(step.entry.seq);
  const bool is_person = members_[from].kind != core::PrincipalKind::agent;
  if (is_person || sent.pairs.empty()) {  // forgotten already: to whom it went is not known
    exchanges_.erase(std::string(e.thread));
    exchanges_.erase(std::string(e.correlation));
    std::erase_if(exchanges_, [&](const auto& item) {
      const auto heard = [&](const Pair& pair) {
        return std::ranges::find(item.second.agents, pair.receiver) != item.second.agents.end();
      };
      return item.first.starts_with(pair_mark) &&
             (sent.pairs.empty() || std::ranges::any_of(sent.pairs, heard));
    });
    return;
  }
  const std::string& to = sent.pairs.front().receiver;  // who may stand in for another
  const auto at = members_.find(to);
  if (rules_.guard_ping_pong == 0 || sent.pairs.size() != 1 || !sent.topic.empty() || to == from ||
      at == members_.end() || at->second.kind != core::PrincipalKind::agent) {
    return;
  }
  const std::string pair = pair_mark + std::min(from, to) + " " + std::max(from, to);
  const core::Threads& threads = step.after.tables().threads;
  const core::ThreadRef thread = e.thread.empty() ? core::none : threads.find(e.thread);
  const bool alone = e.correlation.empty() && e.kind != core::Kind::response;
  if (alone && !e.thread.empty() && thread == core::none) {
    exchanges_.erase(pair);  // forgotten already: whether it was new is not known
  }
  const bool begins =
      e.thread.empty() || (thread != core::none && threads[thread].root == step.entry.seq);
  for (const std::string& name : {std::string(e.thread), std::string(e.correlation),
                                  alone && begins ? pair : std::string()}) {
    if (name.empty()) {
      continue;
    }
    Exchange& exchange = exchanges_[name];
    if (exchange.turns == 0 || exchange.since + rules_.guard_ping_pong_window <= now_) {
      exchange = {.agents = {from, to}, .turns = 1, .since = now_};
    } else {
      pass_round(exchange, from, to, now_);
    }
    if (exchange.turns > rules_.guard_ping_pong && !answers_) {
      fail(Check::guard, step,
           text("{} and {} have answered each other {} times in {}", from, to, exchange.turns,
                name));
    }
    coverage_.count("ring", exchange.is_ring ? text("of {}", exchange.agents.size()) : "open");
  }
}

// A refusal says what is so.
void Ledger::check_refusal(const Step& step, const core::Send& command) {
  const base::Code code = step.outcome.error().code;
  const Member& sender = members_[std::string(step.entry.actor)];
  const bool is_agent = sender.kind == core::PrincipalKind::agent;
  if (code == base::Code::budget_exceeded) {
    const bool spent = (rules_.guard_messages > 0 && sender.sent >= rules_.guard_messages) ||
                       (rules_.guard_tokens > 0 && sender.tokens >= rules_.guard_tokens);
    if (!is_agent || !spent) {
      fail(Check::guard, step, "refused for a budget that is not spent");
    }
  } else if (code == base::Code::ping_pong || code == base::Code::fan_out_limit) {
    const uint64_t limit =
        code == base::Code::ping_pong ? rules_.guard_ping_pong : rules_.guard_fan_out;
    if (!is_agent || limit == 0) {
      fail(Check::guard, step, "refused for a guard that is off, or does not bind");
    }
  } else if (code == base::Code::circuit_open) {
    const core::Envelope& e = command.envelope;
    const core::Agents& agents = step.after.tables().agents;
    const core::Breaker& breaker = agents[agents.find(e.receivers.front())].breaker;
    const core::Duration left = breaker.since() + rules_.breaker_pause - now_;
    if (breaker.raw_state() == core::Breaker::State::closed || left.us <= 0 ||
        step.outcome.error().retry_after != left ||
        !is_paced(std::string(step.entry.actor), e.priority)) {
      fail(Check::breaker, step, text("{} is refused without a reason", e.receivers.front()));
    }
  }
}

// What is let through to a breaker that is not closed is the test, and begins it.
void Ledger::check_shut(const Step& step, const core::Send& command) {
  const core::Envelope& e = command.envelope;
  const core::Agents& agents = step.after.tables().agents;
  if (e.receivers.size() != 1 || !is_registered(std::string(e.receivers.front())) ||
      !is_paced(std::string(step.entry.actor), e.priority)) {
    return;
  }
  const core::Breaker& breaker = agents[agents.find(e.receivers.front())].breaker;
  if (breaker.raw_state() != core::Breaker::State::closed && breaker.since() != now_) {
    fail(Check::breaker, step, text("{} gets a message though it is shut", e.receivers.front()));
  }
}

void Ledger::learn_failures(const Step& step) {
  const auto actor = members_.find(std::string(step.entry.actor));
  const auto* const nack = done<core::Nack>(step);
  const bool failed = nack != nullptr && nack->failed && actor != members_.end();
  if (failed) {
    ++actor->second.nacks;
  }
  for (const Fact& fact : step.facts) {
    const bool good = fact.kind == Fact::Kind::settled &&
                      (fact.state == State::acked || fact.state == State::answered ||
                       fact.state == State::rejected);
    // It may have been charged with the loss of the connection; then it is as good as an outcome.
    const bool back = fact.kind == Fact::Kind::deliver && fact.seen;
    if (const auto at = members_.find(fact.receiver); (good || back) && at != members_.end()) {
      at->second.nacks = 0;
    }
  }
  if (!failed) {
    return;
  }
  const core::Agents& agents = step.after.tables().agents;
  const core::AgentRef ref = agents.find(actor->first);
  if (rules_.breaker_failures > 0 && actor->second.nacks >= rules_.breaker_failures &&
      agents[ref].breaker.raw_state() == core::Breaker::State::closed) {
    fail(Check::breaker, step,
         text("{} nacks in a row, and the breaker of {} is closed", actor->second.nacks,
              actor->first));
  }
}

}  // namespace parley::sim
