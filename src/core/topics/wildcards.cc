// SPDX-License-Identifier: Apache-2.0
#include "core/topics/wildcards.h"

#include <algorithm>
#include <set>

#include "core/agents/agents.h"
#include "core/model/wire.h"

namespace parley::core {

namespace {

constexpr std::string_view one_token = "*";
constexpr std::string_view the_rest = ">";

std::vector<std::string_view> tokens_of(std::string_view name) {
  std::vector<std::string_view> tokens;
  for (size_t dot = name.find('.'); dot != name.npos; dot = name.find('.')) {
    tokens.push_back(name.substr(0, dot));
    name.remove_prefix(dot + 1);
  }
  tokens.push_back(name);
  return tokens;
}

bool is_wildcard(std::string_view token) { return token == one_token || token == the_rest; }

}  // namespace

bool is_pattern(std::string_view name) {
  return name.find_first_of("*>") != name.npos && std::ranges::any_of(tokens_of(name), is_wildcard);
}

std::string_view wrong_with_pattern(std::string_view pattern) {
  const std::vector<std::string_view> tokens = tokens_of(pattern);
  if (tokens.size() > Wildcards::tokens_max) {
    return "a pattern has at most 8 tokens with dots between them";
  }
  for (size_t n = 0; n < tokens.size(); ++n) {
    if (tokens[n].empty()) {
      return "no token of a pattern is empty";
    }
    if (tokens[n] == the_rest && n + 1 < tokens.size()) {
      return "`>` stands for the rest of a name, at the end of a pattern";
    }
  }
  return {};
}

bool matches(std::string_view pattern, std::string_view topic) {
  while (true) {
    const size_t end = pattern.find('.');
    const std::string_view wanted = pattern.substr(0, end);
    if (wanted == the_rest) {
      return true;
    }
    const size_t dot = topic.find('.');
    if (wanted != one_token && wanted != topic.substr(0, dot)) {
      return false;
    }
    if (end == pattern.npos || dot == topic.npos) {
      return end == dot;
    }
    pattern.remove_prefix(end + 1);
    topic.remove_prefix(dot + 1);
  }
}

Wildcards::Shape Wildcards::shape_of(std::string_view pattern) {
  Shape shape;
  for (const std::string_view token : tokens_of(pattern)) {
    if (token == the_rest) {
      shape.has_rest = true;
      break;
    }
    if (token == one_token) {
      shape.stars = static_cast<uint16_t>(shape.stars | 1u << shape.tokens);
    }
    ++shape.tokens;
  }
  return shape;
}

bool Wildcards::fits(const Shape& shape, size_t tokens) {
  return shape.has_rest ? tokens > shape.tokens : tokens == shape.tokens;
}

// The one pattern of this shape that matches a topic with these tokens.
std::string Wildcards::pattern_of(const Shape& shape, const std::vector<std::string_view>& tokens) {
  std::string pattern;
  for (size_t n = 0; n < shape.tokens; ++n) {
    pattern.append(n == 0 ? "" : ".");
    pattern.append((shape.stars >> n & 1u) != 0 ? one_token : tokens[n]);
  }
  if (shape.has_rest) {
    pattern.append(shape.tokens == 0 ? "" : ".").append(the_rest);
  }
  return pattern;
}

template <class Visit>
void Wildcards::each_matching(std::string_view topic, Visit&& visit) const {
  if (shapes_.empty()) {
    return;
  }
  const std::vector<std::string_view> tokens = tokens_of(topic);
  for (const auto& [shape, count] : shapes_) {
    if (!fits(shape, tokens.size())) {
      continue;
    }
    const auto at = patterns_.find(pattern_of(shape, tokens));
    if (at != patterns_.end() && !visit(at->second)) {
      return;
    }
  }
}

void Wildcards::subscribe(std::string_view pattern, AgentRef agent) {
  auto at = patterns_.find(pattern);
  if (at == patterns_.end()) {
    at = patterns_.emplace(pattern, Subscribers{}).first;
    ++shapes_[shape_of(pattern)];
  }
  at->second.push_back(agent);
}

void Wildcards::unsubscribe(std::string_view pattern, AgentRef agent) {
  const auto at = patterns_.find(pattern);
  if (at == patterns_.end()) {
    return;
  }
  std::erase(at->second, agent);
  if (at->second.empty()) {
    const auto shape = shapes_.find(shape_of(pattern));
    if (--shape->second == 0) {
      shapes_.erase(shape);
    }
    patterns_.erase(at);
  }
}

void Wildcards::add_matching(std::string_view topic, std::vector<AgentRef>& agents) const {
  std::set<AgentRef> known;  // only asked whether it has one: the order of slots does not show
  each_matching(topic, [&](const Subscribers& subscribers) {
    if (known.empty()) {
      known.insert(agents.begin(), agents.end());
    }
    for (const AgentRef agent : subscribers) {
      if (known.insert(agent).second) {
        agents.push_back(agent);
      }
    }
    return true;
  });
}

bool Wildcards::matches_any(std::string_view topic) const {
  bool found = false;
  each_matching(topic, [&found](const Subscribers&) {
    found = true;
    return false;
  });
  return found;
}

void Wildcards::encode(const Agents& agents, Writer& out) const {
  out.varint(patterns_.size());
  for (const auto& [pattern, subscribers] : patterns_) {
    out.text(pattern);
    out.varint(subscribers.size());
    for (const AgentRef agent : subscribers) {
      out.text(agents[agent].name);
    }
  }
}

bool Wildcards::decode(Agents& agents, Reader& in) {
  for (size_t left = in.count(2); left > 0 && in.ok(); --left) {
    const std::string_view pattern = in.text();
    const size_t subscribers = in.count();
    if (!in.ok() || subscribers == 0 || !is_pattern(pattern) ||
        !wrong_with_pattern(pattern).empty() || patterns_.contains(pattern)) {
      return false;
    }
    for (size_t n = 0; n < subscribers; ++n) {
      const AgentRef agent = agents.find(in.text());
      if (!in.ok() || agent == none || !agents[agent].is_registered() ||
          !agents[agent].subscriptions.emplace(pattern).second) {
        return false;
      }
      subscribe(pattern, agent);
    }
  }
  return in.ok();
}

}  // namespace parley::core
