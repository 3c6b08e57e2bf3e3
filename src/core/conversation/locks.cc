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

void Locks::encode(Writer& out) const {
  out.varint(locks_.size());
  for (const auto& [name, lock] : locks_) {
    out.text(name);
    out.text(lock.owner);
    out.seq(lock.fence);
    out.time(lock.since);
    out.time(lock.ends);
    out.varint(lock.line.size());
    for (const Lock::Waiter& waiter : lock.line) {
      out.seq(waiter.place);
      out.fixed64(waiter.origin);
      out.time(waiter.until);
      out.duration(waiter.lease);
      out.text(waiter.agent);
    }
  }
}

bool Locks::decode(Reader& in) {
  for (size_t left = in.count(); left > 0 && in.ok(); --left) {
    const std::string_view name = in.text();
    const std::string_view owner = in.text();
    Seq before = in.seq();
    const Time since = in.time();
    const Time ends = in.time();
    const bool in_order = locks_.empty() || locks_.rbegin()->first < name;
    if (!in.ok() || !in_order || before.n == 0) {
      in.fail();
      return false;
    }
    take(name, owner, before, since, ends);
    for (size_t waiters = in.count(); waiters > 0; --waiters) {
      Lock::Waiter waiter;
      waiter.place = in.seq();
      waiter.origin = in.fixed64();
      waiter.until = in.time();
      waiter.lease = in.duration();
      waiter.agent = in.text();
      if (!in.ok() || waiter.place <= before || waiter.agent == owner ||
          awaited_.contains(waiter.agent)) {
        in.fail();
        return false;
      }
      before = waiter.place;
      wait(name, std::move(waiter));
    }
  }
  return in.ok();
}

}  // namespace parley::core
