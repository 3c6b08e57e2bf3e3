// SPDX-License-Identifier: Apache-2.0
#include "sim/edge/ground.h"

#include <unistd.h>

#include <filesystem>

#include "sim/edge/entropy.h"

namespace parley::edge_sim {

namespace {

namespace fs = std::filesystem;

constexpr Time start_time{1'763'000'000'000'000};

}  // namespace

Scratch::Scratch() {
  const fs::path memory = "/dev/shm";
  const fs::path base = fs::exists(memory) ? memory : fs::temp_directory_path();
  path_ = (base / sim::text("parley-sim-{}-{}", ::getpid(), ++last_)).string();
  fs::remove_all(path_);
  fs::create_directories(path_);
}

Scratch::~Scratch() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

sim::Setting setting_of(const Options& options) {
  seed_entropy(options.seed);
  sim::Setting setting{.random = sim::Random(options.seed), .clock = sim::Clock(start_time)};
  setting.verbose = options.verbose;
  return setting;
}

}  // namespace parley::edge_sim
