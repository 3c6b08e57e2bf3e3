// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace parley::base {

// `512B`, `10KB`, `2MB`: the largest unit that divides it; the units are powers of 1024.
std::string format_size(uint64_t bytes);

// Reads what format_size writes (an integer and one of B, KB, MB, GB, TB), and a bare number of
// bytes; nothing else.
std::optional<uint64_t> parse_size(std::string_view text);

}  // namespace parley::base
