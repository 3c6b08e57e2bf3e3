// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>

#include "edge/webhooks/poster.h"
#include "sim/edge/stage.h"

namespace parley::edge_sim {

// The network to the webhooks of agents: brings requests late, not at all, or without their answer.
class Hooks {
 public:
  explicit Hooks(Stage& stage) : stage_(stage) {}

  // As edge::Webhooks::Options::bring.
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

  Stage& stage_;
  std::deque<Waiting> waiting_;
};

}  // namespace parley::edge_sim
