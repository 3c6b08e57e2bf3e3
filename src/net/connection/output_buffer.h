// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "net/write_report.h"

namespace parley::net {

// The bytes that a connection writes next, and the reports that are told when they have left.
class OutputBuffer {
 public:
  // For appending only.
  std::string& bytes() { return bytes_; }
  std::string_view unwritten() const { return std::string_view(bytes_).substr(begin_); }
  size_t size() const { return bytes_.size() - begin_; }
  bool is_empty() const { return begin_ == bytes_.size(); }

  // The first `size` unwritten bytes have left. The reports are told by `tell_written`.
  void wrote(size_t size);
  // Tells these, and leaves none, when all bytes that are in the buffer now have left.
  void add_reports(std::vector<Report>& reports);
  // Tells the reports whose bytes have left. A report may call the connection back.
  void tell_written();

  size_t capacity() const { return bytes_.capacity(); }
  void shrink() { bytes_.shrink_to_fit(); }

 private:
  std::string bytes_;
  size_t begin_ = 0;      // the bytes before it have left
  uint64_t written_ = 0;  // bytes that have left since the connection began
  std::deque<std::pair<uint64_t, Report>> reports_;  // each is due when `written_` is its number
};

}  // namespace parley::net
