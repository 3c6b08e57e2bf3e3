// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

namespace parley::base {

// A record's place in the journal: 1 for the first, one more for each that follows. 0 is none.
struct Seq {
  uint64_t n = 0;

  auto operator<=>(const Seq&) const = default;
  constexpr Seq next() const { return Seq{n + 1}; }
};

// Sixteen opaque bytes. A message's id in its canonical form: the UUID itself where the sender's
// dialect has UUIDs, else derived from the sender's own id by the dialect. All zero is none.
struct Id128 {
  std::array<uint8_t, 16> bytes{};

  auto operator<=>(const Id128&) const = default;
  bool is_none() const { return *this == Id128{}; }
  uint64_t high() const { return word(0); }
  uint64_t low() const { return word(8); }

 private:
  uint64_t word(size_t at) const {
    uint64_t value = 0;
    std::memcpy(&value, bytes.data() + at, sizeof value);
    return value;
  }
};

using MessageId = Id128;

// `f47ac10b-58cc-4372-a567-0e02b2c3d479`, lower case.
std::string format_uuid(const Id128& id);

// Reads 8-4-4-4-12 hexadecimal digits of either case; any version and variant.
std::optional<Id128> parse_uuid(std::string_view text);

}  // namespace parley::base
