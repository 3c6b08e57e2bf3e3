// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>

#include "edge/webhooks/poster.h"
#include "sim/edge/run_state.h"

namespace parley::edge_sim {

// The network to the webhooks of agents: brings requests late, not at all, or without their answer.
class Hooks {
 public:
  explicit Hooks(RunState& run) : run_(run) {}

  // As edge::Webhooks::Options::send.
  bool bring(edge::Poster::Request request, edge::Poster::Done done);
  // Lets what is due get there.
  void pass_time();
  // The broker ends, and nobody waits for the answers.
  void forget() { waiting_.clear(); }

 private:
  struct Waiting {
    edge::Poster::Request request;
    edge::Poster::Done done;
    Time due;
  };

  void deliver(const Waiting& waiting);

  RunState& run_;
  std::deque<Waiting> waiting_;
};

}  // namespace parley::edge_sim
