// SPDX-License-Identifier: Apache-2.0
#include "core/waitgraph.h"

#include <algorithm>
#include <deque>

namespace parley::core {

namespace {

// One of the two searches that meet: from the one end along the edges, from the other against them.
struct Search {
  std::map<AgentRef, Seq> reached;  // by which edge; 0: it began there
  std::deque<AgentRef> frontier;

  explicit Search(AgentRef start) : reached{{start, Seq{}}}, frontier{start} {}
};

}  // namespace

void WaitGraph::add(const Edge& edge) {
  remove(edge.message);
  edges_.emplace(edge.message, edge);
  out_.emplace(edge.from, edge.message);
  in_.emplace(edge.to, edge.message);
  if (edge.until != base::time_max) {
    ends_.emplace(edge.until, edge.message);
  }
}

void WaitGraph::remove(Seq message) {
  const auto at = edges_.find(message);
  if (at == edges_.end()) {
    return;
  }
  out_.erase({at->second.from, message});
  in_.erase({at->second.to, message});
  ends_.erase({at->second.until, message});
  edges_.erase(at);
}

void WaitGraph::expire(Time now) {
  while (!ends_.empty() && ends_.begin()->first <= now) {
    remove(ends_.begin()->second);
  }
}

// From both ends in turn, so that it costs the smaller side: one who asked thousands, or whom
// thousands ask, does not make every other request dear.
std::vector<WaitGraph::Edge> WaitGraph::path(AgentRef from, AgentRef to) const {
  const auto has_some = [](const std::set<Key>& index, AgentRef agent) {
    const auto at = index.lower_bound({agent, Seq{}});
    return at != index.end() && std::get<0>(*at) == agent;
  };
  if (!has_some(out_, from) || !has_some(in_, to)) {
    return {};
  }
  Search ahead(from);
  Search behind(to);
  AgentRef met = none;
  // Goes on by one agent. False when there is nothing left on this side.
  const auto step = [&](Search& mine, const Search& other, const std::set<Key>& index,
                        bool along) {
    if (mine.frontier.empty()) {
      return false;
    }
    const AgentRef agent = mine.frontier.front();
    mine.frontier.pop_front();
    for (auto at = index.lower_bound({agent, Seq{}});
         at != index.end() && std::get<0>(*at) == agent && met == none; ++at) {
      const Edge& edge = edges_.at(std::get<1>(*at));
      const AgentRef next = along ? edge.to : edge.from;
      const bool is_whole = edge.from == from && edge.to == to;
      if ((is_whole && edge.asks_back) || !mine.reached.emplace(next, edge.message).second) {
        continue;
      }
      mine.frontier.push_back(next);
      met = other.reached.contains(next) ? next : none;
    }
    return true;
  };
  while (met == none && step(ahead, behind, out_, true) && met == none &&
         step(behind, ahead, in_, false)) {
  }
  std::vector<Edge> edges;
  if (met == none) {
    return edges;
  }
  for (AgentRef at = met; ahead.reached.at(at).n != 0; at = edges.back().from) {
    edges.push_back(edges_.at(ahead.reached.at(at)));
  }
  std::ranges::reverse(edges);
  for (AgentRef at = met; behind.reached.at(at).n != 0; at = edges.back().to) {
    edges.push_back(edges_.at(behind.reached.at(at)));
  }
  return edges;
}

}  // namespace parley::core
