// SPDX-License-Identifier: Apache-2.0
#include "core/requests/wait_graph.h"

#include <gtest/gtest.h>

#include <random>

namespace parley::core {
namespace {

class Graph : public ::testing::Test {
 protected:
  Seq wait(AgentRef from, AgentRef to, Time until = base::time_max) {
    seq_ = seq_.next();
    graph.add({.message = seq_, .from = from, .to = to, .until = until});
    return seq_;
  }
  // The agents on the way from one to the other.
  std::vector<AgentRef> way(AgentRef from, AgentRef to) const {
    std::vector<AgentRef> agents;
    for (const WaitGraph::Edge& edge : graph.path(from, to)) {
      EXPECT_TRUE(agents.empty() || agents.back() == edge.from);
      if (agents.empty()) {
        agents.push_back(edge.from);
      }
      agents.push_back(edge.to);
    }
    return agents;
  }

  // Follows every edge, one after the other.
  bool leads(AgentRef from, AgentRef to) const {
    std::set<AgentRef> reached = {from};
    for (bool more = true; more;) {
      more = false;
      for (const auto& [seq, edge] : graph.edges()) {
        const bool answers_itself = edge.asks_back && edge.from == from && edge.to == to;
        more |= reached.contains(edge.from) && !answers_itself && reached.insert(edge.to).second;
      }
    }
    return reached.contains(to);
  }

  WaitGraph graph;

