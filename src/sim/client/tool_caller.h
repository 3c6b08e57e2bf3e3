// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/edge/run_state.h"

namespace parley::edge_sim {

// What an agent does by the tools of MCP beside its mail: it looks who is there and what was said,
// asks others, and ends its session now and then, if it waits for nothing in it.
class ToolCaller {
 public:
  ToolCaller(RunState& run, Agent& agent) : run_(run), agent_(agent) {}

  // Calls one tool.
  void look_around();

 private:
  void ask_another();

  RunState& run_;
  Agent& agent_;
  bool ends_session_ = false;  // Before it next looks around.
};

}  // namespace parley::edge_sim
