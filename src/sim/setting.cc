// SPDX-License-Identifier: Apache-2.0
#include "sim/setting.h"

#include <iostream>
#include <utility>

namespace parley::sim {

void Setting::note(std::string line) {
  constexpr size_t lines_max = 80;
  if (verbose) {
    std::cout << line << '\n';
  }
  history.push_back(std::move(line));
  if (history.size() > lines_max) {
    history.pop_front();
  }
}

}  // namespace parley::sim
