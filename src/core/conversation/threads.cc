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

uint64_t Threads::hash(std::string_view name) const { return base::hash64(name, seed_); }

// A request that outlives its thread's end keeps it: its end must find the thread.
Threads::Standing Threads::standing_of(ThreadRef ref) const {
  const Thread& thread = threads_[ref];
  if (thread.pending > 0) {
    return Standing::active;
  }
  return thread.is_closed() ? Standing::closed : Standing::idle;
}

Threads::List& Threads::list_of(ThreadRef ref) {
  return lists_[static_cast<size_t>(standing_of(ref))];
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
  by_name_.erase(hash(threads_[ref].name), ref);
  threads_.remove(ref);
}

void Threads::touch(ThreadRef ref, Time now) {
  threads_[ref].changed = now;
  move_to_end(ref);
}

void Threads::move_to_end(ThreadRef ref) {
  if (list_of(ref).last != ref) {
    unlink(ref);
    link(ref);
  }
}

// Both may change the standing: out of the list of the former, to the end of that of the new.
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
  List& list = list_of(ref);
  threads_[ref].prev = list.last;
  threads_[ref].next = none;
  (list.last == none ? list.first : threads_[list.last].next) = ref;
  list.last = ref;
  ++list.count;
}

void Threads::unlink(ThreadRef ref) {
  List& list = list_of(ref);
  const Thread& thread = threads_[ref];
  (thread.prev == none ? list.first : threads_[thread.prev].next) = thread.next;
  (thread.next == none ? list.last : threads_[thread.next].prev) = thread.prev;
  --list.count;
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
