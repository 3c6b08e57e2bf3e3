// SPDX-License-Identifier: Apache-2.0
#include "core/conversation/threads.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/hash.h"

namespace parley::core {

ThreadState Thread::state() const {
  if (is_closed()) {
    return ThreadState::closed;
  }
  if (pending > 0) {
    return ThreadState::active;
  }
  return requests > 0 ? ThreadState::resolved : ThreadState::created;
}

bool Thread::is_about(std::string_view correlation) const {
  return name == correlation || std::ranges::find(correlations, correlation) != correlations.end();
}

Threads::Threads(uint64_t hash_seed)
    : seed_(hash_seed),
      lines_{Line(hash_seed), Line(hash_seed), Line(hash_seed)},
      resting_(hash_seed) {}

uint64_t Threads::hash(std::string_view name) const { return base::hash64(name, seed_); }

// A request that outlives its thread's end keeps it: its end must find the thread.
Threads::Standing Threads::standing_of(ThreadRef ref) const {
  const Thread& thread = threads_[ref];
  if (thread.pending > 0) {
    return Standing::active;
  }
  return thread.is_closed() ? Standing::closed : Standing::idle;
}

ThreadRef Threads::first(Standing standing) const {
  const uint32_t at = line(standing).first();
  return at == none ? none : line(standing)[at];
}

ThreadRef Threads::next(ThreadRef ref) const {
  const Line& own = line(standing_of(ref));
  const uint32_t at = own.next(threads_[ref].place);
  return at == none ? none : own[at];
}

size_t Threads::active_of(std::string_view owner) const {
  return line(Standing::active).shares().of(owner);
}

ThreadRef Threads::first_of_most() const {
  if (resting_.most() == none) {
    return none;
  }
  const std::string& owner = resting_.name_of(resting_.most());
  const uint32_t closed = line(Standing::closed).first_of(owner);
  return closed != none ? line(Standing::closed)[closed]
                        : line(Standing::idle)[line(Standing::idle).first_of(owner)];
}

ThreadRef Threads::find(std::string_view name) const {
  ThreadRef found = none;
  by_name_.find(hash(name), [&](ThreadRef ref) {
    if (threads_[ref].name == name) {
      found = ref;
    }
    return found != none;
  });
  return found;
}

ThreadRef Threads::add(Thread thread) {
  const ThreadRef ref = threads_.add(std::move(thread));
  Thread& added = threads_[ref];
  by_name_.insert(hash(added.name), ref);
  link(ref);
  file(none, ref);
  for (const AgentRef agent : added.participants) {
    file(agent, ref);
  }
  if (added.ages && !added.overdue && !added.is_closed()) {
    added.older = youngest_;
    (youngest_ == none ? oldest_ : threads_[youngest_].younger) = ref;
    youngest_ = ref;
  }
  return ref;
}

void Threads::remove(ThreadRef ref) {
  CHECK(threads_[ref].pending == 0);  // the message of a pending request refers to it
  unlink(ref);
  stop_aging(ref);
  for (const AgentRef agent : threads_[ref].participants) {
    unfile(agent, ref);
  }
  unfile(none, ref);
  by_name_.erase(hash(threads_[ref].name), ref);
  threads_.remove(ref);
}

void Threads::join(ThreadRef ref, AgentRef agent) {
  threads_[ref].participants.push_back(agent);
  file(agent, ref);
}

void Threads::file(AgentRef agent, ThreadRef ref) {
  joined_[agent].insert(threads_[ref].root, ref);
}

void Threads::unfile(AgentRef agent, ThreadRef ref) {
  const auto line = joined_.find(agent);
  CHECK(line != joined_.end());
  line->second.erase(threads_[ref].root);
  if (line->second.empty()) {
    joined_.erase(line);
  }
}

void Threads::touch(ThreadRef ref, Time now) {
  threads_[ref].changed = now;
  move_to_end(ref);
}

void Threads::move_to_end(ThreadRef ref) {
  line(standing_of(ref)).move_to_end(threads_[ref].place);
}

// Both may change the standing: out of the line of the former, to the end of that of the new.
void Threads::open_request(ThreadRef ref) {
  unlink(ref);
  ++threads_[ref].requests;
  ++threads_[ref].pending;
  link(ref);
}

void Threads::end_request(ThreadRef ref, Time now) {
  CHECK(threads_[ref].pending > 0);
  unlink(ref);
  --threads_[ref].pending;
  threads_[ref].changed = now;
  link(ref);
}

void Threads::close(ThreadRef ref, std::string_view by, Time now) {
  CHECK(!threads_[ref].is_closed());
  stop_aging(ref);
  unlink(ref);
  threads_[ref].closed = now;
  threads_[ref].changed = now;
  threads_[ref].closed_by = by;
  link(ref);
}

void Threads::set_overdue(ThreadRef ref) {
  stop_aging(ref);
  threads_[ref].overdue = true;
}

void Threads::link(ThreadRef ref) {
  const Standing standing = standing_of(ref);
  Thread& thread = threads_[ref];
  thread.place = line(standing).add(thread.owner_name, ref);
  if (standing != Standing::active) {
    resting_.add(thread.owner_name);
  }
}

void Threads::unlink(ThreadRef ref) {
  const Standing standing = standing_of(ref);
  Thread& thread = threads_[ref];
  line(standing).remove(std::exchange(thread.place, none));
  if (standing != Standing::active) {
    resting_.remove(thread.owner_name);
  }
}

void Threads::stop_aging(ThreadRef ref) {
  Thread& thread = threads_[ref];
  if (!thread.ages || thread.overdue || thread.is_closed()) {
    return;
  }
  (thread.older == none ? oldest_ : threads_[thread.older].younger) = thread.younger;
  (thread.younger == none ? youngest_ : threads_[thread.younger].older) = thread.older;
  thread.older = none;
  thread.younger = none;
}

}  // namespace parley::core
