// SPDX-License-Identifier: Apache-2.0
#include "core/guard.h"

#include <algorithm>

#include "base/hash.h"
#include "core/wire.h"

namespace parley::core {

namespace {

uint64_t never_zero(uint64_t hash) { return hash == 0 ? 1 : hash; }

}  // namespace

uint64_t Rallies::key_of(std::string_view conversation) {
  return never_zero(base::hash64(conversation, 11));
}

uint64_t Rallies::name_of(std::string_view agent) { return never_zero(base::hash64(agent, 12)); }

uint64_t Rallies::key_of_pair(uint64_t one, uint64_t other) {
  return never_zero(base::mix64(std::min(one, other), std::max(one, other)));
}

Rally Rally::begin(uint64_t key, uint64_t from, uint64_t to, Time now) {
  Rally rally{.key = key, .count = 2, .turns = 1, .since = now};
  rally.agents = {from, to};
  return rally;
}

bool Rally::has_step(uint64_t from, uint64_t to) const {
  for (size_t at = 0; at + (is_ring ? 0 : 1) < count; ++at) {
    if (agents[at] == from && agents[(at + 1) % count] == to) {
      return true;
    }
  }
  return false;
}

void Rally::drop_first(size_t number) {
  std::shift_left(agents.begin(), agents.begin() + count, static_cast<ptrdiff_t>(number));
  count = static_cast<uint8_t>(count - number);
  std::fill(agents.begin() + count, agents.end(), 0);
}

void Rally::add(uint64_t from, uint64_t to, Time now) {
  if (has_step(from, to)) {
    const auto next = static_cast<uint8_t>((last + 1) % count);
    if (is_ring && agents[next] == from) {
      last = next;
      ++turns;
    }
    return;
  }
  if (is_ring || agents[count - 1] != from) {
    *this = begin(key, from, to, now);
    return;
  }
  const auto end = agents.begin() + count;
  const auto found = std::find(agents.begin(), end, to);
  if (found == end) {
    drop_first(count == ring_max ? 1 : 0);
    agents[count++] = to;
    last = static_cast<uint8_t>(count - 2);
    return;
  }
  drop_first(static_cast<size_t>(found - agents.begin()));
  is_ring = true;
  last = static_cast<uint8_t>(count - 1);
  turns = count;
}

bool Rally::has(uint64_t agent) const {
  return std::find(agents.begin(), agents.begin() + count, agent) != agents.begin() + count;
}

bool Rally::is_good() const {
  const bool is_last = is_ring ? last < count : last + 2 == count;
  return key != 0 && count >= 2 && count <= ring_max && is_last &&
         (is_ring ? turns >= count : turns == 1) &&
         std::find(agents.begin(), agents.begin() + count, 0) == agents.begin() + count;
}

void encode(const Rally& rally, Writer& out) {
  out.fixed64(rally.key);
  out.u8(rally.count);
  for (size_t n = 0; n < rally.count; ++n) {
    out.fixed64(rally.agents[n]);
  }
  out.u8(rally.last);
  out.boolean(rally.is_ring);
  out.varint(rally.turns);
  out.time(rally.since);
}

Rally decode_rally(Reader& in) {
  Rally rally;
  rally.key = in.fixed64();
  rally.count = in.u8();
  for (size_t n = 0; n < rally.count && n < Rally::ring_max; ++n) {
    rally.agents[n] = in.fixed64();
  }
  rally.last = in.u8();
  rally.is_ring = in.boolean();
  rally.turns = in.varint();
  rally.since = in.time();
  if (!rally.is_good()) {
    in.fail();
  }
  return rally;
}

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

Rally Rallies::with(uint64_t key, uint64_t from, uint64_t to, Time now, Duration window,
                    Time interrupted) const {
  const uint32_t slot = find(key);
  if (slot == none || rallies_[slot].rally.since + window <= now ||
      rallies_[slot].rally.since < interrupted) {
    return Rally::begin(key, from, to, now);
  }
  Rally rally = rallies_[slot].rally;
  rally.add(from, to, now);
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
    if (link.rally.has(name)) {
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
