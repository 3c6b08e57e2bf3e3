// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "journal/journal.h"

namespace parley::journal {

// A batch as it lies in the file, with the zeros behind it.
struct Batch {
  // Where a batch goes, and what its records have in common.
  struct Head {
    Seq first;          // the first record gets this place, the others follow
    Time time;          // of all records
    Seq synced;         // the last record that is known to be durable
    uint32_t seed = 0;  // of the segment
    uint64_t at = 0;    // the offset in the file
  };

  std::string bytes;
  size_t records_bytes = 0;
  Seq first;
  uint32_t seed = 0;

  std::string_view records() const { return std::string_view(bytes).substr(0, records_bytes); }

  // Makes the records of the payloads, which take `size` bytes. Reuses the memory that it has.
  void make(std::span<const std::string_view> payloads, uint64_t size, const Head& head);

  // Hands out the records from `from` on until nothing is `left`, which `visit` counts down.
  // Returns the first record that it did not hand out. The visitor may ask the journal for its
  // state, and so replace this batch by the next one.
  Seq read(Seq from, const size_t& left, const std::function<void(const Record&)>& visit) const;
};

// The newest batches of a log, so that reading them back touches no disk. Two of them count and can
// be read, because a small batch may be stored before the large one ahead of it was read; the third
// is being stored. The memory of the three goes round. One thread, but for `coming`.
class RecentBatches {
 public:
  // The first batch will begin with the record `next`. Once, before all else.
  void begin(Seq next);

  // Whether a record that counts is here.
  bool holds(Seq seq) const { return seq >= former_.first; }

  // As Batch::read, from the one batch that holds `from`.
  Seq read(Seq from, const size_t& left, const std::function<void(const Record&)>& visit) const;

  // The payload of a record that is here.
  std::string fetch(Seq seq) const;

  // The batch that is being stored, to be made by the thread that stores it.
  Batch& coming() { return coming_; }

  // From now on `coming` counts: it is the newest, which is returned, and the oldest is forgotten.
  const Batch& count_coming();

 private:
  const Batch& holder(Seq seq) const { return seq >= newest_.first ? newest_ : former_; }

  Batch newest_;
  Batch former_;
  Batch coming_;
};

}  // namespace parley::journal
