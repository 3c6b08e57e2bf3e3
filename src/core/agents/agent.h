// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/agents/scope.h"
#include "core/agents/violations.h"
#include "core/agents/webhook.h"
#include "core/agents/work.h"
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
  // Of one that is unavailable: the hash of the only one whom it did not answer; 0: it is several.
  uint64_t unanswered = 0;
  std::string untold;  // what is to be told of it next; empty: nothing
  Time untold_due;     // when

  bool is_away() const { return standing >= Standing::unavailable; }

  static void fields(auto& self, auto& field) {
    field("standing", self.standing, standing_last);
    field("since", self.since);
    field("due", self.due);
    field("unanswered", self.unanswered, Form::fixed);
    field("untold", self.untold);
    field("untold_due", self.untold_due);
  }
};

// Anyone a message can come from or go to: agents, humans, the admin. One of kind `unknown` is only
// a name that a message still refers to: never registered, or registered no more.
struct Agent {
  std::string name;
  PrincipalKind kind = PrincipalKind::unknown;
  Dialect dialect = Dialect::flow;
  uint8_t rights = 0;
  std::string role;
  std::string spawner;  // the main that it answers to; empty: any of its owner
  Scope scope;
  std::vector<std::string> capabilities;             // as an admin gave them; for routing
  std::vector<std::string> claims;                   // what else it says it can do; only shown
  std::vector<TokenHash> tokens;                     // oldest first
  std::set<std::string, std::less<>> subscriptions;  // topics
  std::vector<StreamRef> streams;                    // open ones, in the order they were opened
  std::string profile;                               // opaque
  Webhook webhook;
  std::string status;  // of its last heartbeat
  std::string task;
  Time registered;
  Seq since;        // of its registration; what has its name and is older is a former one's
  Time seen;        // when it last asked for something
  Time instructed;  // when a person last wrote to it
  Time busy_until;  // as it said by putting a pipeline's message off
  Presence presence;
  std::map<uint64_t, uint64_t> numbers;  // of its newest message on each channel, by its hash
  Time malformed_since;                  // the minute in which they are counted
  uint64_t malformed = 0;
  Violations violations;
  Work work;
  AgentBuckets buckets;
  Backpressure backpressure;
  Breaker breaker;
  Budget budget;
  Bucket fan_out;     // deliveries that it causes
  Bucket critical;    // critical messages that it sends
  Bucket written;     // bytes that it has the broker write down
  uint64_t uses = 0;  // messages and deliveries that name it
  Inbox inbox;

  bool is_registered() const { return kind != PrincipalKind::unknown; }
  bool is_person() const { return kind == PrincipalKind::human || kind == PrincipalKind::admin; }
  // Offline by its own heartbeat or by its silence. An agent that only polls sends no heartbeat, so
  // it is never offline.
  bool is_offline() const {
    return streams.empty() &&
           (status == "offline" || presence.standing == Presence::Standing::offline);
  }
  bool is_available() const {
    return !is_offline() && presence.standing != Presence::Standing::unavailable;
  }
  bool has(Right right) const { return (rights & static_cast<uint8_t>(right)) != 0; }
  Discipline discipline() const { return policy_of(dialect).discipline; }

  static void fields(auto& self, auto& field) {
    field("name", self.name);
    field("kind", self.kind, principal_kind_last);
    field("dialect", self.dialect, dialect_last);
    field("rights", self.rights);
    field("role", self.role);
    field("spawner", self.spawner);
    field("scope", self.scope);
    field("registered", self.registered);
    field("since", self.since);
    field("seen", self.seen);
    field("profile", self.profile, Form::opaque);
    field("webhook", self.webhook);
    field("status", self.status);
    field("task", self.task);
    field("busy_until", self.busy_until);
    field("presence", self.presence);
    field("instructed", self.instructed);
    field("malformed_since", self.malformed_since);
    field("malformed", self.malformed);
    field("violations", self.violations);
    field("work", self.work);
    field("buckets", self.buckets);
    field("fan_out", self.fan_out);
    field("critical", self.critical);
    field("written", self.written);
    field("backpressure", self.backpressure);
    field("breaker", self.breaker);
    field("budget", self.budget);
    field("numbers", self.numbers, Form::fixed);
    field("capabilities", self.capabilities);
    field("claims", self.claims);
    field("tokens", self.tokens, Form::sized);
  }
};

}  // namespace parley::core
