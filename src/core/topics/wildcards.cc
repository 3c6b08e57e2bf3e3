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

// Sets who is told of what matches; nullptr: no one any more, and what leads nowhere goes.
void Wildcards::put(std::string_view pattern, const Subscribers* subscribers) {
  std::vector<std::string_view> tokens = tokens_of(pattern);
  const bool has_rest = tokens.back() == the_rest;
  if (has_rest) {
    tokens.pop_back();
  }
  std::vector<Node*> way = {&root_};
  for (const std::string_view token : tokens) {
    auto at = way.back()->next.find(token);
    if (at == way.back()->next.end()) {
      at = way.back()->next.emplace(token, Node{}).first;
      ++nodes_;
    }
    way.push_back(&at->second);
  }
  (has_rest ? way.back()->rest : way.back()->here) = subscribers;
  for (size_t n = tokens.size(); n > 0; --n) {
    const Node& node = *way[n];
    if (node.here != nullptr || node.rest != nullptr || !node.next.empty()) {
      return;
    }
    way[n - 1]->next.erase(way[n - 1]->next.find(tokens[n - 1]));
    --nodes_;
  }
}

// At most `tokens_max` deep, as the patterns are.
void Wildcards::visit(const Node& node, Shape shape, Walk& walk) {
  ++walk.steps;
  if (shape.tokens == walk.tokens.size()) {
    if (node.here != nullptr) {
      walk.matches.push_back({shape, node.here});
    }
    return;
  }
  if (node.rest != nullptr) {
    walk.matches.push_back({{shape.tokens, true, shape.stars}, node.rest});
  }
  const std::string_view token = walk.tokens[shape.tokens];
  const Shape with_star = {static_cast<uint8_t>(shape.tokens + 1), false,
                           static_cast<uint16_t>(shape.stars | 1u << shape.tokens)};
  ++shape.tokens;
  if (const auto at = node.next.find(token); at != node.next.end() && token != one_token) {
    visit(at->second, shape, walk);
  }
  if (const auto at = node.next.find(one_token); at != node.next.end()) {
    visit(at->second, with_star, walk);
  }
}

Wildcards::Walk Wildcards::walk(std::string_view topic) const {
  Walk found;
  if (!patterns_.empty()) {
    found.tokens = tokens_of(topic);
    visit(root_, {}, found);
    std::ranges::sort(found.matches, {}, &Match::shape);
  }
  return found;
}

size_t Wildcards::steps_for(std::string_view topic) const { return walk(topic).steps; }

void Wildcards::subscribe(std::string_view pattern, AgentRef agent) {
  auto at = patterns_.find(pattern);
  if (at == patterns_.end()) {
    at = patterns_.emplace(pattern, Subscribers{}).first;
    put(pattern, &at->second);
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
    put(pattern, nullptr);
    patterns_.erase(at);
  }
}

void Wildcards::add_matching(std::string_view topic, std::vector<AgentRef>& agents) const {
  const Walk found = walk(topic);
  if (found.matches.empty()) {
    return;
  }
  std::set<AgentRef> known(agents.begin(), agents.end());  // the order of slots does not show
  for (const Match& match : found.matches) {
    for (const AgentRef agent : *match.subscribers) {
      if (known.insert(agent).second) {
        agents.push_back(agent);
      }
    }
  }
}

bool Wildcards::matches_any(std::string_view topic) const { return !walk(topic).matches.empty(); }

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
