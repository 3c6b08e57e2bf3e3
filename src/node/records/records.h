// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <expected>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "journal/journal.h"
#include "node/records/recent_records.h"
#include "node/records/warm_records.h"

namespace parley::node {

// The records of live messages, for those who show them or send them on: from memory where they are
// recent or were warmed, else from the journal. Belongs to the node's thread.
class Records {
 public:
  struct Limits {
    size_t recent_bytes_max = 16 * 1024 * 1024;
    size_t warm_bytes_max = 8 * 1024 * 1024;
  };
  // The journal must outlive it.
  Records(journal::Journal& journal, const Limits& limits)
      : journal_(journal), recent_(limits.recent_bytes_max), warm_(limits.warm_bytes_max) {}

  // A message was just applied. `seq` is greater than any before.
  void add(base::Seq seq, std::string_view payload) { recent_.add(seq, payload); }

  // The record of a live message; good until the next call of anything here, and until the node's
  // next step. Waits for the disk where it is not in memory.
  std::expected<std::string_view, base::Error> read(base::Seq seq);

  // Brings the records into memory without a wait for the disk: `done` is called at once when they
  // are there, else within a later step. Good for records of a few MiB in all; of more, the first
  // may be gone again.
  using Done = std::move_only_function<void()>;
  void warm(const std::vector<base::Seq>& seqs, Done done);
  bool is_warm(base::Seq seq) const {
    return !recent_.find(seq).empty() || !warm_.find(seq).empty();
  }

  // Whether some came in that were asked for; and takes them, and calls those who have all of
  // theirs.
  bool has_fetched() const { return !warming_.empty() && journal_.has_fetched(); }
  void take_fetched();

  // How often `read` had to read the disk, and how many were read by the journal's thread.
  uint64_t cold_reads() const { return cold_reads_; }
  uint64_t cold_bytes() const { return cold_bytes_; }
  uint64_t warmed() const { return warmed_; }

 private:
  struct Warming {
    size_t left = 0;
    Done done;
  };

  journal::Journal& journal_;
  RecentRecords recent_;
  WarmRecords warm_;
  std::deque<Warming> warming_;  // in the order of what was asked of the journal
  uint64_t cold_reads_ = 0;
  uint64_t cold_bytes_ = 0;
  uint64_t warmed_ = 0;
};

}  // namespace parley::node
