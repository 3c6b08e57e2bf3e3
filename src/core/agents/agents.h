// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/agents/agent.h"
#include "core/agents/directory.h"
#include "core/state/index.h"
#include "core/state/slots.h"

namespace parley::core {

// The principals of a workspace, by name and by token.
class Agents {
 public:
  explicit Agents(uint64_t hash_seed) : seed_(hash_seed) {}

  Agent& operator[](AgentRef ref) { return agents_[ref]; }
  const Agent& operator[](AgentRef ref) const { return agents_[ref]; }

  // none when no one has the name; the one found may be of kind `unknown`.
  AgentRef find(std::string_view name) const;
  // The registered principal with this token; none when there is none.
  AgentRef find_token(const TokenHash& token) const;
  // The one with this name, made as `unknown` where there was none.
  AgentRef intern(std::string_view name);
  // Another registered principal that a reader takes for this one, by their skeletons; none when
  // there is none. Two names in ASCII are never taken for each other.
  AgentRef find_look_alike(std::string_view name) const;

  // Counts a message or delivery that names it, and one less; the last one of an unknown frees it.
  void use(AgentRef ref) { ++agents_[ref].uses; }
  void release(AgentRef ref);
  // Makes an unknown one a registered principal of this kind, or changes the kind.
  void set_kind(AgentRef ref, PrincipalKind kind);
  // Beyond `tokens_max` the oldest goes.
  void add_token(AgentRef ref, const TokenHash& token, size_t tokens_max);
  // Adds one as a snapshot has it. Nobody may have its name.
  AgentRef restore(Agent agent);
  // Makes a registered one unknown: tokens, role and rights go, and it too if nothing names it.
  void unregister(AgentRef ref);

  void set_role(AgentRef ref, std::string_view role);
  void set_rights(AgentRef ref, uint8_t rights);
  void set_capabilities(AgentRef ref, std::vector<std::string> capabilities);
  const Directory& directory() const { return directory_; }
  // Who answers for the workspace, by name: the agents with the role `orchestrator`, else the agent
  // with that name, else the humans with the maintainer right, else the principal named `admin`.
  std::vector<AgentRef> stewards() const;
  bool is_steward(AgentRef ref) const;
  // Those with the moderator right, by name.
  std::vector<AgentRef> moderators() const;
  // Those with the maintainer right, by name.
  std::vector<AgentRef> maintainers() const;
  // Who may see what concerns all, such as who subscribes to which topic: stewards, maintainers and
  // admins.
  bool looks_after_workspace(AgentRef ref) const;
  // One that is gone keeps its name until then, for the effects that name it. Before each entry.
  void sweep();

  // All, in no order that means anything.
  template <class Visit>
  void each(Visit&& visit) const {
    for (const AgentRef ref : used_) {
      visit(agents_[ref]);
    }
  }

  // The records that are still needed: what is not named by any table is lost with its segment.
  void add_live(std::vector<Seq>& seqs) const;

  // All, sorted by name.
  std::vector<AgentRef> sorted() const;
  size_t size() const { return used_.size(); }
  size_t registered() const { return registered_; }

 private:
  uint64_t hash(std::string_view name) const;
  uint64_t hash(const TokenHash& token) const;
  void drop_token(AgentRef ref, size_t at);
  std::vector<AgentRef> with_right(Right right) const;
  void free(AgentRef ref);
  void sort(std::vector<AgentRef>& refs) const;

  uint64_t seed_;
  Slots<Agent> agents_;
  std::set<AgentRef> used_;  // slots that hold one; order has no meaning
  std::vector<AgentRef> gone_;
  Directory directory_;
  Index by_name_;
  Index by_token_;
  size_t registered_ = 0;
};

}  // namespace parley::core
