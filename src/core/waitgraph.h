// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "core/messages.h"

namespace parley::core {

// Who waits for whom: an edge for each request whose sender goes on only when it is answered. A
// circle of them never ends by itself. All of it follows from the messages: no snapshot has it.
class WaitGraph {
 public:
  struct Edge {
    Seq message;
    AgentRef from = none;  // who waits
    AgentRef to = none;    // for whom
    Time until;            // then it waits no more
    bool asks_back = false;  // a question to the one whose request it works on
  };

  void add(const Edge& edge);
  // Does nothing when there is none.
  void remove(Seq message);
  // Those whose time is over.
  void expire(Time now);

  // The edges that lead from `from` to `to`, shortest way first found; empty when none do. What an
  // agent asks back closes no circle of two: who was asked can answer while it waits.
  std::vector<Edge> path(AgentRef from, AgentRef to) const;

  size_t size() const { return edges_.size(); }
  const std::map<Seq, Edge>& edges() const { return edges_; }

 private:
  using Key = std::tuple<AgentRef, Seq>;  // an end, and the message

  std::map<Seq, Edge> edges_;
  std::set<Key> out_;  // by who waits
  std::set<Key> in_;   // by who is waited for
  std::set<std::pair<Time, Seq>> ends_;
};

}  // namespace parley::core
