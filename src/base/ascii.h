// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace parley::base {

// Of ASCII; any other character is as it was.
constexpr char to_lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

}  // namespace parley::base
