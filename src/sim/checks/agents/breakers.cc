// SPDX-License-Identifier: Apache-2.0
#include "sim/checks/agents/breakers.h"

#include "sim/text.h"

namespace parley::sim {

void BreakerChecks::check(const Step& step) {
  const bool is_registered = model_.is_registered(std::string(step.entry.actor));
  if (const auto* send = asked<core::Send>(step); send != nullptr && is_registered) {
    if (!step.outcome) {
      check_refused(step, *send);
    } else if (!step.outcome->duplicate) {
      check_accepted(step, *send);
    }
  }
  learn_failures(step);
  if (const auto* reset = done<core::ResetLimits>(step)) {
    model_.principals[std::string(reset->name)].nacks = 0;
  }
}

// A message that passes a breaker which is not closed is the test, and begins it.
void BreakerChecks::check_accepted(const Step& step, const core::Send& command) {
  const core::Envelope& e = command.envelope;
  const core::Agents& agents = step.after.tables().agents;
  if (e.receivers.size() != 1 || e.kind == core::Kind::escalation ||  // which goes to people, too
      !model_.is_registered(std::string(e.receivers.front())) ||
      !model_.is_paced(std::string(step.entry.actor), e.priority) ||
      model_.find(step.entry.seq, std::string(e.receivers.front())) == nullptr) {
    return;  // Another got it in the place of one who is away, too.
  }
  const core::Breaker& breaker = agents[agents.find(e.receivers.front())].breaker;
  const uint64_t key = core::Exchanges::name_of(step.entry.actor);
  if (breaker.is_shut_for(key) && breaker.since() != model_.now) {
    model_.fail(Check::breaker, step,
                text("{} gets a message though it is shut", e.receivers.front()));
  }
}

// A refusal by a breaker says the truth.
void BreakerChecks::check_refused(const Step& step, const core::Send& command) {
  if (step.outcome.error().code != base::Code::circuit_open) {
    return;
  }
  const core::Envelope& e = command.envelope;
  const core::Agents& agents = step.after.tables().agents;
  const core::Breaker& breaker = agents[agents.find(e.receivers.front())].breaker;
  const core::Duration left = breaker.since() + model_.rules.breaker_pause - model_.now;
  if (!breaker.is_shut_for(core::Exchanges::name_of(step.entry.actor)) || left.us <= 0 ||
      step.outcome.error().retry_after != left ||
      !model_.is_paced(std::string(step.entry.actor), e.priority)) {
    model_.fail(Check::breaker, step, text("{} is refused without a reason", e.receivers.front()));
  }
}

void BreakerChecks::learn_failures(const Step& step) {
  const auto actor = model_.principals.find(std::string(step.entry.actor));
  const auto* const nack = done<core::Nack>(step);
  const bool failed = nack != nullptr && nack->failed && actor != model_.principals.end();
  if (failed) {
    ++actor->second.nacks;
  }
  for (const NamedEffect& effect : step.effects) {
    const bool good = effect.kind == NamedEffect::Kind::settled &&
                      (effect.state == State::acked || effect.state == State::answered ||
                       effect.state == State::rejected);
    // The receiver may have been charged with the loss of its connection. That it comes back is as
    // good as an outcome then.
    const bool back = effect.kind == NamedEffect::Kind::deliver && effect.seen;
    if (const auto at = model_.principals.find(effect.receiver);
        (good || back) && at != model_.principals.end()) {
      at->second.nacks = 0;
    }
  }
  if (!failed) {
    return;
  }
  const core::Agents& agents = step.after.tables().agents;
  const core::AgentRef ref = agents.find(actor->first);
  if (model_.rules.breaker_failures > 0 && actor->second.nacks >= model_.rules.breaker_failures &&
      agents[ref].breaker.raw_state() == core::Breaker::State::closed) {
    model_.fail(Check::breaker, step,
                text("{} nacks in a row, and the breaker of {} is closed", actor->second.nacks,
                     actor->first));
  }
}

}  // namespace parley::sim
