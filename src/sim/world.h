// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "node/node.h"
#include "sim/checks/checker.h"
#include "sim/faulty_journal.h"
#include "sim/workload/workload.h"

namespace parley::sim {

struct Options {
  uint64_t seed = 1;
  uint32_t steps = 400;
  Canary canary = Canary::none;
  bool verbose = false;
};

struct Result {
  std::optional<Failure> failure;
  std::vector<std::string> history;  // What happened last, oldest first.
  Coverage coverage;
  uint64_t entries = 0;
  uint64_t digest = 0;  // Of all that it led to: what changes no behaviour does not change it.
};

// The whole system in one thread from one seed: nodes, the log they share, agents, faults, time,
// and the checks after every step. The same options give the same run, everywhere.
Result run(const Options& options);

// The command line that runs the same again.
std::string replay_command(const Options& options);

}  // namespace parley::sim
