// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string_view>

namespace parley::base {

// How many characters must be put in, taken out or changed to make `b` of `a`; where that is more
// than `at_most`, some number that is more, which is found sooner. Looks at the first 64 of each,
// which bounds the work on other people's input.
size_t edit_distance(std::string_view a, std::string_view b, size_t at_most = 64);

// The one of `names` that is nearest to `name`, the first of several; empty when there are none.
template <typename Names>
std::string_view nearest(std::string_view name, const Names& names) {
  std::string_view best;
  size_t best_distance = static_cast<size_t>(-1);
  for (const std::string_view candidate : names) {
    const size_t distance = edit_distance(name, candidate);
    if (distance < best_distance) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

}  // namespace parley::base
