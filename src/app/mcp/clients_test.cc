// SPDX-License-Identifier: Apache-2.0
#include "app/mcp/clients.h"

#include <gtest/gtest.h>

namespace parley::app {
namespace {

TEST(McpClients, AHookOfParleysIsKnownByWhatItRuns) {
  for (const char* line : {"parley hook", "parley hook --agent bo", "/opt/x/parley hook --quiet",
                           "'/a b/parley' hook", "\"/a b/parley\" hook", "/a\\ b/parley hook",
                           "A=1 PARLEY_DATA='/x y' parley  hook", " parley hook"}) {
    EXPECT_TRUE(runs_hook(line)) << line;
  }
  for (const char* line : {"", "parley", "parley send hook", "hook parley", "echo parley hook",
                           "/opt/parley/other hook", "parley-hook", "A=1", "'parley hook'"}) {
    EXPECT_FALSE(runs_hook(line)) << line;
  }
}

}  // namespace
}  // namespace parley::app
