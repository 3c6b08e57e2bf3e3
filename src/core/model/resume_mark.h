// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstdint>

namespace parley::core {

// A place in what one stream handed out. A client that lost its connection names the last one that
// it saw, so that only what came after it is pushed again. Order of delivery is not order of the
// log, so a message's seq could not say it.
struct ResumeMark {
  uint32_t stream = 0;  // its number in the workspace; 0: no place at all
  uint32_t number = 0;  // counts from 1; 0: what its client had seen before the stream was opened

  static void fields(auto& self, auto& field) {
    field("stream", self.stream);
    field("number", self.number);
  }
  auto operator<=>(const ResumeMark&) const = default;
  bool is_none() const { return stream == 0; }
  // Whether who saw this place saw that one too, of the same stream.
  bool covers(const ResumeMark& other) const {
    return stream != 0 && stream == other.stream && number >= other.number;
  }
};

}  // namespace parley::core
