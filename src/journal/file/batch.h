// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "journal/journal.h"

namespace parley::journal {

// A batch as it lies in the file, with the zeros behind it.
struct Batch {
  std::string bytes;
  size_t records_bytes = 0;
  Seq first;
  uint32_t seed = 0;

  std::string_view records() const { return std::string_view(bytes).substr(0, records_bytes); }

  // Hands out the records from `from` on until nothing is `left`, which `visit` counts down.
  // Returns the first record that it did not hand out. The visitor may ask the journal for its
  // state, and so replace this batch by the next one.
  Seq read(Seq from, const size_t& left, const std::function<void(const Record&)>& visit) const;
};

}  // namespace parley::journal
