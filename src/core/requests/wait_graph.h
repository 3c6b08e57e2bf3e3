// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "core/messages/messages.h"
#include "core/model/wire.h"

namespace parley::core {

// Who waits for whom: an edge for each request whose sender goes on only when it is answered. A
// circle of them never ends by itself.
//
// The agents are kept in an order in which each waits only for later ones. So a request that fits
// the order closes no circle, and that is seen at once; one that does not is looked into, and if it
// closes none either, those in between change places.
class WaitGraph {
 public:
  struct Edge {
    Seq message;
    AgentRef from = none;    // who waits
    AgentRef to = none;      // for whom
    Time until;              // then it waits no more
    bool asks_back = false;  // a question to the one whose request it works on
    uint64_t life = 0;       // of the node whose caller waits; 0: the sender waits by itself
    // The first request of the chain that this one passes on. Then `from` and `until` are those of
    // that request. 0: none.
    Seq carries{};

    static void fields(auto& self, auto& field) {
      field("message", self.message);
      field("until", self.until);
      field("asks_back", self.asks_back);
      field("life", self.life, Form::fixed);
      field("carries", self.carries);
    }
    bool operator==(const Edge&) const = default;
  };

  void add(const Edge& edge);
  // Does nothing when there is none. Those that carry it go with it.
  void remove(Seq message);
  // It waits longer, by way of the node with this life.
  void prolong(Seq message, Time until, uint64_t life);
  // nullptr when there is none.
  const Edge* find(Seq message) const;
  // Those whose time is over.
  void expire(Time now);

  // The edges that lead from `from` to `to`; empty when none do. What an agent asks back closes no
  // circle of two: who was asked can answer while it waits. Does not depend on the order.
  std::vector<Edge> path(AgentRef from, AgentRef to) const;

  // Whether each agent has a place of its own, and those edges that fit lead to later ones. Always
  // so; for checks.
  bool is_in_order() const;

  // Those that last. `decode` is for a graph that is new, and false when the bytes are not what
  // `encode` writes.
  void encode(Time now, Writer& out) const;
  bool decode(Messages& messages, Reader& in);

  size_t size() const { return edges_.size(); }
  // Pairs of agents of whom one waits for the other: what a search goes along, however many
  // requests there are between the two.
  size_t pairs() const { return pairs_.size(); }
  const std::map<Seq, Edge>& edges() const { return edges_; }

 private:
  // An end, the oldest edge of a pair, and the other end.
  using Key = std::tuple<AgentRef, Seq, AgentRef>;
  // The edges from one agent to another, as one.
  struct Pair {
    std::set<Seq> edges{};    // with those that ask back
    std::set<Seq> waiting{};  // without
    size_t in_order = 0;      // how many fit the order
  };
  struct Place {
    int64_t rank = 0;
    uint32_t edges = 0;  // that begin or end there
  };

  static bool has_some(const std::set<Key>& index, AgentRef agent);
  bool may_lead(AgentRef from, AgentRef to) const;
  // One that is new stands before or behind all others.
  Place& place_of(AgentRef agent, bool before_all);
  // Makes `from` come before `to`; false when that cannot be.
  bool put_in_order(AgentRef from, AgentRef to);
  // Those that can be reached from `start` by edges in order, along or against them, up to a rank.
  std::vector<AgentRef> collect(AgentRef start, bool along, int64_t limit) const;
  std::vector<Edge> search(AgentRef from, AgentRef to) const;
  void leave(AgentRef agent);
  void join_pair(const Edge& edge, bool fits);
  void leave_pair(const Edge& edge);

  std::map<Seq, Edge> edges_;
  std::map<std::pair<AgentRef, AgentRef>, Pair> pairs_;
  std::set<Key> out_;  // pairs by who waits, those with the oldest edge first
  std::set<Key> in_;   // by who is waited for
  std::set<std::pair<Time, Seq>> ends_;
  std::set<std::pair<Seq, Seq>> carried_;  // by what is carried
  std::map<AgentRef, Place> places_;
  int64_t least_ = 0;  // of all ranks that were ever given
  int64_t most_ = 0;
  std::set<Seq> unordered_;  // edges against the order: asked back, or let pass with a warning
};

}  // namespace parley::core
