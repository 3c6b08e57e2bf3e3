// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <expected>
#include <string>
#include <string_view>
#include <utility>

#include "base/error.h"

// How the core says no.
namespace parley::core {

inline std::unexpected<base::Error> refuse(base::Code code, std::string detail,
                                           std::string field = {}) {
  return std::unexpected(base::Error{code, std::move(detail), std::move(field)});
}

// A name that has a bound of its own.
inline std::string quoted(std::string_view text) { return "\"" + std::string(text) + "\""; }

// The start of what a client wrote, however long it is.
inline std::string quoted_start(std::string_view text) {
  constexpr size_t quoted_bytes_max = 256;
  return quoted(text.substr(0, quoted_bytes_max));
}

}  // namespace parley::core
