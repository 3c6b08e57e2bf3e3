// SPDX-License-Identifier: Apache-2.0
#include "node/records/records.h"

#include <utility>

namespace parley::node {

using base::Error;
using base::Seq;

std::expected<std::string_view, Error> Records::read(Seq seq) {
  if (const std::string_view recent = recent_.find(seq); !recent.empty()) {
    return recent;
  }
  if (const std::string_view warm = warm_.find(seq); !warm.empty()) {
    return warm;
  }
  ++cold_reads_;
  auto fetched = journal_.fetch(seq);
  if (!fetched) {
    return std::unexpected(fetched.error());
  }
  cold_bytes_ += fetched->size();
  warm_.add(seq, std::move(*fetched));  // who asks once often asks again
  return warm_.find(seq);
}

void Records::warm(const std::vector<Seq>& seqs, Done done) {
  std::vector<Seq> cold;
  for (const Seq seq : seqs) {
    if (seq.n != 0 && !is_warm(seq)) {
      cold.push_back(seq);
    }
  }
  if (cold.empty()) {
    done();
    return;
  }
  warming_.push_back({cold.size(), std::move(done)});
  journal_.fetch_later(cold);
}

// Each is told as soon as its last record is here, so that none of them has made room for others.
void Records::take_fetched() {
  if (!has_fetched()) {
    return;
  }
  for (journal::Fetched& fetched : journal_.take_fetched()) {
    if (fetched.payload) {
      ++warmed_;
      warm_.add(fetched.seq, std::move(*fetched.payload));
    }
    if (--warming_.front().left == 0) {
      Done done = std::move(warming_.front().done);
      warming_.pop_front();
      done();
    }
  }
}

}  // namespace parley::node
