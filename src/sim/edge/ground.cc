// SPDX-License-Identifier: Apache-2.0
#include "sim/edge/ground.h"

#include <unistd.h>

#include <filesystem>
#include <optional>

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

Reply ask_and_wait(RunState& run, const Ask& ask, const std::string& token,
                   const std::function<void()>& turn) {
  CallWire wire(run.connect());
  std::optional<Reply> heard;
  wire.ask(ask, token, [&heard](const Reply& reply) { heard = reply; });
  constexpr int turns_max = 2'000;
  for (int n = 0; n < turns_max && !heard; ++n) {
    turn();
    wire.pump(SIZE_MAX);
    run.setting.clock.advance(base::milliseconds(1));
  }
  return heard.value_or(Reply{.lost = true});
}

sim::Setting setting_of(const Options& options) {
  seed_entropy(options.seed);
  sim::Setting setting{.random = sim::Random(options.seed), .clock = sim::Clock(start_time)};
  setting.verbose = options.verbose;
  if (options.canary != RoleCanary::none) {
    setting.plant = [canary = options.canary](base::Seq seq, std::string_view payload) {
      return planted_record(canary, seq, payload);
    };
  }
  return setting;
}

}  // namespace parley::edge_sim
