// SPDX-License-Identifier: Apache-2.0
#include "core/agents/agents.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "base/check.h"
#include "base/hash.h"
#include "base/text.h"
#include "base/unicode/look_alike.h"

namespace parley::core {

namespace {

struct RightName {
  Right right;
  std::string_view word;
};

constexpr std::array<RightName, 4> right_names = {{{Right::approver, "approver"},
                                                   {Right::moderator, "moderator"},
                                                   {Right::maintainer, "maintainer"},
                                                   {Right::admin, "admin"}}};

constexpr std::string_view orchestrator = "orchestrator";

}  // namespace

uint8_t parse_right(std::string_view word) {
  const auto* const found = std::ranges::find(right_names, word, &RightName::word);
  return found == right_names.end() ? uint8_t{0} : static_cast<uint8_t>(found->right);
}

std::vector<std::string_view> right_words(uint8_t rights) {
  std::vector<std::string_view> words;
  for (const RightName& name : right_names) {
    if ((rights & static_cast<uint8_t>(name.right)) != 0) {
      words.push_back(name.word);
    }
  }
  return words;
}

uint64_t Agents::hash(std::string_view name) const { return base::hash64(name, seed_); }

uint64_t Agents::hash(const TokenHash& token) const {
  return base::hash64({reinterpret_cast<const char*>(token.data()), token.size()}, seed_);
}

AgentRef Agents::find(std::string_view name) const {
  AgentRef found = none;
  by_name_.find(hash(name), [&](AgentRef ref) {
    if (agents_[ref].name == name) {
      found = ref;
    }
    return found != none;
  });
  return found;
}

AgentRef Agents::find_token(const TokenHash& token) const {
  AgentRef found = none;
  by_token_.find(hash(token), [&](AgentRef ref) {
    if (std::ranges::find(agents_[ref].tokens, token) != agents_[ref].tokens.end()) {
      found = ref;
    }
    return found != none;
  });
  return found;
}

AgentRef Agents::intern(std::string_view name) {
  AgentRef ref = find(name);
  if (ref == none) {
    Agent agent;
    agent.name = name;
    ref = agents_.add(std::move(agent));
    used_.insert(ref);
    by_name_.insert(hash(name), ref);
  }
  return ref;
}

AgentRef Agents::find_look_alike(std::string_view name) const {
  const std::string seen_as = base::skeleton(name);
  // Of several the first by name, whatever slots they have.
  AgentRef found = none;
  const auto consider = [&](AgentRef ref) {
    const bool is_other = agents_[ref].name != name;
    found = is_other && (found == none || agents_[ref].name < agents_[found].name) ? ref : found;
  };
  std::ranges::for_each(directory_.looking_like(seen_as), consider);
  // Only a name in other letters that all look Latin can be taken for one in ASCII.
  if (!base::is_ascii(name) && base::is_ascii(seen_as)) {
    for (const AgentRef ref : directory_.of_length(seen_as.size())) {
      if (std::ranges::equal(agents_[ref].name, seen_as, {}, base::to_lower)) {
        consider(ref);
      }
    }
  }
  return found;
}

AgentRef Agents::restore(Agent agent) {
  const AgentRef ref = intern(agent.name);
  const PrincipalKind kind = std::exchange(agent.kind, PrincipalKind::unknown);
  const std::vector<TokenHash> tokens = std::exchange(agent.tokens, {});
  std::vector<std::string> capabilities = std::exchange(agent.capabilities, {});
  agents_[ref] = std::move(agent);
  // These keep the look-ups in step.
  if (kind != PrincipalKind::unknown) {
    set_kind(ref, kind);
  }
  set_rights(ref, agents_[ref].rights);
  set_role(ref, std::string(agents_[ref].role));
  set_capabilities(ref, std::move(capabilities));
  for (const TokenHash& token : tokens) {
    add_token(ref, token, std::numeric_limits<size_t>::max());
  }
  return ref;
}

void Agents::release(AgentRef ref) {
  CHECK(agents_[ref].uses > 0);
  --agents_[ref].uses;
  free(ref);
}

void Agents::set_kind(AgentRef ref, PrincipalKind kind) {
  CHECK(kind != PrincipalKind::unknown);
  if (!agents_[ref].is_registered()) {
    ++registered_;
    directory_.add(ref, agents_[ref]);
  }
  agents_[ref].kind = kind;
}

void Agents::add_token(AgentRef ref, const TokenHash& token, size_t tokens_max) {
  std::vector<TokenHash>& tokens = agents_[ref].tokens;
  if (std::ranges::find(tokens, token) != tokens.end()) {
    return;
  }
  while (tokens.size() >= tokens_max) {
    drop_token(ref, 0);
  }
  tokens.push_back(token);
  by_token_.insert(hash(token), ref);
}

void Agents::drop_token(AgentRef ref, size_t at) {
  std::vector<TokenHash>& tokens = agents_[ref].tokens;
  by_token_.erase(hash(tokens[at]), ref);
  tokens.erase(tokens.begin() + static_cast<std::ptrdiff_t>(at));
}

void Agents::unregister(AgentRef ref) {
  Agent& agent = agents_[ref];
  CHECK(agent.is_registered());
  CHECK(agent.subscriptions.empty() && agent.streams.empty() && agent.inbox.empty());
  while (!agent.tokens.empty()) {
    drop_token(ref, 0);
  }
  directory_.remove(ref, agent);
  Agent rest;
  rest.name = std::move(agent.name);
  rest.uses = agent.uses;
  rest.inbox.unsettled = agent.inbox.unsettled;  // they wait outside until they end
  rest.inbox.senders = std::move(agent.inbox.senders);
  agent = std::move(rest);
  --registered_;
  free(ref);
}

void Agents::free(AgentRef ref) {
  const Agent& agent = agents_[ref];
  if (!agent.is_registered() && agent.uses == 0) {
    by_name_.erase(hash(agent.name), ref);
    used_.erase(ref);
    gone_.push_back(ref);
  }
}

void Agents::sweep() {
  for (const AgentRef ref : gone_) {
    agents_.remove(ref);
  }
  gone_.clear();
}

void Agents::set_role(AgentRef ref, std::string_view role) {
  agents_[ref].role = role;
  directory_.set_orchestrator(
      ref, role == orchestrator && agents_[ref].kind == PrincipalKind::agent);
}

void Agents::set_rights(AgentRef ref, uint8_t rights) {
  agents_[ref].rights = rights;
  directory_.set_rights(ref, rights);
}

void Agents::set_capabilities(AgentRef ref, std::vector<std::string> capabilities) {
  directory_.change_capabilities(ref, agents_[ref].capabilities, capabilities);
  agents_[ref].capabilities = std::move(capabilities);
}

std::vector<AgentRef> Agents::stewards() const {
  std::vector<AgentRef> refs(directory_.orchestrators().begin(), directory_.orchestrators().end());
  const AgentRef named = find(orchestrator);
  if (refs.empty() && named != none && agents_[named].kind == PrincipalKind::agent) {
    refs.push_back(named);
  }
  if (refs.empty()) {
    const Directory::Refs& maintainers = directory_.with_right(Right::maintainer);
    refs.assign(maintainers.begin(), maintainers.end());
  }
  if (const AgentRef admin = find("admin");
      refs.empty() && admin != none && agents_[admin].kind == PrincipalKind::admin) {
    refs.push_back(admin);
  }
  sort(refs);
  return refs;
}

void Agents::add_live(std::vector<Seq>& seqs) const {
  each([&seqs](const Agent& agent) {
    if (agent.work.report.n != 0) {
      seqs.push_back(agent.work.report);
    }
  });
}

std::vector<AgentRef> Agents::with_right(Right right) const {
  const Directory::Refs& those = directory_.with_right(right);
  std::vector<AgentRef> refs(those.begin(), those.end());
  sort(refs);
  return refs;
}

std::vector<AgentRef> Agents::moderators() const { return with_right(Right::moderator); }

std::vector<AgentRef> Agents::maintainers() const { return with_right(Right::maintainer); }

bool Agents::is_steward(AgentRef ref) const {
  const std::vector<AgentRef> all = stewards();
  return std::ranges::find(all, ref) != all.end();
}

bool Agents::looks_after_workspace(AgentRef ref) const {
  const Agent& agent = agents_[ref];
  return agent.kind == PrincipalKind::admin || agent.has(Right::admin) ||
         agent.has(Right::maintainer) || is_steward(ref);
}

void Agents::sort(std::vector<AgentRef>& refs) const {
  std::ranges::sort(refs, {},
                    [this](AgentRef ref) -> const std::string& { return agents_[ref].name; });
}

std::vector<AgentRef> Agents::sorted() const {
  std::vector<AgentRef> refs(used_.begin(), used_.end());
  sort(refs);
  return refs;
}

}  // namespace parley::core
