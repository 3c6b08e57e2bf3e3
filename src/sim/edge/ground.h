// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "sim/edge/world.h"
#include "sim/setting.h"

namespace parley::edge_sim {

// A directory in memory, where there is one, that goes with it.
class Scratch {
 public:
  Scratch();
  ~Scratch();
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  const std::string& path() const { return path_; }

 private:
  static inline uint64_t last_ = 0;
  std::string path_;
};

// Asks and waits for the answer, a turn each millisecond: for what a run needs before it begins,
// and after it ended.
Reply ask_and_wait(RunState& run, const Ask& ask, const std::string& token,
                   const std::function<void()>& turn);

// What a run begins with: its chance, and what the broker takes for chance, from the seed.
sim::Setting setting_of(const Options& options);

}  // namespace parley::edge_sim
