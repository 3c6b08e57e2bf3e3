// SPDX-License-Identifier: Apache-2.0
// Named locks: taken in one order, held for a lease, passed on to who waits in line.
#include "core/conversation/lock_acts.h"

#include <algorithm>

#include "base/text.h"
#include "core/machine/context.h"
#include "core/model/refusal.h"

namespace parley::core {

namespace {

using base::Code;

std::unexpected<Error> refuse_held(const Lock& lock, Time now) {
  return std::unexpected(
      Error{Code::lock_held,
            quoted_start(lock.owner) + " holds the lock " + quoted_start(lock.name) + " until " +
                base::format_time(lock.ends) + ", and " + std::to_string(lock.line.size()) +
                " wait for it; ask with `wait`, or later",
            {},
            lock.ends - now});
}

std::string listed(const std::set<std::string>& names) {
  constexpr size_t listed_max = 8;
  std::string text;
  size_t n = 0;
  for (const std::string& name : names) {
    text += n == 0 ? quoted_start(name) : n < listed_max ? ", " + quoted_start(name) : "";
    ++n;
  }
  return n > listed_max ? text + " and more" : text;
}

// Who says by which request it holds the lock renews that hold and no other: several processes of
// one principal can tell which of them has it.
std::expected<void, Error> check_fence(const Tables& t, std::string_view agent, const TakeLock& c) {
  const Lock* const lock = t.locks.find(c.name);
  const bool is_own = lock != nullptr && lock->owner == agent;
  if (!c.fence || (c.fence->n == 0 && !is_own) || (is_own && *c.fence == lock->fence)) {
    return {};
  }
  if (c.fence->n == 0) {
    return refuse_held(*lock, t.now);
  }
  return refuse(Code::conflict, "you hold the lock " + quoted_start(c.name) +
                                    " no more by the request at " + std::to_string(c.fence->n) +
                                    ": its lease is over");
}

// Locks are taken in one order by all, so that no two can wait for each other.
std::expected<void, Error> check_order(const Tables& t, std::string_view agent,
                                       std::string_view name) {
  if (const Lock* const awaited = t.locks.awaited_by(agent)) {
    return refuse(Code::lock_order, "you wait for the lock " + quoted_start(awaited->name) +
                                        "; who waits for one asks for no other");
  }
  const std::set<std::string>* const held = t.locks.held_by(agent);
  if (held == nullptr) {
    return {};
  }
  if (*held->rbegin() > name) {
    return refuse(Code::lock_order, "locks are taken in the byte order of their names: you hold " +
                                        listed(*held) + ", and " + quoted_start(name) +
                                        " comes before " + quoted_start(*held->rbegin()) +
                                        "; release what is greater, then take them in order");
  }
  if (held->size() >= t.rules.locks_per_agent_max) {
    return refuse(Code::limit_reached, "you hold " + std::to_string(held->size()) +
                                           " locks already (locks_per_agent_max)");
  }
  return {};
}

// A name that begins with `!` is the broker's own: `!run:NAME` says that a process works for NAME.
// Who held that of another would keep its process from ever starting.
bool is_own_name(const ConstContext& context, std::string_view name) {
  constexpr std::string_view run = "!run:";
  return !name.starts_with('!') || is_maintainer(context) ||
         (name.starts_with(run) && name.substr(run.size()) == context.t.agents[context.actor].name);
}

// Whether the release is of the hold itself, which is the owner's and the maintainers' to end.
bool ends_hold(const ConstContext& context, const Lock& lock, const ReleaseLock& command) {
  const bool is_owner = context.actor != none && lock.owner == context.t.agents[context.actor].name;
  const bool is_meant = command.fence.n == 0 || command.fence == lock.fence;
  return is_meant && (is_owner || is_maintainer(context));
}

const Lock::Waiter* waiter_of(const ConstContext& context, const Lock& lock,
                              const ReleaseLock& command) {
  const auto waiter = std::ranges::find_if(lock.line, [&](const Lock::Waiter& one) {
    return context.actor != none && one.agent == context.t.agents[context.actor].name &&
           (command.fence.n == 0 || command.fence == one.place);
  });
  return waiter == lock.line.end() ? nullptr : &*waiter;
}

void pass_on_lock(Dispatch& dispatch, std::string_view name) {
  Tables& t = dispatch.t;
  const Seq place = t.locks.pass_on(name, t.now);
  if (place.n != 0) {
    dispatch.emit(LockTurn{
        .agent = t.agents.find(t.locks.find(name)->owner), .place = place, .granted = true});
  }
}

}  // namespace

Checked check(const ConstContext& context, const TakeLock& c) {
  const Tables& t = context.t;
  if (context.actor == none) {
    return refuse(Code::forbidden, "only a registered principal holds locks");
  }
  if (c.name.empty() || c.name.size() > t.rules.name_bytes_max || !base::is_plain_name(c.name)) {
    return refuse(Code::bad_request,
                  "a lock's name is 1 to " + std::to_string(t.rules.name_bytes_max) +
                      " bytes (name_bytes_max), without control or invisible characters and "
                      "without a space at its ends");
  }
  if (!is_own_name(context, c.name)) {
    return refuse(Code::forbidden,
                  "locks whose names begin with ! are the broker's own; you, " +
                      quoted(t.agents[context.actor].name) +
                      ", take only !run: with your own name, a maintainer any",
                  "/name");
  }
  if (c.lease > t.rules.lock_lease_max) {
    return refuse(Code::bad_request,
                  "the lease of a lock is at most " +
                      base::format_duration(t.rules.lock_lease_max) + " (lock.lease_max)",
                  "/lease");
  }
  if (c.wait > t.rules.lock_wait_max) {
    return refuse(Code::bad_request, "one waits for a lock at most " +
                                         base::format_duration(t.rules.lock_wait_max) +
                                         " (lock.wait_max)");
  }
  return {};
}

Outcome on(Context& context, const TakeLock& command) {
  Tables& t = context.t;
  if (auto good = check(context, command); !good) {
    return std::unexpected(good.error());
  }
  const std::string& agent = t.agents[context.actor].name;
  const Duration lease = command.lease.us > 0 ? command.lease : t.rules.lock_lease;
  const Lock* const lock = t.locks.find(command.name);
  if (auto good = check_fence(t, agent, command); !good) {
    return std::unexpected(good.error());
  }
  // Before the order of names is looked at: who has the lock takes nothing new.
  if (lock != nullptr && lock->owner == agent) {
    t.locks.renew(command.name, t.now + lease);
    return Receipt{.message = lock->fence, .lock_granted = true};
  }
  if (auto good = check_order(t, agent, command.name); !good) {
    return std::unexpected(good.error());
  }
  if (lock == nullptr) {
    if (t.locks.size() >= t.rules.locks_max) {
      return refuse(Code::limit_reached, "the workspace has " + std::to_string(t.rules.locks_max) +
                                             " locks already (locks_max)");
    }
    t.locks.take(command.name, agent, context.entry.seq, t.now, t.now + lease);
    return Receipt{.message = context.entry.seq, .lock_granted = true};
  }
  if (command.wait.us <= 0) {
    return refuse_held(*lock, t.now);
  }
  if (lock->line.size() >= t.rules.lock_waiters_max) {
    return refuse(Code::limit_reached, std::to_string(lock->line.size()) +
                                           " wait for the lock already (lock.waiters_max)");
  }
  t.locks.wait(command.name, {.place = context.entry.seq,
                              .life = context.entry.id.origin,
                              .until = t.now + command.wait,
                              .lease = lease,
                              .agent = agent});
  return Receipt{.message = context.entry.seq, .lock_granted = false};
}

Checked check(const ConstContext& context, const ReleaseLock& command) {
  const Tables& t = context.t;
  const Lock* const lock = t.locks.find(command.name);
  if (lock == nullptr) {
    return refuse(Code::not_found, "nobody holds a lock " + quoted_start(command.name));
  }
  if (ends_hold(context, *lock, command) || waiter_of(context, *lock, command) != nullptr) {
    return {};
  }
  if (context.actor != none && lock->owner == t.agents[context.actor].name) {
    return refuse(Code::conflict, "you hold the lock since the request at " +
                                      std::to_string(lock->fence.n) + ", not by that at " +
                                      std::to_string(command.fence.n));
  }
  return refuse_held(*lock, context.now());
}

Outcome on(Context& context, const ReleaseLock& command) {
  Tables& t = context.t;
  if (auto good = check(context, command); !good) {
    return std::unexpected(good.error());
  }
  const Lock& lock = *t.locks.find(command.name);
  if (ends_hold(context, lock, command)) {
    pass_on_lock(context.dispatch, command.name);
  } else {
    const Seq place = waiter_of(context, lock, command)->place;
    t.locks.stop_waiting(command.name, place);
    context.dispatch.emit(LockTurn{.agent = context.actor, .place = place});
  }
  return Receipt{.count = 1};
}

void leave_locks(Dispatch& dispatch, std::string_view name) {
  Tables& t = dispatch.t;
  if (const Lock* const awaited = t.locks.awaited_by(name)) {
    const auto waiter = std::ranges::find(awaited->line, name, &Lock::Waiter::agent);
    dispatch.emit(LockTurn{.agent = t.agents.find(name), .place = waiter->place});
    t.locks.stop_waiting(awaited->name, waiter->place);
  }
  while (const std::set<std::string>* const held = t.locks.held_by(name)) {
    pass_on_lock(dispatch, std::string(*held->begin()));
  }
}

void end_lock_waits(Tables& t, uint64_t life) {
  std::vector<std::pair<std::string, Seq>> gone;
  for (const auto& [name, lock] : t.locks.all()) {
    for (const Lock::Waiter& waiter : lock.line) {
      if (waiter.life == life) {
        gone.emplace_back(name, waiter.place);
      }
    }
  }
  for (const auto& [name, place] : gone) {
    t.locks.stop_waiting(name, place);
  }
}

void advance_locks(Dispatch& dispatch) {
  Tables& t = dispatch.t;
  for (size_t n = 0; n < due_max; ++n) {
    if (t.locks.next_due() > t.now) {
      return;
    }
    const Locks::Due due = t.locks.first_due();
    if (due.place.n == 0) {
      pass_on_lock(dispatch, due.name);
      continue;
    }
    const Lock& lock = *t.locks.find(due.name);
    const auto waiter = std::ranges::find(lock.line, due.place, &Lock::Waiter::place);
    dispatch.emit(LockTurn{.agent = t.agents.find(waiter->agent), .place = due.place});
    t.locks.stop_waiting(due.name, due.place);
  }
}

Time locks_due(const Tables& t) { return t.locks.next_due(); }

}  // namespace parley::core
