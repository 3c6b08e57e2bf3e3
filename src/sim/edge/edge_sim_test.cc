// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <malloc.h>

#include <algorithm>
#include <iostream>
#include <string>

#include "sim/edge/world.h"

namespace parley::edge_sim {
namespace {

TEST(EdgeSim, SameSeedIsTheSameRun) {
  for (const uint64_t seed : {7, 8}) {  // Without a cast, and with.
    const Result first = run({.seed = seed, .steps = 100});
    const Result second = run({.seed = seed, .steps = 100});
    EXPECT_EQ(first.entries, second.entries);
    EXPECT_EQ(first.history, second.history);
    EXPECT_EQ(first.coverage.all(), second.coverage.all());
  }
}

constexpr uint64_t seeds_in_chunk = 30;

std::string story(const Options& options, const Result& result) {
  std::string text = result.fault->check + ": " + result.fault->detail + "\n";
  constexpr size_t lines_max = 60;
  const size_t count = result.history.size();
  for (size_t n = count - std::min(count, lines_max); n < count; ++n) {
    text += "  " + result.history[n] + "\n";
  }
  return text + "replay: " + replay_command(options);
}

sim::Coverage run_chunk(uint64_t first) {
  sim::Coverage coverage;
  for (uint64_t seed = first; seed < first + seeds_in_chunk; ++seed) {
    const Options options{.seed = seed};
    const Result result = run(options);
    EXPECT_FALSE(result.fault) << story(options, result);
    coverage.add(result.coverage);
    if (result.fault) {
      break;
    }
  }
  return coverage;
}

// Each case is a test of its own for ctest, which runs several at a time.
class EdgeSeeds : public testing::TestWithParam<uint64_t> {};

TEST_P(EdgeSeeds, Hold) { run_chunk(GetParam()); }

INSTANTIATE_TEST_SUITE_P(From, EdgeSeeds, testing::Range<uint64_t>(31, 241, seeds_in_chunk),
                         [](const auto& param) { return std::to_string(param.param); });

// The other 90 of the 300 seeds.
TEST(EdgeSim, SeedsHoldAndReachEverything) {
  sim::Coverage coverage;
  for (const uint64_t first : {1, 241, 271}) {
    coverage.add(run_chunk(first));
  }
  for (const std::string& name : expected_coverage()) {
    EXPECT_GT(coverage.of(name), 0u) << name << " was never reached";
  }
}

// What a run takes it gives back: all that the broker had goes with it.
TEST(EdgeSim, RunsLeaveNoMemory) {
  run({.seed = 7, .steps = 100});  // What is made once.
  run({.seed = 8, .steps = 100});
  const size_t before = mallinfo2().uordblks;
  run({.seed = 7, .steps = 100});
  run({.seed = 8, .steps = 100});
  const size_t after = mallinfo2().uordblks;
  constexpr size_t slack = 64 * 1'024;
  EXPECT_LT(after, before + slack);
}

class EdgeCanary : public testing::TestWithParam<RoleCanaryInfo> {};

TEST_P(EdgeCanary, IsCaught) {
  constexpr uint64_t seeds_max = 60;
  std::string others;
  for (uint64_t seed = 1; seed <= seeds_max; ++seed) {
    const Result result = run({.seed = seed, .canary = GetParam().canary});
    if (result.fault && result.fault->check == GetParam().caught_by) {
      RecordProperty("caught_by", result.fault->check);
      std::cout << GetParam().name << " is caught by `" << result.fault->check << "` with seed "
                << seed << ": " << result.fault->detail << "\n";
      return;
    }
    others += result.fault ? " " + result.fault->check : "";
  }
  FAIL() << GetParam().name << " is not caught by `" << GetParam().caught_by << "` in " << seeds_max
         << " seeds; by others:" << others;
}

INSTANTIATE_TEST_SUITE_P(All, EdgeCanary, testing::ValuesIn(all_role_canaries()),
                         [](const auto& param) { return std::string(param.param.name); });

}  // namespace
}  // namespace parley::edge_sim
