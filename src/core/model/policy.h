// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "core/model/rules.h"

// What a dialect asks of the broker, as one row of a table. Nothing else in the broker asks which
// dialect it is, only what this row and that of dialect/dialect.cc say. A value that an operator
// may change is a rule, and the row says which. Some rules carry the name of the dialect whose text
// gives their number, and hold for all: collab.heartbeat, collab.deadlock, flow.gather_window,
// flow.roll_call_window, and flow.rate.* wherever a row has rates. See "Adding a dialect" in
// ARCHITECTURE.md.
namespace parley::core {

// In which order an inbox hands out what waits in it.
enum class Discipline : uint8_t {
  // First in, first out inside each channel (one sender, one publisher on one topic, one sender to
  // everyone) whatever the priority; among channels, the one that holds the most urgent message
  // first. A message given back with a delay, or held up by a rate limit, holds its channel up
  // until its time, or until a critical message arrives behind it.
  channels,
  // Higher priority first, first in first out inside one. A message given back with a delay lets
  // the others pass.
  bands,
};

// What the size limit of a dialect counts.
enum class SizeOf : uint8_t { nothing, whole_message, content };

using base::Stated;

struct Role {
  std::string_view name;
  bool directs = true;          // may give work to others
  bool reviews = false;         // its critical challenge holds a thread up
  bool is_for_session = false;  // what waits for it is done with when its session ends
};

struct Policy {
  using DurationRule = Duration Rules::*;
  using NumberRule = uint64_t Rules::*;

  Stated<std::string_view> name;

  // Of what its agents send.
  Stated<std::array<DurationRule, priority_count>> ttl;  // by priority, the lowest first
  Stated<DurationRule> request_timeout;                  // null: its sender waits for ever
  Stated<DurationRule> query_timeout;
  Stated<DurationRule> timeout_to_many;  // of what goes to a topic or to everyone. null: as to one
  Stated<Delays Rules::*> retries;  // pauses before new tries. null: flow_request_retries at once
  Stated<NumberRule> retries_max;   // of those pauses. null: all
  // A request to one receiver is tried again though its sender does not say so; also when its
  // answer is an error that another try may mend. After the last try its sender gets one failure in
  // the receiver's name, and people get it.
  Stated<bool> retries_tasks;
  Stated<bool> retries_keep_expiry;   // a new try lives no longer than the first
  Stated<bool> retries_delivery;      // what its receiver cannot take is tried again
  Stated<NumberRule> on_unavailable;  // an OnUnavailable. null: it waits in the inbox
  Stated<bool> requests_block;        // its sender goes on only when a request is answered
  Stated<NumberRule> secrets;         // a SecretsPolicy
  // Whoever has a message of its agents is to react to it so soon, by its priority, the lowest
  // first; null: whenever it likes. And an agent may say nothing of a handoff for so long.
  Stated<std::array<DurationRule, priority_count>> response_times;
  Stated<DurationRule> blocked_after;
  Stated<bool> escalates_critical;    // people look at each critical handoff, query and response
  Stated<NumberRule> confidence_min;  // and at responses that are less sure, in percent. null: no
  Stated<bool> expiry_escalates;      // and at what expires, which leaves no dead letter
  Stated<bool> has_rates;          // rate limits, backpressure and circuit breakers bind its agents
  Stated<bool> has_thread_limits;  // messages and age of a thread
  Stated<bool> has_domain_topics;  // a topic is named domain.event_type
  Stated<bool> wants_confidence;  // what asks says how sure its answers must be, not how sure it is
  Stated<bool> answers_join_chain;         // a response has the correlation of what it answers
  Stated<std::string_view> session_field;  // where its messages name these; empty: nowhere
  Stated<std::string_view> reply_to_field;
  Stated<std::string_view> receiver_field;

  // Of what its agents get.
  Stated<Discipline> discipline;
  Stated<DurationRule> lease;
  Stated<SizeOf> size_of;
  Stated<NumberRule> size_max;         // null: message_bytes_max is enough
  Stated<std::string_view> size_rule;  // its public name; empty where size_max is null
  Stated<bool> ids_are_uuids;          // it has no other name for a message than its UUID
  Stated<bool> reading_settles;        // what asks for nothing is done with when it is read
  Stated<Priority> priority_max;       // the most urgent that it has a word for

  // Of its agents themselves.
  Stated<std::span<const Role>> roles;
  Stated<bool> has_task_roles;    // director and specialist: who gives tasks to whom
  Stated<bool> via_hub;           // its agents write to its orchestrators, and get from them
  Stated<bool> has_authority;     // names say roles, roles say what is allowed (agents/authority.h)
  Stated<bool> heartbeat_renews;  // a heartbeat renews the leases of the agent's tasks
  Stated<std::span<const std::string_view>> statuses;  // words of a heartbeat; empty: any
  Stated<std::string_view> busy_status;                // besides `busy`; empty: no other
};

const Policy& policy_of(Dialect dialect);

// All names, in words: `flow, collab or inbox`.
std::string dialect_names();
// All names, in the order of the enum.
std::vector<std::string> dialect_list();

// The dialect of that name; none when there is no such.
std::optional<Dialect> find_dialect(std::string_view name);

// The time to live that the rules give a message without one; zero is none.
Duration default_ttl(const Rules& rules, Dialect sender, Priority priority);

// How long a sender of this dialect waits for an answer to such a message; zero is for ever.
// `to_many`: it goes to a topic or to everyone.
Duration default_timeout(const Rules& rules, Dialect sender, Kind kind, bool to_many);

// The pause before a request that was not answered is sent again after `retries` times; nothing
// when it is not.
std::optional<Duration> retry_pause(const Rules& rules, Dialect sender, bool to_many,
                                    uint64_t retries);

// What becomes of secrets in what a sender of this dialect says.
SecretsPolicy secrets_policy(const Rules& rules, Dialect sender);

// Whether agents of this role give work to others.
bool directs(Dialect dialect, std::string_view role);
// What the dialect says of a role; of one that it does not know nothing but what all may.
Role role_of(Dialect dialect, std::string_view role);
// Whether it has a role that reviews.
bool has_reviewers(Dialect dialect);
// How soon a message is to be reacted to; zero: there is no such time.
Duration response_time(const Rules& rules, Dialect sender, Priority priority);

// How long a receiver of this dialect holds a message.
Duration default_lease(const Rules& rules, Dialect receiver);

}  // namespace parley::core
