// SPDX-License-Identifier: Apache-2.0
#include "core/conversation/locks.h"

#include <algorithm>

#include "core/model/wire.h"

namespace parley::core {

const Lock* Locks::find(std::string_view name) const {
  const auto at = locks_.find(name);
  return at == locks_.end() ? nullptr : &at->second;
}

const std::set<std::string>* Locks::held_by(std::string_view agent) const {
  const auto at = held_.find(agent);
  return at == held_.end() ? nullptr : &at->second;
}

const Lock* Locks::awaited_by(std::string_view agent) const {
  const auto at = awaited_.find(agent);
  return at == awaited_.end() ? nullptr : find(at->second);
}

void Locks::take(std::string_view name, std::string_view owner, Seq fence, Time now, Time ends) {
  Lock& lock = locks_[std::string(name)];
  lock.name = name;
  lock.owner = owner;
  lock.fence = fence;
  lock.since = now;
  lock.ends = ends;
  dues_.insert({ends, lock.name, {}});
  held_[lock.owner].insert(lock.name);
}

void Locks::renew(std::string_view name, Time ends) {
  Lock& lock = locks_.find(name)->second;
  dues_.erase({lock.ends, lock.name, {}});
  lock.ends = ends;
  dues_.insert({ends, lock.name, {}});
}

void Locks::wait(std::string_view name, Lock::Waiter waiter) {
  Lock& lock = locks_.find(name)->second;
  dues_.insert({waiter.until, lock.name, waiter.place});
  awaited_.emplace(waiter.agent, lock.name);
  lock.line.push_back(std::move(waiter));
}

bool Locks::stop_waiting(std::string_view name, Seq place) {
  const auto at = locks_.find(name);
  if (at == locks_.end()) {
    return false;
  }
  std::deque<Lock::Waiter>& line = at->second.line;
  const auto waiter = std::ranges::find(line, place, &Lock::Waiter::place);
  if (waiter == line.end()) {
    return false;
  }
  dues_.erase({waiter->until, at->first, place});
  awaited_.erase(waiter->agent);
  line.erase(waiter);
  return true;
}

// The new owner's fence is the place from which it waited: later than that of the former owner, as
// places in the journal are, so a fence never falls.
Seq Locks::pass_on(std::string_view name, Time now) {
  const auto at = locks_.find(name);
  Lock& lock = at->second;
  dues_.erase({lock.ends, lock.name, {}});
  const auto held = held_.find(lock.owner);
  held->second.erase(lock.name);
  if (held->second.empty()) {
    held_.erase(held);
  }
  if (lock.line.empty()) {
    locks_.erase(at);
    return {};
  }
  const Lock::Waiter next = std::move(lock.line.front());
  lock.line.pop_front();
  dues_.erase({next.until, lock.name, next.place});
  awaited_.erase(next.agent);
  take(at->first, next.agent, next.place, now, now + next.lease);
  return next.place;
}

void Locks::encode(Writer& out) const { put_rows(locks_, out); }

bool Locks::decode(Reader& in) {
  get_rows<Lock>(in, [this](Lock lock) {
    if (lock.fence.n == 0 || (!locks_.empty() && locks_.rbegin()->first >= lock.name)) {
      return false;
    }
    take(lock.name, lock.owner, lock.fence, lock.since, lock.ends);
    // A line is in the order of its places, and no one waits for two locks or for its own:
    // `check_order` sees to that, and without it a ring of those who wait could form.
    Seq before = lock.fence;
    for (Lock::Waiter& waiter : lock.line) {
      if (waiter.place <= before || waiter.agent == lock.owner || awaited_.contains(waiter.agent)) {
        return false;
      }
      before = waiter.place;
      wait(lock.name, std::move(waiter));
    }
    return true;
  });
  return in.ok();
}

}  // namespace parley::core