 private:
  Seq seq_;
};

// CO-09: circles of 2, 3 and 10 are found when they would close.
TEST_F(Graph, FindsTheWayBackWhateverItsLength) {
  for (const AgentRef length : {2u, 3u, 10u}) {
    const AgentRef first = length * 100;
    for (AgentRef n = 0; n + 1 < length; ++n) {
      EXPECT_TRUE(way(first + n + 1, first + n).empty());
      wait(first + n, first + n + 1);
    }
    std::vector<AgentRef> all;
    for (AgentRef n = 0; n < length; ++n) {
      all.push_back(first + n);
    }
    EXPECT_EQ(way(first, first + length - 1), all);
    EXPECT_TRUE(way(first + length - 1, first).empty());
  }
}

// CO-09: a chain of 100 is no circle.
TEST_F(Graph, ALongChainIsNoCircle) {
  for (AgentRef n = 0; n < 100; ++n) {
    EXPECT_TRUE(way(n + 1, n).empty());
    wait(n, n + 1);
  }
  EXPECT_TRUE(way(100, 0).empty());
  EXPECT_EQ(way(0, 100).size(), 101u);
}

TEST_F(Graph, WhatEndsWaitsNoMore) {
  const Seq first = wait(1, 2);
  const Seq second = wait(1, 2);
  wait(2, 3, Time{50});
  EXPECT_EQ(way(1, 3), (std::vector<AgentRef>{1, 2, 3}));
  graph.remove(first);
  graph.remove(first);
  EXPECT_EQ(way(1, 3), (std::vector<AgentRef>{1, 2, 3}));
  graph.expire(Time{49});
  EXPECT_EQ(graph.size(), 2u);
  graph.expire(Time{50});
  EXPECT_TRUE(way(1, 3).empty());
  graph.remove(second);
  EXPECT_EQ(graph.size(), 0u);
}

// What a search costs: a step for each pair, which does not grow with the requests between two.
TEST_F(Graph, ManyRequestsBetweenTwoAreOneStep) {
  std::vector<Seq> waits;
  for (int n = 0; n < 10'000; ++n) {
    waits.push_back(wait(1, 2));
    waits.push_back(wait(2, 3));
  }
  const Seq back{100'000};
  graph.add({.message = back, .from = 2, .to = 1, .until = base::time_max, .asks_back = true});
  EXPECT_EQ(graph.size(), 20'001u);
  EXPECT_EQ(graph.pairs(), 3u);
  EXPECT_EQ(way(1, 3), (std::vector<AgentRef>{1, 2, 3}));
  EXPECT_EQ(graph.path(1, 2).front().message, waits.front());
  for (const Seq seq : waits) {
    EXPECT_EQ(graph.pairs(), 3u);
    graph.remove(seq);
    if (seq == waits[waits.size() - 2]) {
      break;  // one from 2 to 3 is left
    }
  }
  EXPECT_TRUE(way(1, 3).empty());
  EXPECT_EQ(graph.pairs(), 2u);
  EXPECT_TRUE(graph.is_in_order());
}

TEST_F(Graph, AQuestionBackIsOnlyPartOfLongerCircles) {
  wait(1, 2);
  graph.add({.message = Seq{90}, .from = 2, .to = 1, .until = base::time_max, .asks_back = true});
  EXPECT_TRUE(way(2, 1).empty());  // so 1 may ask 2 once more
  wait(1, 3);
  EXPECT_EQ(way(2, 3), (std::vector<AgentRef>{2, 1, 3}));  // but 3 may not ask 2
  wait(2, 1);
  EXPECT_EQ(way(2, 1), (std::vector<AgentRef>{2, 1}));
}

// Beside a search that follows every edge; with circles in it and, as the broker keeps it, without.
TEST_F(Graph, FindsAWayExactlyWhereThereIsOne) {
  std::mt19937 random(7);
  constexpr AgentRef agents = 30;
  for (int round = 0; round < 80; ++round) {
    const bool has_circles = round % 2 == 0;
    graph = {};
    std::vector<std::pair<Seq, std::pair<AgentRef, AgentRef>>> waits;
    for (int n = 0; n < 45; ++n) {
      const AgentRef from = static_cast<AgentRef>(random() % agents);
      const AgentRef to = static_cast<AgentRef>(random() % agents);
      if (has_circles || (from != to && way(to, from).empty())) {
        waits.emplace_back(wait(from, to), std::pair{from, to});
      }
      if (n % 3 == 0 && !waits.empty()) {
        const auto gone = waits.begin() + static_cast<ptrdiff_t>(random() % waits.size());
        graph.remove(gone->first);
        waits.erase(gone);
      }
    }
    std::vector<std::vector<AgentRef>> next(agents);
    for (const auto& [seq, ends] : waits) {
      next[ends.first].push_back(ends.second);
    }
    for (AgentRef from = 0; from < agents; ++from) {
      std::set<AgentRef> reached;
      std::vector<AgentRef> left = next[from];
      while (!left.empty()) {
        const AgentRef at = left.back();
        left.pop_back();
        if (reached.insert(at).second) {
          left.insert(left.end(), next[at].begin(), next[at].end());
        }
      }
      for (AgentRef to = 0; to < agents; ++to) {
        EXPECT_TRUE(has_circles || from != to || !reached.contains(to));
        if (from != to) {
          EXPECT_EQ(!way(from, to).empty(), reached.contains(to)) << from << " to " << to;
        }
      }
    }
  }
}

// What a graph answers follows from its edges alone, whatever came and went before: one that was
// made anew from a snapshot must say the same. With questions back, and circles that were let pass.
TEST_F(Graph, AnswersAsOneMadeAnewFromItsEdges) {
  std::mt19937 random(11);
  constexpr AgentRef agents = 6;
  for (int round = 0; round < 60; ++round) {
    graph = {};
    const bool is_kept = round % 3 != 0;  // as the broker does it: no circles but by asking back
    std::vector<Seq> waits;
    for (int n = 0; n < 40; ++n) {
      const AgentRef from = static_cast<AgentRef>(random() % agents);
      const AgentRef to = static_cast<AgentRef>(random() % agents);
      const bool asks_back = random() % 5 == 0;
      if (!is_kept || asks_back || (from != to && graph.path(to, from).empty())) {
        const Seq seq{static_cast<uint64_t>(n) + 1};
        graph.add({.message = seq, .from = from, .to = to, .asks_back = asks_back});
        waits.push_back(seq);
      }
      if (!waits.empty() && random() % 2 == 0) {
        const auto gone = waits.begin() + static_cast<ptrdiff_t>(random() % waits.size());
        graph.remove(*gone);
        waits.erase(gone);
      }
      ASSERT_TRUE(graph.is_in_order()) << "round " << round << ", step " << n;
      WaitGraph anew;
      for (const auto& [seq, edge] : graph.edges()) {
        anew.add(edge);
      }
      for (AgentRef first = 0; first < agents; ++first) {
        for (AgentRef last = 0; last < agents; ++last) {
          if (first == last) {
            continue;
          }
          ASSERT_EQ(graph.path(first, last), anew.path(first, last)) << first << " to " << last;
          ASSERT_EQ(!graph.path(first, last).empty(), leads(first, last))
              << first << " to " << last;
        }
      }
    }
  }
}

}  // namespace
}  // namespace parley::core
