// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/coverage.h"
#include "sim/edge/run_state.h"
#include "sim/roles/canaries.h"

namespace parley::edge_sim {

struct Options {
  uint64_t seed = 1;
  uint32_t steps = 300;
  bool verbose = false;
  bool greedy = false;  // With greedy agents and bystanders instead: sim/greed/greed.h.
  RoleCanary canary = RoleCanary::none;
};

struct Result {
  std::optional<Fault> fault;
  std::vector<std::string> history;  // What happened last, oldest first.
  sim::Coverage coverage;
  uint64_t entries = 0;   // Of the journal.
  uint64_t messages = 0;  // Accepted.
  uint64_t seen = 0;      // By their receivers.
};

// The whole broker, from the bytes of its connections to its journal, in one thread from one seed
// with clients that know its public interface only. What they wrote down is the verdict. The same
// options give the same run.
Result run(const Options& options);

// What a good number of seeds must reach, as their coverage names it.
std::vector<std::string> expected_coverage();

// The command line that runs the same again.
std::string replay_command(const Options& options);

}  // namespace parley::edge_sim
