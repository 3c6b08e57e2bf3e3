// SPDX-License-Identifier: Apache-2.0
#include "sim/shared_log.h"

namespace parley::sim {

void SharedLog::store(const Batch& batch) {
  const Time before = records_.empty() ? Time{} : records_.back().time;
  const Time now = setting_.clock.now();
  bool again = false;
  for (const std::string& payload : batch.payloads) {
    Record record;
    record.time = std::max(before, now);
    record.stamp = setting_.canary == Canary::clock_back ? setting_.clock.wall() : record.time;
    record.payload = payload;
    const auto entry = core::decode_entry(last().next(), record.time, payload);
    if (entry) {
      record.id = entry->id;
      record.repeated = !ids_.insert(entry->id).second;
      again |= record.repeated;
    }
    records_.push_back(std::move(record));
  }
  ends_.push_back(last());
  if (again) {
    setting_.coverage.count("fault", "stored twice");
  }
  if (batch.sync && setting_.canary != Canary::promised_unsynced) {
    sync(last());
  }
}

bool SharedLog::arrive() {
  if (late_.empty()) {
    return false;
  }
  const auto at = late_.begin() + static_cast<std::ptrdiff_t>(setting_.random.below(late_.size()));
  const Batch batch = std::move(*at);
  late_.erase(at);
  store(batch);
  return true;
}

size_t SharedLog::lose_power() {
  const Seq safe = setting_.canary == Canary::synced_lost ? Seq{synced_.n / 2} : synced_;
  const uint64_t lost = setting_.random.below(last().n - safe.n + 1);
  for (uint64_t n = 0; n < lost; ++n) {
    if (!records_.back().repeated) {
      ids_.erase(records_.back().id);
    }
    records_.pop_back();
  }
  std::erase_if(ends_, [this](Seq end) { return end > last(); });
  if (ends_.empty() || ends_.back() != last()) {
    ends_.push_back(last());
  }
  synced_ = std::min(synced_, last());
  late_.clear();
  return static_cast<size_t>(lost);
}

}  // namespace parley::sim
