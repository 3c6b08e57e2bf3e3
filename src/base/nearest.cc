// SPDX-License-Identifier: Apache-2.0
#include "base/nearest.h"

#include <algorithm>
#include <array>

namespace parley::base {

size_t edit_distance(std::string_view a, std::string_view b, size_t at_most) {
  constexpr size_t size_max = 64;
  a = a.substr(0, size_max);
  b = b.substr(0, size_max);
  std::array<size_t, size_max + 1> row{};
  for (size_t j = 0; j <= b.size(); ++j) {
    row[j] = j;
  }
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    size_t least = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t substituted = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({substituted, row[j] + 1, row[j - 1] + 1});
      least = std::min(least, row[j]);
    }
    if (least > at_most) {
      return least;  // no row has less than the one above it
    }
  }
  return row[b.size()];
}

}  // namespace parley::base
