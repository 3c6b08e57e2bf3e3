// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <expected>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "base/error.h"
#include "core/model/envelope.h"

namespace parley::core {

using base::Error;

// Over 150 lines: the one place where limits and policy values stand.

// Pauses before each new try, the first one first. As text `1s,2s,4s`, or `none`.
struct Delays {
  static constexpr size_t max = 7;
  std::array<Duration, max> pauses{};
  uint64_t count = 0;

  bool operator==(const Delays&) const = default;
};

// Every limit and policy value of a workspace. Part of the state; changed only by SetRules.
// A duration of zero means none where the help of the rule says so.
struct Rules {
  // Time to live when the sender gave none, by the sender's dialect.
  Duration flow_ttl_critical = base::minutes(5);
  Duration flow_ttl_high = base::hours(1);
  Duration flow_ttl_normal = base::hours(24);
  Duration flow_ttl_low = base::hours(72);
  Duration collab_ttl{};
  Duration inbox_ttl{};
  Duration superprompt_ttl{};
  Duration squad_ttl = base::hours(24);
  Duration ttl_max = base::hours(24 * 30);

  // How long a receiver may hold a message, by the receiver's dialect.
  Duration flow_lease = base::seconds(60);
  Duration collab_lease = base::seconds(60);
  Duration inbox_lease = base::minutes(30);
  Duration superprompt_lease = base::minutes(30);
  Duration squad_lease = base::minutes(30);
  Duration lease_max = base::hours(24);
  Duration nack_delay_max = base::hours(1);

  // How long the one who asks waits for an answer.
  Duration flow_request_timeout = base::minutes(5);
  Duration flow_query_timeout = base::seconds(30);
  Duration flow_roll_call_window = base::seconds(30);
  Duration flow_gather_window = base::minutes(5);
  Duration collab_timeout_command = base::seconds(30);
  Duration collab_timeout_query = base::seconds(5);
  Duration collab_timeout_broadcast = base::seconds(1);
  Delays collab_retry_delays{{base::seconds(1), base::seconds(2), base::seconds(4)}, 3};
  Duration superprompt_task_timeout = base::minutes(5);
  Delays superprompt_retry_delays{
      {base::seconds(1), base::seconds(2), base::seconds(4), base::seconds(8), base::seconds(16)},
      5};
  uint64_t superprompt_retries_max = 3;
  Duration superprompt_extension_max = base::hours(1);
  Duration timeout_max = base::hours(24 * 7);
  Duration pipeline_pause_max = base::hours(24);
  uint64_t flow_request_retries = 3;
  uint64_t requests_max = 500'000;
  uint64_t gathers_max = 10'000;
  uint64_t pipelines_max = 10'000;
  uint64_t stages_max = 100;
  uint64_t chain_max = 256;

  // Who is there, and what becomes of a message to one who is not.
  Duration collab_heartbeat = base::seconds(10);
  uint64_t collab_heartbeats_missed = 3;
  Duration answer_time_min = base::seconds(5);
  uint64_t availability_news = 30;     // in a minute; 0 is no limit
  uint64_t collab_on_unavailable = 0;  // an OnUnavailable
  uint64_t collab_deadlock = 0;        // a DeadlockPolicy

  Duration topic_retention = base::hours(1);
  Duration settled_retention = base::hours(24);

  // When people are asked to look, and what is overdue, of what squad agents send.
  uint64_t squad_debate_rounds = 2;
  uint64_t squad_confidence_min = 70;  // in percent
  Duration squad_blocked_after = base::hours(1);
  Duration squad_response_p0 = base::minutes(1);
  Duration squad_response_p1 = base::minutes(30);
  Duration squad_response_p2 = base::hours(4);
  Duration squad_response_p3 = base::hours(24);

  // What a flow agent may send and get in a minute; 0 is no limit. What exceeds it waits.
  uint64_t flow_rate_out = 60;
  uint64_t flow_rate_in = 120;
  uint64_t flow_rate_pair = 30;
  uint64_t flow_rate_topic = 100;
  uint64_t flow_rate_broadcast = 10;
  uint64_t flow_rate_throttled = 1'000;
  uint64_t flow_rate_signal = 80;

  // When new messages to a receiver are refused.
  uint64_t breaker_failures = 10;
  uint64_t breaker_queue = 90;
  Duration breaker_pause = base::seconds(60);

  // When an agent has run away; 0 is no limit.
  uint64_t guard_fan_out = 100'000;
  uint64_t guard_messages = 1'000'000;
  uint64_t guard_bytes = 4ULL * 1'024 * 1'024 * 1'024;  // in a day
  uint64_t guard_bytes_rate = 256 * 1'024 * 1'024;      // in a minute
  uint64_t guard_tokens = 100'000'000;
  uint64_t guard_ping_pong = 200;
  Duration guard_ping_pong_window = base::hours(1);
  uint64_t guard_conversations = 100'000;
  uint64_t guard_critical = 600;
  uint64_t guard_redeliveries = 100'000;

