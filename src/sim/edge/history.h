// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "sim/client/agent.h"
#include "sim/edge/run_state.h"

namespace parley::edge_sim {

// What the broker still tells of everything when a run is over, held to the records of the clients:
// outboxes, page by page, conversations, traces. That none of it is for other eyes each answer is
// held to anyway.
class History {
 public:
  explicit History(RunState& run) : run_(run) {}

  // Every agent asks; the answers come while the broker works.
  void ask();
  void judge() const;

 private:
  struct Listed {
    std::string sender;
    std::string body;
    uint64_t times = 0;
  };
  struct Outbox {
    std::map<std::string, Listed> messages;  // By seq; and by id, for one who was told that only.
    bool is_whole = false;
    std::string told;  // Where it is not.
  };

  void ask_page(Agent& agent, uint64_t cursor);
  void on_page(Agent& agent, const Reply& reply);
  void ask_around(Agent& agent);
  void ask_sessions(Agent& agent);

  RunState& run_;
  std::map<std::string, Outbox> outboxes_;  // By agent.
  uint64_t asked_at_ = 0;                   // The step.
};

}  // namespace parley::edge_sim
