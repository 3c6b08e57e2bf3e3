// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/agents/webhook.h"
#include "core/delivery/inbox.h"
#include "core/limits/backpressure.h"
#include "core/limits/breaker.h"
#include "core/limits/budgets.h"
#include "core/model/command.h"

namespace parley::core {

// What a human may do; a bit each. Written into snapshots: never renumber.
enum class Right : uint8_t { approver = 1, moderator = 2, maintainer = 4, admin = 8 };

// The bit for `approver`, `moderator`, …; 0 for any other word.
uint8_t parse_right(std::string_view word);
// The words for the bits, in the order above.
std::vector<std::string_view> right_words(uint8_t rights);

// Whether an agent is there, as far as the others know.
struct Presence {
  // What was announced of it last. Written into snapshots: never renumber.
  enum class Standing : uint8_t { unknown = 0, online = 1, unavailable = 2, offline = 3 };
  static constexpr Standing standing_last = Standing::offline;

  Standing standing = Standing::unknown;
  Time since;  // from when on its silence counts; zero: it never said that it would be there
  Time due;    // when that is looked at next; zero: it is not

  bool is_away() const { return standing >= Standing::unavailable; }
};

// Anyone a message can come from or go to: agents, humans, the admin. One of kind `unknown` is only
// a name that a message still refers to: never registered, or registered no more.
struct Agent {
  std::string name;
  PrincipalKind kind = PrincipalKind::unknown;
  Dialect dialect = Dialect::flow;
  uint8_t rights = 0;
  std::string role;
  std::vector<std::string> capabilities;
  std::vector<TokenHash> tokens;                     // oldest first
  std::set<std::string, std::less<>> subscriptions;  // topics
  std::vector<StreamRef> streams;                    // open ones, in the order they were opened
  std::string profile;                               // opaque
  Webhook webhook;
  std::string status;  // of its last heartbeat
  std::string task;
  Time registered;
  Time seen;        // when it last asked for something
  Time instructed;  // when a person last wrote to it
  Time busy_until;  // as it said by putting a pipeline's message off
  Presence presence;
  std::map<uint64_t, uint64_t> numbers;  // of its newest message on each channel, by its hash
  Time malformed_since;                  // the minute in which they are counted
  uint64_t malformed = 0;
  AgentBuckets buckets;
  Backpressure backpressure;
  Breaker breaker;
  Budget budget;
  Bucket fan_out;     // deliveries that it causes
  uint64_t uses = 0;  // messages and deliveries that name it
  Inbox inbox;

  bool is_registered() const { return kind != PrincipalKind::unknown; }
  // As it said itself, or as its silence says. Who only polls says nothing, and is not.
  bool is_offline() const {
    return streams.empty() &&
           (status == "offline" || presence.standing == Presence::Standing::offline);
  }
  bool is_available() const {
    return !is_offline() && presence.standing != Presence::Standing::unavailable;
  }
  bool has(Right right) const { return (rights & static_cast<uint8_t>(right)) != 0; }
  Discipline discipline() const { return policy_of(dialect).discipline; }
};

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

  // Counts a message or delivery that names it, and one less; the last one of an unknown frees it.
  void use(AgentRef ref) { ++agents_[ref].uses; }
  void release(AgentRef ref);
  // Makes an unknown one a registered principal of this kind, or changes the kind.
  void set_kind(AgentRef ref, PrincipalKind kind);
  // Beyond `tokens_max` the oldest goes.
  void add_token(AgentRef ref, const TokenHash& token, size_t tokens_max);
  // Makes a registered one unknown: tokens, role and rights go, and it too if nothing names it.
  void unregister(AgentRef ref);

  void set_role(AgentRef ref, std::string_view role);
  void set_rights(AgentRef ref, uint8_t rights);
  // Who answers for the workspace, by name: the agents with the role `orchestrator`, else the agent
  // with that name, else the humans with the maintainer right, else the admins.
  std::vector<AgentRef> stewards() const;
  // One that is gone keeps its name until then, for the effects that name it. Before each entry.
  void sweep();

  // All, in no order that means anything.
  template <class Visit>
  void each(Visit&& visit) const {
    for (const AgentRef ref : used_) {
      visit(agents_[ref]);
    }
  }

  // All, sorted by name.
  std::vector<AgentRef> sorted() const;
  size_t size() const { return used_.size(); }
  size_t registered() const { return registered_; }

 private:
  uint64_t hash(std::string_view name) const;
  uint64_t hash(const TokenHash& token) const;
  void drop_token(AgentRef ref, size_t at);
  void free(AgentRef ref);
  void sort(std::vector<AgentRef>& refs) const;

  uint64_t seed_;
  Slots<Agent> agents_;
  std::set<AgentRef> used_;  // slots that hold one; order has no meaning
  std::vector<AgentRef> gone_;
  std::set<AgentRef> orchestrators_;  // by role
  std::set<AgentRef> maintainers_;    // by right
  Index by_name_;
  Index by_token_;
  size_t registered_ = 0;
};

}  // namespace parley::core
