// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string>

#include "sim/edge/world.h"

namespace parley::edge_sim {
namespace {

TEST(EdgeSim, SameSeedIsTheSameRun) {
  const Result first = run({.seed = 7, .steps = 100});
  const Result second = run({.seed = 7, .steps = 100});
  EXPECT_EQ(first.entries, second.entries);
  EXPECT_EQ(first.history, second.history);
  EXPECT_EQ(first.coverage.all(), second.coverage.all());
}

}  // namespace
}  // namespace parley::edge_sim
