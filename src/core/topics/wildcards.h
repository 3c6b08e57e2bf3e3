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

// Who subscribes to which patterns. A publication is looked up once for each shape that is in use
// (where the stars are). A topic fits a few hundred at most, however many patterns there are.
class Wildcards {
 public:
  static constexpr size_t tokens_max = 8;

  // Each agent once for a pattern, which must be a good one.
  void subscribe(std::string_view pattern, AgentRef agent);
  void unsubscribe(std::string_view pattern, AgentRef agent);

  // Adds each subscriber of a matching pattern that `agents` does not hold yet, once.
  void add_matching(std::string_view topic, std::vector<AgentRef>& agents) const;
  bool matches_any(std::string_view topic) const;

  // In the order they subscribed.
  using Subscribers = std::vector<AgentRef>;
  const std::map<std::string, Subscribers, std::less<>>& by_pattern() const { return patterns_; }
  size_t size() const { return patterns_.size(); }
  size_t shapes() const { return shapes_.size(); }

  void encode(const Agents& agents, Writer& out) const;
  // False when the bytes are no such table. The agents learn what they subscribe to.
  bool decode(Agents& agents, Reader& in);

 private:
  // Which tokens of a pattern are stars, by bits; how many there are before the `>`, or in all.
  struct Shape {
    uint8_t tokens = 0;
    bool has_rest = false;
    uint16_t stars = 0;

    auto operator<=>(const Shape&) const = default;
  };

  static Shape shape_of(std::string_view pattern);
  static bool fits(const Shape& shape, size_t tokens);
  static std::string pattern_of(const Shape& shape, const std::vector<std::string_view>& tokens);
  template <class Visit>
  void each_matching(std::string_view topic, Visit&& visit) const;

  std::map<std::string, Subscribers, std::less<>> patterns_;
  std::map<Shape, uint64_t> shapes_;  // how many patterns have it
};

}  // namespace parley::core
