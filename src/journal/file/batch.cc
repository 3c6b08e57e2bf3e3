// SPDX-License-Identifier: Apache-2.0
#include "journal/file/batch.h"

#include <utility>

#include "base/check.h"
#include "journal/file/format.h"

namespace parley::journal {

void Batch::make(std::span<const std::string_view> payloads, uint64_t size, const Head& head) {
  first = head.first;
  seed = head.seed;
  bytes.clear();
  bytes.reserve(static_cast<size_t>(size + block_bytes));
  for (Seq seq = first; const std::string_view payload : payloads) {
    append_record(bytes, seed, {seq, head.time, head.synced}, payload);
    seq = seq.next();
  }
  records_bytes = bytes.size();
  // Zeros up to the end of the block: it is written whole anyway, and the kernel need not read
  // the rest of a recycled one first.
  const uint64_t end = whole_blocks(head.at + records_bytes);
  bytes.resize(static_cast<size_t>(end - head.at));
}

Seq Batch::read(Seq from, const size_t& left,
                const std::function<void(const Record&)>& visit) const {
  // A pending batch may come to count meanwhile, and take the place of this one: then the bytes
  // stay where they are, but the seed is another.
  const uint32_t seed_of_batch = seed;
  for (std::string_view rest = records(); !rest.empty() && left > 0;) {
    const auto head = decode_head(rest, seed_of_batch);
    CHECK(head.has_value());
    if (head->place.seq == from) {
      visit({from, head->place.time, rest.substr(record_header_bytes, head->payload_bytes)});
      from = from.next();
    }
    rest.remove_prefix(static_cast<size_t>(head->bytes()));
  }
  return from;
}

void RecentBatches::begin(Seq next) {
  newest_.first = next;
  former_.first = next;
}

Seq RecentBatches::read(Seq from, const size_t& left,
                        const std::function<void(const Record&)>& visit) const {
  return holder(from).read(from, left, visit);
}

std::string RecentBatches::fetch(Seq seq) const {
  std::string payload;
  size_t left = 1;
  holder(seq).read(seq, left, [&](const Record& record) {
    payload = record.payload;
    left = 0;
  });
  return payload;
}

// Swaps and does not move: whoever reads the former batch in this moment still has its bytes, as
// those of the next coming one, until that is made.
const Batch& RecentBatches::count_coming() {
  std::swap(former_, newest_);
  std::swap(newest_, coming_);
  return newest_;
}

}  // namespace parley::journal