  uint64_t attempts_max = 5;
  uint64_t queue_max = 10'000;
  uint64_t window_max = 4'096;
  uint64_t webhook_bytes_max = 2'048;
  uint64_t receivers_max = 1'000;
  uint64_t message_bytes_max = 1'280 * 1'024;
  uint64_t collab_message_bytes_max = 512 * 1'024;
  uint64_t inbox_content_bytes = 10 * 1'024;
  uint64_t superprompt_message_bytes_max = 100 * 1'024;
  uint64_t name_bytes_max = 256;
  uint64_t reason_bytes_max = 1'024;
  uint64_t capabilities_max = 64;
  uint64_t profile_bytes_max = 16 * 1'024;
  uint64_t malformed_per_min = 60;
  uint64_t malformed_bytes_max = 4'096;
  uint64_t violations_per_min = 60;
  uint64_t numbered_channels_max = 10'000;
  uint64_t agents_max = 100'000;
  uint64_t squad_spawned_max = 100;
  uint64_t tokens_per_agent_max = 4;
  uint64_t topics_max = 10'000;
  uint64_t subscriptions_per_agent_max = 1'000;
  uint64_t streams_max = 100'000;
  uint64_t topic_retained_max = 10'000;
  uint64_t dead_letters_max = 10'000;
  uint64_t errands_max = 100'000;
  uint64_t escalations_max = 10'000;
  uint64_t approvals_max = 10'000;
  uint64_t approval_bytes_max = 100 * 1'024;
  Duration approval_timeout = base::hours(72);
  Duration approval_timeout_max = base::hours(24 * 30);
  Duration approval_reminder = base::hours(24);
  uint64_t debates_max = 1'000;
  uint64_t debate_log_max = 64;
  uint64_t handoffs_max = 100'000;
  uint64_t flags_max = 1'000;
  uint64_t flag_bytes_max = 100 * 1'024;
  uint64_t settled_max = 262'144;
  uint64_t share_percent = 20;

  // What the broker does with dead letters by itself.
  Duration dead_letter_pass = base::minutes(5);
  uint64_t dead_letter_tries_max = 3;
  Duration dead_letter_backoff = base::seconds(1);
  uint64_t dead_letter_alert = 10;
  Duration dead_letter_alert_window = base::minutes(5);

  // Threads; the first two are for flow senders.
  uint64_t thread_messages_max = 20;
  Duration thread_duration_max = base::hours(24);
  Duration thread_retention = base::hours(24 * 7);
  uint64_t thread_participants_max = 64;
  uint64_t thread_correlations_max = 8;
  uint64_t threads_max = 100'000;

  // Sessions; the first two are collab's.
  Duration session_duration_max = base::hours(1);
  Duration session_warning = base::minutes(5);
  Duration session_retention = base::hours(24 * 7);
  uint64_t session_entries_max = 500;
  uint64_t session_entry_bytes_max = 32 * 1'024;
  uint64_t session_changes_max = 500;
  uint64_t session_log_max = 200;
  uint64_t session_participants_max = 64;
  uint64_t session_notices = 600;
  uint64_t sessions_max = 1'000;
  uint64_t sessions_per_agent_max = 100;

  // Tasks; the first is inbox's.
  Duration inbox_silence = base::minutes(10);
  Duration task_retention = base::hours(24 * 7);
  uint64_t task_giver_percent = 20;
  uint64_t task_moves_max = 32;
  uint64_t tasks_max = 10'000;
  uint64_t foreign = 0;  // a ForeignPolicy

  // What becomes of secrets in what is sent: a SecretsPolicy.
  uint64_t secrets_policy = 1;
  uint64_t superprompt_secrets_policy = 2;

  Duration lock_lease = base::seconds(60);
  Duration lock_lease_max = base::hours(1);
  Duration lock_wait_max = base::minutes(10);
  uint64_t lock_waiters_max = 1'000;
  uint64_t locks_max = 10'000;
  uint64_t locks_per_agent_max = 100;

  bool operator==(const Rules&) const = default;
};

// One row of the table of rules: the public name, where it lies, and its bounds.
struct RuleInfo {
  using Member = std::variant<Duration Rules::*, uint64_t Rules::*, Delays Rules::*>;
  enum class Unit : uint8_t { count, bytes };

  std::string_view name;
  Member member;
  uint64_t min;  // durations, and each of several delays: microseconds
  uint64_t max;
  std::string_view help;
  std::span<const std::string_view> words{};  // of a choice: the value is the place in this list
  Unit unit = Unit::count;                    // of a whole number; bytes may be written as `1MB`
};

// All rules, sorted by name.
std::span<const RuleInfo> all_rules();

// Whether agents of other dialects may write to those whose dialect has roles.
enum class ForeignPolicy : uint8_t { allow = 0, refuse = 1 };

// What becomes of passwords, keys and tokens in a message.
enum class SecretsPolicy : uint8_t { off = 0, warn = 1, redact = 2, refuse = 3 };

// What becomes of a request that would close a circle of those who wait for each other.
enum class DeadlockPolicy : uint8_t { abort = 0, warn = 1 };

// The value as text: `5m`, `10000`, `queue`.
std::string rule_value(const Rules& rules, const RuleInfo& info);

// Sets one rule from text; on error (unknown_rule, which names the nearest, or bad_rule_value)
// `rules` is as it was.
std::expected<void, Error> set_rule(Rules& rules, std::string_view name, std::string_view value);

// When the participants of a session are warned that it ends; time_max: never.
Time session_warned_at(const Rules& rules, Time started);

// How much of a table with this many places one principal may fill with what is open.
constexpr uint64_t share_of(const Rules& rules, uint64_t places) {
  const uint64_t share = places * rules.share_percent / 100;
  return share > 0 ? share : 1;
}

// What is done with one principal may hold of a table at least.
constexpr uint64_t share_of_done_min = 10'000;

// Whether the two have the same rate limits.
bool same_rates(const Rules& a, const Rules& b);

}  // namespace parley::core
