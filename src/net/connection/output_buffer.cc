// SPDX-License-Identifier: Apache-2.0
#include "net/connection/output_buffer.h"

#include "base/check.h"

namespace parley::net {

void OutputBuffer::wrote(size_t size) {
  begin_ += size;
  written_ += size;
  CHECK(begin_ <= bytes_.size());
  if (is_empty()) {
    bytes_.clear();
    begin_ = 0;
  } else if (begin_ > bytes_.size() / 2) {
    // The rest is not moved at every write: that would cost the square of its size.
    bytes_.erase(0, begin_);
    begin_ = 0;
  }
}

void OutputBuffer::add_reports(std::vector<Report>& reports) {
  for (Report& each : reports) {
    reports_.emplace_back(written_ + size(), std::move(each));
  }
  reports.clear();
}

void OutputBuffer::tell_written() {
  while (!reports_.empty() && reports_.front().first <= written_) {
    const Report report = std::move(reports_.front().second);
    reports_.pop_front();
    report->end(true);
  }
}

}  // namespace parley::net
