// SPDX-License-Identifier: Apache-2.0
#include "core/guard.h"

#include "base/hash.h"

namespace parley::core {

namespace {

uint64_t never_zero(uint64_t hash) { return hash == 0 ? 1 : hash; }

}  // namespace

uint64_t Rallies::key_of(std::string_view conversation) {
  return never_zero(base::hash64(conversation, 11));
}

uint64_t Rallies::name_of(std::string_view agent) { return never_zero(base::hash64(agent, 12)); }

uint32_t Rallies::find(uint64_t key) const {
  uint32_t found = none;
  by_key_.find(key, [&](uint32_t slot) {
    if (rallies_[slot].rally.key == key) {
      found = slot;
    }
    return found != none;
  });
  return found;
}

Rally Rallies::with(uint64_t key, uint64_t from, uint64_t to, Time now, Duration window) const {
  const Rally fresh{.key = key, .from = from, .to = to, .turns = 1, .since = now};
  const uint32_t slot = find(key);
  if (slot == none) {
    return fresh;
  }
  Rally rally = rallies_[slot].rally;
  const bool again = rally.from == from && rally.to == to;  // once more without an answer
  const bool answers = rally.from == to && rally.to == from;
  if ((!again && !answers) || rally.since + window <= now) {
    return fresh;
  }
  rally.turns += answers ? 1 : 0;
  rally.from = from;
  rally.to = to;
  return rally;
}

void Rallies::put(const Rally& rally, Time now, Duration window, uint64_t size_max) {
  uint32_t slot = find(rally.key);
  if (slot != none) {
    rallies_[slot].rally = rally;
    return;
  }
  make_room(now, window, size_max);
  slot = rallies_.add(Link{.rally = rally});
  by_key_.insert(rally.key, slot);
  append(slot);
}

// Work is bounded: two that are over go for each that comes, and one more when there are too many,
// for which a few that are played are passed over.
void Rallies::make_room(Time now, Duration window, uint64_t size_max) {
  for (int n = 0; n < 2 && first_ != none && rallies_[first_].rally.since + window <= now; ++n) {
    drop(first_);
  }
  constexpr int spared_max = 8;
  for (int n = 0; first_ != none && rallies_.size() >= size_max; ++n) {
    const uint32_t slot = first_;
    if (n < spared_max && rallies_[slot].rally.turns > 1) {
      unlink(slot);
      append(slot);
    } else {
      drop(slot);
    }
  }
}

void Rallies::append(uint32_t slot) {
  rallies_[slot].before = last_;
  rallies_[slot].after = none;
  (last_ == none ? first_ : rallies_[last_].after) = slot;
  last_ = slot;
}

void Rallies::unlink(uint32_t slot) {
  const Link& link = rallies_[slot];
  (link.before == none ? first_ : rallies_[link.before].after) = link.after;
  (link.after == none ? last_ : rallies_[link.after].before) = link.before;
}

void Rallies::drop(uint32_t slot) {
  unlink(slot);
  by_key_.erase(rallies_[slot].rally.key, slot);
  rallies_.remove(slot);
}

void Rallies::end(uint64_t key) {
  if (const uint32_t slot = find(key); slot != none) {
    drop(slot);
  }
}

void Rallies::end_all_of(uint64_t name) {
  for (uint32_t slot = first_; slot != none;) {
    const Link& link = rallies_[slot];
    const uint32_t next = link.after;
    if (link.rally.from == name || link.rally.to == name) {
      drop(slot);
    }
    slot = next;
  }
}

std::vector<Rally> Rallies::in_line() const {
  std::vector<Rally> all;
  all.reserve(rallies_.size());
  for (uint32_t slot = first_; slot != none; slot = rallies_[slot].after) {
    all.push_back(rallies_[slot].rally);
  }
  return all;
}

}  // namespace parley::core
