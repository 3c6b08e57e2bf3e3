// SPDX-License-Identifier: Apache-2.0
#include "core/limits/budgets.h"

#include <algorithm>

#include "base/hash.h"
#include "core/model/wire.h"

namespace parley::core {

namespace {

uint64_t never_zero(uint64_t hash) { return hash == 0 ? 1 : hash; }

}  // namespace

uint64_t Exchanges::key_of(std::string_view conversation) {
  return never_zero(base::hash64(conversation, 11));
}

uint64_t Exchanges::name_of(std::string_view agent) { return never_zero(base::hash64(agent, 12)); }

uint64_t Exchanges::key_of_pair(uint64_t one, uint64_t other) {
  return never_zero(base::mix64(std::min(one, other), std::max(one, other)));
}

Exchange Exchange::begin(uint64_t key, uint64_t from, uint64_t to, Time now) {
  Exchange exchange{.key = key, .count = 2, .turns = 1, .since = now};
  exchange.agents = {from, to};
  return exchange;
}

bool Exchange::has_step(uint64_t from, uint64_t to) const {
  for (size_t at = 0; at + (is_ring ? 0 : 1) < count; ++at) {
    if (agents[at] == from && agents[(at + 1) % count] == to) {
      return true;
    }
  }
  return false;
}

void Exchange::drop_first(size_t number) {
  std::shift_left(agents.begin(), agents.begin() + count, static_cast<ptrdiff_t>(number));
  count = static_cast<uint8_t>(count - number);
  std::fill(agents.begin() + count, agents.end(), 0);
}

void Exchange::add(uint64_t from, uint64_t to, Time now) {
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

bool Exchange::has(uint64_t agent) const {
  return std::find(agents.begin(), agents.begin() + count, agent) != agents.begin() + count;
}

bool Exchange::is_good() const {
  const bool is_last = is_ring ? last < count : last + 2 == count;
  return key != 0 && count >= 2 && count <= ring_max && is_last &&
         (is_ring ? turns >= count : turns == 1) &&
         std::find(agents.begin(), agents.begin() + count, 0) == agents.begin() + count;
}

uint32_t Exchanges::find(uint64_t key) const {
  uint32_t found = none;
  by_key_.find(key, [&](uint32_t slot) {
    if (exchanges_[slot].exchange.key == key) {
      found = slot;
    }
    return found != none;
  });
  return found;
}

Exchange Exchanges::with(uint64_t key, uint64_t from, uint64_t to, Time now, Duration window,
                         Time interrupted) const {
  const uint32_t slot = find(key);
  if (slot == none || exchanges_[slot].exchange.since + window <= now ||
      exchanges_[slot].exchange.since < interrupted) {
    return Exchange::begin(key, from, to, now);
  }
  Exchange exchange = exchanges_[slot].exchange;
  exchange.add(from, to, now);
  return exchange;
}

void Exchanges::put(const Exchange& exchange, Time now, Duration window, uint64_t size_max) {
  uint32_t slot = find(exchange.key);
  if (slot != none) {
    exchanges_[slot].exchange = exchange;
    return;
  }
  make_room(now, window, size_max);
  slot = exchanges_.add(Link{.exchange = exchange});
  by_key_.insert(exchange.key, slot);
  append(slot);
}

// Each new exchange drops two that have ended. If there are too many, it drops others until there
// is room for it, which is one unless the limit was lowered, and first passes over up to eight in
// which someone has answered.
void Exchanges::make_room(Time now, Duration window, uint64_t size_max) {
  for (int n = 0; n < 2 && first_ != none && exchanges_[first_].exchange.since + window <= now;
       ++n) {
    drop(first_);
  }
  constexpr int spared_max = 8;
  for (int n = 0; first_ != none && exchanges_.size() >= size_max; ++n) {
    const uint32_t slot = first_;
    if (n < spared_max && exchanges_[slot].exchange.turns > 1) {
      unlink(slot);
      append(slot);
    } else {
      drop(slot);
    }
  }
}

void Exchanges::append(uint32_t slot) {
  exchanges_[slot].before = last_;
  exchanges_[slot].after = none;
  (last_ == none ? first_ : exchanges_[last_].after) = slot;
  last_ = slot;
}

void Exchanges::unlink(uint32_t slot) {
  const Link& link = exchanges_[slot];
  (link.before == none ? first_ : exchanges_[link.before].after) = link.after;
  (link.after == none ? last_ : exchanges_[link.after].before) = link.before;
}

void Exchanges::drop(uint32_t slot) {
  unlink(slot);
  by_key_.erase(exchanges_[slot].exchange.key, slot);
  exchanges_.remove(slot);
}

void Exchanges::end(uint64_t key) {
  if (const uint32_t slot = find(key); slot != none) {
    drop(slot);
  }
}

void Exchanges::end_all_of(uint64_t name) {
  for (uint32_t slot = first_; slot != none;) {
    const Link& link = exchanges_[slot];
    const uint32_t next = link.after;
    if (link.exchange.has(name)) {
      drop(slot);
    }
    slot = next;
  }
}

std::vector<Exchange> Exchanges::in_line() const {
  std::vector<Exchange> all;
  all.reserve(exchanges_.size());
  for (uint32_t slot = first_; slot != none; slot = exchanges_[slot].after) {
    all.push_back(exchanges_[slot].exchange);
  }
  return all;
}

}  // namespace parley::core
