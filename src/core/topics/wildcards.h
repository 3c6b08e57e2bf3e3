// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/model/refs.h"

namespace parley::core {

class Agents;
class Reader;
class Writer;

// A pattern of topics' names, as NATS has it: names are tokens with dots between them; the token
// `*` stands for any one, and `>` at the end for one or more.
bool is_pattern(std::string_view name);
// What is wrong with a pattern; empty where nothing is.
std::string_view wrong_with_pattern(std::string_view pattern);
bool matches(std::string_view pattern, std::string_view topic);

// Who subscribes to which patterns. They are a tree by their tokens. For a publication only those
// branches are walked that its name has: two for each token, its own and the star, where someone
// subscribes. So what it costs is bound by the tokens, however many patterns there are.
class Wildcards {
 public:
  static constexpr size_t tokens_max = 8;
  // The nodes of such a tree, but for the name itself, which is no pattern.
  static constexpr size_t steps_max = (size_t{2} << tokens_max) - 2;

  Wildcards() = default;
  Wildcards(const Wildcards&) = delete;  // the tree refers to the patterns
  Wildcards& operator=(const Wildcards&) = delete;

  // Each agent once for a pattern, which must be a good one.
  void subscribe(std::string_view pattern, AgentRef agent);
  void unsubscribe(std::string_view pattern, AgentRef agent);

  // Adds each subscriber of a matching pattern that `agents` does not hold yet, once.
  void add_matching(std::string_view topic, std::vector<AgentRef>& agents) const;
  bool matches_any(std::string_view topic) const;
  // Nodes of the tree that a publication visits; at most `steps_max`.
  size_t steps_for(std::string_view topic) const;

  // In the order they subscribed.
  using Subscribers = std::vector<AgentRef>;
  const std::map<std::string, Subscribers, std::less<>>& by_pattern() const { return patterns_; }
  size_t size() const { return patterns_.size(); }
  // Of the tree, the root left out. 0 when there is no pattern.
  size_t nodes() const { return nodes_; }

  void encode(const Agents& agents, Writer& out) const;
  // False when the bytes are no such table. The agents learn what they subscribe to.
  bool decode(Agents& agents, Reader& in);

 private:
  // Which tokens of a pattern are stars, by bits; how many there are before the `>`, or in all.
  // What matches is taken in this order.
  struct Shape {
    uint8_t tokens = 0;
    bool has_rest = false;
    uint16_t stars = 0;

    auto operator<=>(const Shape&) const = default;
  };
  // The tokens up to here begin some pattern.
  struct Node {
    std::map<std::string, Node, std::less<>> next{};
    const Subscribers* here = nullptr;  // of the pattern that ends here
    const Subscribers* rest = nullptr;  // of the one with a `>` behind
  };
  struct Match {
    Shape shape;
    const Subscribers* subscribers = nullptr;
  };
  struct Walk {
    std::vector<std::string_view> tokens{};
    std::vector<Match> matches{};
    size_t steps = 0;
  };

  void put(std::string_view pattern, const Subscribers* subscribers);
  static void visit(const Node& node, Shape shape, Walk& walk);
  Walk walk(std::string_view topic) const;

  std::map<std::string, Subscribers, std::less<>> patterns_;
  Node root_;
  size_t nodes_ = 0;
};

}  // namespace parley::core
