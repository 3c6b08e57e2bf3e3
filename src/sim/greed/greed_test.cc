// SPDX-License-Identifier: Apache-2.0
#include "sim/greed/greed.h"

#include <gtest/gtest.h>

#include <string>

#include "sim/greed/greedy_client.h"

namespace parley::edge_sim {
namespace {

TEST(Greed, SameSeedIsTheSameRun) {
  const Options options{.seed = 7, .steps = 150, .greedy = true};
  const Result first = run(options);
  const Result second = run(options);
  EXPECT_EQ(first.entries, second.entries);
  EXPECT_EQ(first.history, second.history);
  EXPECT_EQ(first.coverage.all(), second.coverage.all());
}

// Each attack takes place, and what has a limit reaches it.
TEST(Greed, BystandersAreAsWithoutIt) {
  sim::Coverage coverage;
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    const Options options{.seed = seed, .greedy = true};
    const Result result = run(options);
    ASSERT_FALSE(result.fault) << result.fault->check << ": " << result.fault->detail
                               << "\nreplay: " << replay_command(options);
    coverage.add(result.coverage);
  }
  for (const AttackInfo& each : all_attacks()) {
    EXPECT_GT(coverage.of("attack " + std::string(each.name)), 0u) << each.name;
  }
  for (const std::string name :
       {"topics is refused", "unknown_receivers is refused", "escalations is refused",
        "threads is served", "publishes is served", "hoard is served", "patterns 409",
        "scatters 409", "critical 429", "bytes 429", "waits 429", "questions 200", "lists 200"}) {
    EXPECT_GT(coverage.of("greedy " + name), 0u) << name << " was never reached";
  }
}

}  // namespace
}  // namespace parley::edge_sim
