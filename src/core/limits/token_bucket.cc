// SPDX-License-Identifier: Apache-2.0
#include "core/limits/token_bucket.h"

#include <algorithm>

#include "base/hash.h"

namespace parley::core {

Duration cost_of(Priority priority, uint64_t per_min) {
  if (per_min == 0) {
    return {};
  }
  uint64_t halves = 0;
  switch (priority) {
    case Priority::critical:
      return {};
    case Priority::high:
      halves = 1;
      break;
    case Priority::normal:
      halves = 2;
      break;
    case Priority::low:
      halves = 4;
      break;
  }
  const auto minute = static_cast<uint64_t>(Bucket::minute.us);
  return Duration{static_cast<int64_t>(minute * halves / (2 * per_min))};
}

Duration cost_of(uint64_t count, uint64_t per_min) {
  const auto minute = static_cast<uint64_t>(Bucket::minute.us);
  return Duration{static_cast<int64_t>(minute * count / per_min)};
}

uint64_t Buckets::pair(Seq sender, Seq receiver) {
  return base::mix64(base::mix64(base::hash64("", 2), sender.n), receiver.n);
}

uint64_t Buckets::topic(std::string_view name) { return base::hash64(name, 3); }
uint64_t Buckets::notices(std::string_view agent) { return base::hash64(agent, 4); }
uint64_t Buckets::redeliveries(std::string_view agent) { return base::hash64(agent, 5); }
uint64_t Buckets::news(std::string_view agent) { return base::hash64(agent, 7); }

uint32_t Buckets::find(uint64_t key) const {
  uint32_t found = none;
  by_key_.find(key, [&](uint32_t slot) {
    if (entries_[slot].key == key) {
      found = slot;
    }
    return found != none;
  });
  return found;
}

Duration Buckets::used(uint64_t key, Time now) const {
  const uint32_t found = find(key);
  return found == none ? Duration{} : entries_[found].bucket.used(now);
}

Bucket& Buckets::at(uint64_t key, Time now) {
  uint32_t found = find(key);
  if (found == none) {
    sweep(now);
    found = entries_.add({.key = key, .bucket = {}});
    by_key_.insert(key, found);
    line_.push_back(found);
  }
  return entries_[found].bucket;
}

// Two for each that is added, so that the full ones are gone before they are many.
void Buckets::sweep(Time now) {
  for (int n = 0; n < 2 && !line_.empty(); ++n) {
    const uint32_t slot = line_.front();
    line_.pop_front();
    if (entries_[slot].bucket.full() > now) {
      line_.push_back(slot);
    } else {
      by_key_.erase(entries_[slot].key, slot);
      entries_.remove(slot);
    }
  }
}

std::vector<std::pair<uint64_t, Bucket>> Buckets::taken(Time now) const {
  std::vector<std::pair<uint64_t, Bucket>> taken;
  entries_.each([&](uint32_t, const Entry& entry) {
    if (entry.bucket.full() > now) {
      taken.emplace_back(entry.key, entry.bucket);
    }
  });
  std::ranges::sort(taken, {}, &std::pair<uint64_t, Bucket>::first);
  return taken;
}

}  // namespace parley::core
