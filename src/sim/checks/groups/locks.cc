// SPDX-License-Identifier: Apache-2.0
#include "sim/checks/groups/locks.h"

#include <algorithm>

#include "sim/text.h"

namespace parley::sim {

void LockChecks::learn(const Step& step) {
  const auto* const take = asked<core::TakeLock>(step);
  if (take == nullptr) {
    return;
  }
  const std::string name(take->name);
  const std::string actor(step.entry.actor);
  const auto at = locks_.find(name);
  const bool renews =
      at != locks_.end() && at->second.owner == actor && at->second.ends > model_.now;
  const bool disordered = std::ranges::any_of(locks_, [&](const auto& item) {
    return item.second.owner == actor && item.second.ends > model_.now && item.first > name;
  });
  const bool waits =
      std::ranges::any_of(waiters_, [&](const auto& item) { return item.second.agent == actor; });
  if (!step.outcome) {
    if (step.outcome.error().code == base::Code::lock_order && !disordered && !waits) {
      model_.fail(Check::lock, step, text("{} is in order for {} and is refused", name, actor));
    }
    return;
  }
  if (!renews && disordered) {
    model_.fail(Check::lock, step, text("{} takes {} and holds a greater one", actor, name));
  }
  if (take->fence && (take->fence->n == 0 ? renews : !renews || at->second.fence != *take->fence)) {
    model_.fail(Check::lock, step, text("{} has {} by another request than it says", actor, name));
  }
  model_.coverage.count("lock", !take->fence ? "any hold" : renews ? "renewed by fence" : "anew");
  const core::Duration lease = take->lease.us > 0 ? take->lease : model_.rules.lock_lease;
  if (!step.outcome->lock_granted) {
    waiters_[step.entry.seq] = {name, actor, model_.now + take->wait, lease, step.entry.id.origin};
    return;
  }
  if (at != locks_.end() && at->second.ends > model_.now && !renews) {
    model_.fail(Check::lock, step,
                text("{} has {}, which {} holds", actor, name, at->second.owner));
  }
  locks_[name] = {actor, renews ? at->second.fence : step.entry.seq, model_.now + lease};
}

void LockChecks::on_turn(const Step& step, const NamedEffect& effect) {
  const auto at = waiters_.find(effect.message);
  if (at == waiters_.end() || at->second.agent != effect.receiver) {
    model_.fail(Check::lock, step, text("{} does not wait for a lock", effect.receiver));
    return;
  }
  const Waiter waiter = at->second;
  waiters_.erase(at);
  const auto* release = done<core::ReleaseLock>(step);
  const auto* gone = done<core::Unregister>(step);
  if (!effect.granted) {
    model_.coverage.count("lock", "waited in vain");
    const bool may = waiter.until <= model_.now ||
                     (release != nullptr && release->name == waiter.name) ||
                     (gone != nullptr && gone->name == waiter.agent);
    if (!may) {
      model_.fail(Check::lock, step, text("{} waits no more for {}", waiter.agent, waiter.name));
    }
    return;
  }
  model_.coverage.count("lock", "passed on");
  const bool overtakes = std::ranges::any_of(waiters_, [&](const auto& item) {
    return item.second.name == waiter.name && item.first < effect.message &&
           !model_.ended_lives.contains(item.second.origin);
  });
  const auto held = locks_.find(waiter.name);
  const bool is_held = held != locks_.end() && !is_free(step, waiter.name, held->second);
  if (overtakes || is_held) {
    model_.fail(Check::lock, step,
                text("{} has {}, {}", waiter.agent, waiter.name,
                     is_held ? "which another holds" : "before its turn"));
  }
  locks_[waiter.name] = {waiter.agent, effect.message, model_.now + waiter.lease};
}

void LockChecks::check(const Step& step) {
  const core::Locks& locks = step.after.tables().locks;
  for (auto at = locks_.begin(); at != locks_.end();) {
    const core::Lock* const lock = locks.find(at->first);
    if (lock == nullptr) {
      if (!is_free(step, at->first, at->second)) {
        model_.fail(Check::lock, step, text("lock {} of {} vanished", at->first, at->second.owner));
      }
      at = locks_.erase(at);
      continue;
    }
    if (lock->owner != at->second.owner || lock->fence != at->second.fence ||
        lock->ends != at->second.ends) {
      model_.fail(
          Check::lock, step,
          text("lock {} is {}'s, should be {}'s", at->first, lock->owner, at->second.owner));
    }
    if (lock->ends <= model_.now && passes_time(step)) {
      model_.fail(Check::lock, step, text("the lease on {} should be over", at->first));
    }
    ++at;
  }
  if (locks.size() != locks_.size()) {
    model_.fail(Check::lock, step, "a lock is held that no one took");
  }
  check_waiters(step);
}

void LockChecks::check_waiters(const Step& step) {
  std::erase_if(waiters_, [this](const auto& item) {
    return model_.ended_lives.contains(item.second.origin);
  });
  size_t waiting = 0;
  step.after.tables().locks.each_wait(
      [&](const std::string&, const std::string&, const std::string&) { ++waiting; });
  if (waiting != waiters_.size()) {
    model_.fail(Check::lock, step, text("{} wait for locks, told of {}", waiting, waiters_.size()));
  }
}

// True when the lock has been given up: by the clock, or by someone in this entry.
bool LockChecks::is_free(const Step& step, const std::string& name, const Lock& lock) const {
  const auto* release = done<core::ReleaseLock>(step);
  const auto* gone = done<core::Unregister>(step);
  return lock.ends <= model_.now || (release != nullptr && release->name == name) ||
         (gone != nullptr && gone->name == lock.owner);
}

}  // namespace parley::sim
