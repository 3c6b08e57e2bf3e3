// SPDX-License-Identifier: Apache-2.0
#include "node/records/recent_records.h"

#include <algorithm>

namespace parley::node {

void RecentRecords::add(base::Seq seq, std::string_view payload) {
  if (payload.size() > bytes_max_) {
    return;
  }
  if (chunks_.empty() || chunks_.back().bytes.size() + payload.size() > chunk_bytes) {
    Chunk chunk;
    // The oldest chunk's memory serves again, once there is enough of it.
    if (!chunks_.empty() && bytes_ + chunk_bytes > bytes_max_) {
      chunk = std::move(chunks_.front());
      chunks_.pop_front();
      bytes_ -= chunk.bytes.size();
      chunk.bytes.clear();
      chunk.places.clear();
    }
    chunks_.push_back(std::move(chunk));
    chunks_.back().bytes.reserve(std::max(chunk_bytes, payload.size()));
  }
  Chunk& last = chunks_.back();
  last.places.push_back(
      Place{seq, static_cast<uint32_t>(last.bytes.size()), static_cast<uint32_t>(payload.size())});
  last.bytes.append(payload);
  bytes_ += payload.size();
  while (bytes_ > bytes_max_ && chunks_.size() > 1) {
    bytes_ -= chunks_.front().bytes.size();
    chunks_.pop_front();
  }
}

std::string_view RecentRecords::find(base::Seq seq) const {
  const auto chunk = std::ranges::upper_bound(chunks_, seq, {},
                                              [](const Chunk& c) { return c.places.front().seq; });
  if (chunk == chunks_.begin()) {
    return {};
  }
  const Chunk& held = *std::prev(chunk);
  const auto place = std::ranges::lower_bound(held.places, seq, {}, &Place::seq);
  if (place == held.places.end() || place->seq != seq) {
    return {};
  }
  return std::string_view(held.bytes).substr(place->offset, place->size);
}

}  // namespace parley::node
