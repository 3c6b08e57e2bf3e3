// SPDX-License-Identifier: Apache-2.0
#include "base/size.h"

#include <array>
#include <charconv>

namespace parley::base {

namespace {

struct Unit {
  std::string_view name;
  uint64_t bytes;
};

// Largest first: format_size takes the first that divides.
constexpr std::array<Unit, 5> units = {{{"TB", uint64_t{1} << 40},
                                        {"GB", uint64_t{1} << 30},
                                        {"MB", uint64_t{1} << 20},
                                        {"KB", uint64_t{1} << 10},
                                        {"B", 1}}};

}  // namespace

std::string format_size(uint64_t bytes) {
  for (const Unit& unit : units) {
    if (bytes != 0 && bytes % unit.bytes == 0) {
      return std::to_string(bytes / unit.bytes).append(unit.name);
    }
  }
  return "0B";
}

std::optional<uint64_t> parse_size(std::string_view text) {
  uint64_t count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (error != std::errc{}) {
    return std::nullopt;
  }
  const std::string_view suffix = text.substr(static_cast<size_t>(end - text.data()));
  if (suffix.empty()) {
    return count;
  }
  for (const Unit& unit : units) {
    uint64_t bytes = 0;
    if (suffix == unit.name && !__builtin_mul_overflow(count, unit.bytes, &bytes)) {
      return bytes;
    }
  }
  return std::nullopt;
}

}  // namespace parley::base
