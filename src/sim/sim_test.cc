// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string>

#include "sim/world.h"

namespace parley::sim {
namespace {

std::string story(const Options& options, const Result& result) {
  std::string text =
      std::string(check_name(result.failure->check)) + ": " + result.failure->detail + "\n";
  for (const std::string& line : result.history) {
    text += "  " + line + "\n";
  }
  return text + "replay: " + replay_command(options);
}

TEST(Sim, ManySeedsHoldAndReachEverything) {
  Coverage coverage;
  for (uint64_t seed = 1; seed <= 400; ++seed) {
    const Options options{.seed = seed};
    const Result result = run(options);
    ASSERT_FALSE(result.failure) << story(options, result);
    coverage.add(result.coverage);
  }
  for (const std::string& name : Coverage::expected()) {
    EXPECT_GT(coverage.of(name), 0u) << name << " was never reached";
  }
}

// Those outside of the range above.
TEST(Sim, SeedsThatOnceFailedHold) {
  for (const uint64_t seed : {50933, 51393, 300568, 350130, 350879, 351500, 410753, 412450, 412654,
                              421452, 422290, 422637, 422722, 606673, 606866}) {
    const Options options{.seed = seed};
    const Result result = run(options);
    EXPECT_FALSE(result.failure) << story(options, result);
  }
}

TEST(Sim, SameSeedIsTheSameRun) {
  const Result first = run({.seed = 7, .steps = 200});
  const Result second = run({.seed = 7, .steps = 200});
  EXPECT_EQ(first.entries, second.entries);
  EXPECT_EQ(first.history, second.history);
  EXPECT_EQ(first.coverage.all(), second.coverage.all());
}

class SimCanary : public testing::TestWithParam<CanaryInfo> {};

TEST_P(SimCanary, IsCaught) {
  constexpr uint64_t seeds_max = 1'000;  // Some are caught by their own check only now and then.
  std::string others;
  for (uint64_t seed = 1; seed <= seeds_max; ++seed) {
    const Result result = run({.seed = seed, .canary = GetParam().canary});
    if (!result.failure) {
      continue;
    }
    if (result.failure->check == GetParam().caught_by) {
      RecordProperty("caught_by", std::string(check_name(result.failure->check)));
      std::cout << GetParam().name << " is caught by `" << check_name(result.failure->check)
                << "` with seed " << seed << ": " << result.failure->detail << "\n";
      return;
    }
    others += " " + std::string(check_name(result.failure->check));
  }
  FAIL() << GetParam().name << " is not caught by `" << check_name(GetParam().caught_by) << "` in "
         << seeds_max << " seeds; by others:" << others;
}

INSTANTIATE_TEST_SUITE_P(All, SimCanary, testing::ValuesIn(all_canaries()),
                         [](const auto& param) { return std::string(param.param.name); });

}  // namespace
}  // namespace parley::sim
