// SPDX-License-Identifier: Apache-2.0
#include "core/model/rules.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include "base/nearest.h"
#include "base/time.h"
#include "core/model/refusal.h"

namespace parley::core {

namespace {

using base::Code;

constexpr uint64_t second = 1'000'000;
constexpr uint64_t day = 86'400 * second;
constexpr uint64_t year = 366 * day;

constexpr auto bytes = RuleInfo::Unit::bytes;
constexpr auto deadlock_words = std::to_array<std::string_view>({"abort", "warn"});
constexpr auto foreign_words = std::to_array<std::string_view>({"allow", "refuse"});
constexpr auto secrets_words = std::to_array<std::string_view>({"off", "warn", "redact", "refuse"});
constexpr auto unavailable_words = std::to_array<std::string_view>({"queue", "redirect", "fail"});

// A lower bound of one on everything whose absence would stop the broker from working at all.
constexpr auto table = std::to_array<RuleInfo>({
    {"agents_max", &Rules::agents_max, 1, 10'000'000, "Principals in one workspace."},
    {"answer_time_min", &Rules::answer_time_min, 0, year,
     "A request that gives its receiver less time than this says nothing of the receiver when it "
     "is not answered: that one is not unavailable, and its circuit breaker counts no failure."},
    {"approval_bytes_max", &Rules::approval_bytes_max, 1'000, 1'048'576,
     "Bytes of what an agent proposes to people, and of what they allow instead."},
    {"approval_reminder", &Rules::approval_reminder, 0, year,
     "How often those who may decide are reminded of an approval. 0s: never."},
    {"approval_timeout", &Rules::approval_timeout, second, year,
     "How long people have to decide on an approval that does not say. Then it is expired, which "
     "approves nothing."},
    {"approval_timeout_max", &Rules::approval_timeout_max, second, year,
     "The longest time to decide that an approval may ask for."},
    {"approvals_max", &Rules::approvals_max, 1, 1'000'000,
     "Approvals that are kept. Beyond it the oldest decided one goes, of the agent that holds most "
     "of those. One that is pending never goes."},
    {"attempts_max", &Rules::attempts_max, 1, 200,
     "Lost or refused deliveries after which a message becomes a dead letter."},
    {"availability_news_per_min", &Rules::availability_news, 0, 10'000'000,
     "News on `agent.availability_changed` about one agent in a minute. What changes faster is "
     "told later, only the newest. 0: no limit."},
    {"breaker.failures_max", &Rules::breaker_failures, 0, 1'000'000,
     "Failures in a row that open a receiver's circuit breaker. 0: never."},
    {"breaker.pause", &Rules::breaker_pause, second / 1'000, year,
     "How long a circuit breaker stays open before one message is let through as a test."},
    {"breaker.queue_percent", &Rules::breaker_queue, 0, 100,
     "Open the breaker at this percentage of queue_max. 0: never."},
    {"capabilities_max", &Rules::capabilities_max, 0, 10'000, "Capabilities of one agent."},
    {"chain_max", &Rules::chain_max, 1, 1'000,
     "Requests that agents pass on one after the other without an answer to any of them."},
    {"collab.deadlock", &Rules::collab_deadlock, 0, 1,
     "What happens to a request that closes a circle of agents that wait for each other. `abort` "
     "refuses it, `warn` lets it pass and tells its sender.",
     deadlock_words},
    {"collab.heartbeat", &Rules::collab_heartbeat, second / 1'000, year,
     "How often an agent that sends heartbeats must send one."},
    {"collab.heartbeats_missed", &Rules::collab_heartbeats_missed, 0, 1'000,
     "An agent that misses this many heartbeats, and is not heard of otherwise, is offline. 0: "
     "never."},
    {"collab.lease", &Rules::collab_lease, second / 1'000, year,
     "How long a collab agent may hold a message."},
    {"collab.message_bytes_max",
     &Rules::collab_message_bytes_max,
     1'024,
     64 * 1'024 * 1'024,
     "Size of a message from or to a collab agent.",
     {},
     bytes},
    {"collab.on_unavailable", &Rules::collab_on_unavailable, 0, 2,
     "What happens to a collab agent's message to a receiver that is away, if the message does not "
     "say. It may `queue`, `redirect` to an agent with the same capabilities, or `fail`.",
     unavailable_words},
    {"collab.retry_delays", &Rules::collab_retry_delays, second / 1'000, year,
     "Pauses before each new try of a collab agent's message that was not answered, or that its "
     "receiver could not take."},
    {"collab.session_duration_max", &Rules::session_duration_max, second / 1'000, 10 * year,
     "Age at which an open session is ended as failed."},
    {"collab.session_warning", &Rules::session_warning, 0, 10 * year,
     "How long before its end by age the participants of a session are warned. 0s: never."},
    {"collab.timeout.broadcast", &Rules::collab_timeout_broadcast, second / 1'000, year,
     "How long a collab command or query to a topic or to `*` waits for its answer."},
    {"collab.timeout.command", &Rules::collab_timeout_command, second / 1'000, year,
     "How long a collab command waits for its answer, each time that it is sent."},
    {"collab.timeout.query", &Rules::collab_timeout_query, second / 1'000, year,
     "How long a collab query waits for its answer, each time that it is sent."},
    {"collab.ttl", &Rules::collab_ttl, 0, year,
     "Time to live of a message from a collab agent without expiresAt. 0s: it never expires."},
    {"dead_letter_alert", &Rules::dead_letter_alert, 0, 10'000,
     "Dead letters within dead_letter_alert_window that alert the orchestrator. 0: never."},
    {"dead_letter_alert_window", &Rules::dead_letter_alert_window, second / 1'000, year,
     "The time within which dead_letter_alert counts. There is at most one alert in it."},
    {"dead_letter_backoff", &Rules::dead_letter_backoff, second / 1'000, year,
     "Pause before the broker tries a dead letter again. It doubles with each try."},
    {"dead_letter_pass", &Rules::dead_letter_pass, second / 1'000, year,
     "How often the broker looks through the dead letters."},
    {"dead_letter_tries_max", &Rules::dead_letter_tries_max, 0, 30,
     "How often the broker tries a dead letter again whose receiver was away or had no room."},
    {"dead_letters_max", &Rules::dead_letters_max, 1, 10'000'000,
     "Dead letters that are kept. Beyond it one of the sender that holds most is dropped and "
     "counted: its oldest that is resolved, else its oldest."},
    {"debate_log_max", &Rules::debate_log_max, 4, 1'000,
     "Messages that one debate lists. One that gets so long is put before people."},
    {"debates_max", &Rules::debates_max, 1, 100'000,
     "Debates that are kept. Beyond it the oldest ended one goes, of the challenger that holds "
     "most "
     "of those. One that is open never goes."},
    {"errands_max", &Rules::errands_max, 0, 10'000'000,
     "Messages that the broker itself has still to send. Beyond an eighth of it to one principal, "
     "what failed is told in a summary; see docs/limits.md."},
    {"escalations_max", &Rules::escalations_max, 1, 1'000'000,
     "Escalations that are kept. Beyond it the oldest resolved one goes, of the agent that holds "
     "most of those. One that is open never goes."},
    {"flag_bytes_max", &Rules::flag_bytes_max, 1'000, 1'048'576,
     "Bytes of a private flag that the moderators get. Of a longer one they get the beginning."},
    {"flags_max", &Rules::flags_max, 1, 100'000,
     "Private flags that are kept. Beyond it the oldest resolved one goes, of the agent that holds "
     "most of those. One that is open never goes."},
    {"flow.gather_window", &Rules::flow_gather_window, second / 1'000, year,
     "How long a scatter waits for its answers if it does not say."},
    {"flow.lease", &Rules::flow_lease, second / 1'000, year,
     "How long a flow agent may hold a message."},
    {"flow.query_timeout", &Rules::flow_query_timeout, second / 1'000, year,
     "How long a query without response_timeout waits for its answer."},
    {"flow.rate.agent_in_per_min", &Rules::flow_rate_in, 0, 60'000'000,
     "Messages of flow agents that one receiver gets in a minute. More must wait. 0: no limit."},
    {"flow.rate.agent_out_per_min", &Rules::flow_rate_out, 0, 60'000'000,
     "Messages that one flow agent sends in a minute. A high one counts half, a low one twice, a "
     "critical one not at all. More must wait. 0: no limit."},
    {"flow.rate.broadcast_per_min", &Rules::flow_rate_broadcast, 0, 60'000'000,
     "Messages that all flow agents together send to `*` in a minute. They count as in "
     "flow.rate.agent_out_per_min."},
    {"flow.rate.pair_per_min", &Rules::flow_rate_pair, 0, 60'000'000,
     "Messages that one flow agent sends to one receiver in a minute. They count as in "
     "flow.rate.agent_out_per_min."},
    {"flow.rate.signal_percent", &Rules::flow_rate_signal, 1, 100,
     "Percentage of a limit at which its sender gets a backpressure signal."},
    {"flow.rate.throttled_max", &Rules::flow_rate_throttled, 1, 10'000'000,
     "Messages of one sender that wait for the limits of flow.rate. Beyond it sends are refused."},
    {"flow.rate.topic_per_min", &Rules::flow_rate_topic, 0, 60'000'000,
     "Messages that all flow agents together publish on one topic in a minute. They count as in "
     "flow.rate.agent_out_per_min."},
    {"flow.request_retries", &Rules::flow_request_retries, 0, 1'000,
     "How often a request with on_timeout retry is sent again."},
    {"flow.request_timeout", &Rules::flow_request_timeout, second / 1'000, year,
     "How long a request without response_timeout waits for its answer."},
    {"flow.roll_call_window", &Rules::flow_roll_call_window, second / 1'000, year,
     "How long a roll call (requires_ack to a topic or to `*`) waits for acknowledgements."},
    {"flow.ttl.critical", &Rules::flow_ttl_critical, second / 1'000, year,
     "Time to live of a critical message from a flow agent."},
    {"flow.ttl.high", &Rules::flow_ttl_high, second / 1'000, year,
     "Time to live of a high message from a flow agent."},
    {"flow.ttl.low", &Rules::flow_ttl_low, second / 1'000, year,
     "Time to live of a low message from a flow agent."},
    {"flow.ttl.normal", &Rules::flow_ttl_normal, second / 1'000, year,
     "Time to live of a normal message from a flow agent."},
    {"foreign", &Rules::foreign, 0, 1,
     "Whether agents of other dialects may write to inbox, superprompt and squad agents, for whom "
     "they count as directors, orchestrators and mains. `allow`, or `refuse` all but answers.",
     foreign_words},
    {"gathers_max", &Rules::gathers_max, 0, 10'000'000,
     "Scatters, those that run and those that ended within settled_retention. Where one owner has "
     "its share, or there is no room, one of its own that ended goes."},
    {"guard.bytes_per_day",
     &Rules::guard_bytes,
     0,
     1ULL << 50,
     "Bytes that one agent may have the broker store in a day (UTC), by messages and all else. "
     "0: no limit.",
     {},
     bytes},
    {"guard.bytes_per_min",
     &Rules::guard_bytes_rate,
     0,
     1ULL << 40,
     "The same in a minute. 0: no limit.",
     {},
     bytes},
    {"guard.conversations_max", &Rules::guard_conversations, 1, 10'000'000,
     "Conversations that are watched for ping-pong."},
    {"guard.critical_per_min", &Rules::guard_critical, 0, 1'000'000'000,
     "Critical messages that one agent sends in a minute: no rate holds them up. More are refused. "
     "0: no limit."},
    {"guard.fan_out_per_min", &Rules::guard_fan_out, 0, 1'000'000'000,
     "Deliveries that one agent causes in a minute. More are refused. 0: no limit."},
    {"guard.messages_per_day", &Rules::guard_messages, 0, 1'000'000'000'000,
     "Messages that one agent sends in a day (UTC). 0: no limit."},
    {"guard.ping_pong_max", &Rules::guard_ping_pong, 0, 1'000'000'000,
     "Messages that go to and fro between two agents, or round in a ring of them, while no one "
     "else speaks. 0: no limit."},
    {"guard.ping_pong_window", &Rules::guard_ping_pong_window, second, year,
     "The time within which guard.ping_pong_max counts."},
    {"guard.redeliveries_per_min", &Rules::guard_redeliveries, 0, 1'000'000'000,
     "Deliveries that the streams of one agent get again in a minute: a stream that closes gives "
     "back what it holds. Beyond it the agent opens no stream. 0: no limit."},
    {"guard.tokens_per_day", &Rules::guard_tokens, 0, 1'000'000'000'000,
     "Tokens that one agent reports in a day (UTC). 0: no limit."},
    {"handoffs_max", &Rules::handoffs_max, 1, 10'000'000,
     "Handoffs and queries of squad agents that wait for their answer. More are refused."},
    {"inbox.content_bytes",
     &Rules::inbox_content_bytes,
     1'024,
     1'024 * 1'024,
     "The content of a message from or to an inbox agent has fewer bytes than this.",
     {},
     bytes},
    {"inbox.lease", &Rules::inbox_lease, second / 1'000, year,
     "How long an inbox agent may hold a message."},
    {"inbox.silence", &Rules::inbox_silence, second / 1'000, year,
     "A task of which nothing is heard for this long is shown as silent."},
    {"inbox.ttl", &Rules::inbox_ttl, 0, year,
     "Time to live of a message from an inbox agent. 0s: it never expires."},
    {"lease_max", &Rules::lease_max, second / 1'000, year,
     "The longest lease of a message that a receiver can ask for."},
    {"lock.lease", &Rules::lock_lease, second / 1'000, year,
     "How long a lock is held if its owner does not say. Taking it again starts the lease anew."},
    {"lock.lease_max", &Rules::lock_lease_max, second / 1'000, year,
     "The longest lease of a lock that its owner can ask for."},
    {"lock.wait_max", &Rules::lock_wait_max, 0, year, "The longest wait for a lock."},
    {"lock.waiters_max", &Rules::lock_waiters_max, 0, 1'000'000,
     "Principals that wait in line for one lock."},
    {"locks_max", &Rules::locks_max, 0, 10'000'000, "Locks that are held in one workspace."},
    {"locks_per_agent_max", &Rules::locks_per_agent_max, 0, 1'000'000,
     "Locks that one principal holds."},
    {"malformed_bytes_max",
     &Rules::malformed_bytes_max,
     0,
     1'024 * 1'024,
     "Bytes that are kept of a malformed message.",
     {},
     bytes},
    {"malformed_per_min", &Rules::malformed_per_min, 0, 1'000'000,
     "Malformed messages of one sender that are kept as dead letters in a minute."},
    {"message_bytes_max",
     &Rules::message_bytes_max,
     1'024,
     64 * 1'024 * 1'024,
     "Size of a message with all its fields. A dialect may have a smaller limit of its own.",
     {},
     bytes},
    {"nack_delay_max", &Rules::nack_delay_max, 0, year,
     "The longest time that a nack can put a message off."},
    {"name_bytes_max",
     &Rules::name_bytes_max,
     16,
     4'096,
     "Size of the name of a principal, topic, role or capability.",
     {},
     bytes},
    {"numbered_channels_max", &Rules::numbered_channels_max, 0, 10'000'000,
     "Channels of one sender on which the broker numbers its messages."},
    {"pipeline_pause_max", &Rules::pipeline_pause_max, second, year,
     "How long a pipeline waits for a busy stage before it fails."},
    {"pipelines_max", &Rules::pipelines_max, 0, 10'000'000,
     "Pipelines, those that run and those that ended within settled_retention. One goes as of "
     "gathers_max."},
    {"profile_bytes_max",
     &Rules::profile_bytes_max,
     0,
     1'024 * 1'024,
     "Size of what an agent says of itself beyond role and capabilities.",
     {},
     bytes},
    {"queue_max", &Rules::queue_max, 1, 100'000'000, "Unsettled messages in one inbox."},
    {"reason_bytes_max",
     &Rules::reason_bytes_max,
     0,
     65'536,
     "Bytes that are kept of the reason of a nack or reject.",
     {},
     bytes},
    {"receivers_max", &Rules::receivers_max, 1, 100'000, "Names in a message's list of receivers."},
    {"requests_max", &Rules::requests_max, 1, 100'000'000, "Requests that wait for their answer."},
    {"secrets.policy", &Rules::secrets_policy, 0, 3,
     "What becomes of passwords, keys and tokens in messages and other texts: nothing, a warning "
     "to the sender, they are replaced before anything is stored, or the message is refused. What "
     "is kept of a malformed message never has them.",
     secrets_words},
    {"session.changes_max", &Rules::session_changes_max, 0, 1'000'000,
     "Changes of participants and status that one session lists. Beyond it the oldest go."},
    {"session.entries_max", &Rules::session_entries_max, 0, 1'000'000,
     "Decisions, artifacts and findings of one session."},
    {"session.entry_bytes_max",
     &Rules::session_entry_bytes_max,
     0,
     64 * 1'024 * 1'024,
     "Size of a decision, an artifact or a finding, and of a session's task.",
     {},
     bytes},
    {"session.log_max", &Rules::session_log_max, 0, 1'000'000,
     "Messages that the log of one session lists. Beyond it the oldest go."},
    {"session.notices_per_min", &Rules::session_notices, 0, 10'000'000,
     "Notices to others that one agent causes in a minute by its changes of sessions and by asking "
     "for approvals. 0: no limit."},
    {"session.participants_max", &Rules::session_participants_max, 1, 10'000,
     "Participants of one session, with its coordinator."},
    {"session.retention", &Rules::session_retention, 0, 10 * year,
     "How long a session that is over can be read."},
    {"sessions_max", &Rules::sessions_max, 0, 1'000'000,
     "Sessions that are kept. Beyond it the one that ended first goes; if none has ended, no other "
     "starts."},
    {"sessions_per_agent_max", &Rules::sessions_per_agent_max, 1, 1'000'000,
     "Open sessions that one agent coordinates."},
    {"settled_max", &Rules::settled_max, 0, 100'000'000,
     "Settled messages that the engine remembers for duplicates and delivery states. Each delivery "
     "counts like a message, one to a name that nobody has like nine. Beyond it the oldest of the "
     "sender that holds most goes, and so does the oldest of one that holds more than its "
     "share_percent and 10,000."},
    {"settled_retention", &Rules::settled_retention, 0, year,
     "How long the engine remembers a settled message."},
    {"share_percent", &Rules::share_percent, 1, 100,
     "How much of a table that all share one principal may fill with what is open, but at least "
     "one place: dead letters to names that nobody has, escalations, threads with a pending "
     "request, topics that it made, scatters and pipelines that run."},
    {"squad.blocked_after", &Rules::squad_blocked_after, second, year,
     "A squad agent that is blocked for longer, or has acknowledged a handoff and says nothing of "
     "it, is put before people."},
    {"squad.confidence_min", &Rules::squad_confidence_min, 0, 100,
     "A response of a squad agent that is less sure than this, in percent, is put before people."},
    {"squad.debate_rounds", &Rules::squad_debate_rounds, 1, 100,
     "Defences of what is challenged after which a debate is put before people."},
    {"squad.lease", &Rules::squad_lease, second / 1'000, year,
     "How long a squad agent may hold a message."},
    {"squad.response_time.p0", &Rules::squad_response_p0, second, year,
     "How soon a P0 handoff is to be acknowledged, or a P0 query answered. Then it is overdue."},
    {"squad.response_time.p1", &Rules::squad_response_p1, second, year,
     "The same of P1, which the text wants in the same session. A challenge that is not answered "
     "for so long is put before people."},
    {"squad.response_time.p2", &Rules::squad_response_p2, second, year, "The same of P2."},
    {"squad.response_time.p3", &Rules::squad_response_p3, second, year, "The same of P3."},
    {"squad.spawned_max", &Rules::squad_spawned_max, 0, 100'000,
     "Agents that one main has registered itself. 0: only an admin registers any."},
    {"squad.ttl", &Rules::squad_ttl, 0, year,
     "Time to live of a message from a squad agent without ttl_hours. 0s: it never expires."},
    {"stages_max", &Rules::stages_max, 1, 10'000, "Stages of one pipeline."},
    {"streams_max", &Rules::streams_max, 1, 10'000'000, "Open streams in one workspace."},
    {"subscriptions_per_agent_max", &Rules::subscriptions_per_agent_max, 0, 100'000,
     "Topics that one agent subscribes to."},
    {"superprompt.extension_max", &Rules::superprompt_extension_max, 0, year,
     "How much more time the receiver of a request can ask for in all, in any dialect."},
    {"superprompt.lease", &Rules::superprompt_lease, second / 1'000, year,
     "How long a superprompt agent may hold a message."},
    {"superprompt.message_bytes_max",
     &Rules::superprompt_message_bytes_max,
     1'024,
     64 * 1'024 * 1'024,
     "Size of a message from or to a superprompt agent.",
     {},
     bytes},
    {"superprompt.retries_max", &Rules::superprompt_retries_max, 0, 7,
     "How often a superprompt agent's task is given again. Then its failure is told and "
     "escalated."},
    {"superprompt.retry_delays", &Rules::superprompt_retry_delays, second / 1'000, year,
     "Pauses before a superprompt agent's task is given again, which was not answered in time or "
     "failed in a way that another try may mend. At most superprompt.retries_max of them."},
    {"superprompt.secrets_policy", &Rules::superprompt_secrets_policy, 0, 3,
     "The same for what a superprompt agent sends.", secrets_words},
    {"superprompt.task_timeout", &Rules::superprompt_task_timeout, second / 1'000, year,
     "How long a task of a superprompt agent without timeout_seconds waits for its completion, "
     "each time that it is given."},
    {"superprompt.ttl", &Rules::superprompt_ttl, 0, year,
     "Time to live of a message from a superprompt agent. 0s: it never expires."},
    {"task.giver_percent", &Rules::task_giver_percent, 1, 100,
     "Percentage of tasks_max that the open tasks of one giver may take, but at least one task."},
    {"task.moves_max", &Rules::task_moves_max, 0, 10'000,
     "Reassignments that one task lists. Beyond it the oldest go."},
    {"task.retention", &Rules::task_retention, 0, 10 * year,
     "How long a task that is over can be seen."},
    {"tasks_max", &Rules::tasks_max, 1, 10'000'000,
     "Tasks that are kept. Beyond it the one that ended first goes, of the giver that holds most "
     "of those; if none has ended, no other is given."},
    {"thread_correlations_max", &Rules::thread_correlations_max, 0, 1'000,
     "Correlation ids by which the engine finds one thread. The history knows them all."},
    {"thread_duration_max", &Rules::thread_duration_max, second / 1'000, 10 * year,
     "Age at which a thread that a flow agent began is closed, once its requests have ended."},
    {"thread_messages_max", &Rules::thread_messages_max, 1, 1'000'000'000,
     "Messages in a thread beyond which a flow agent's next one is refused with THREAD_FULL."},
    {"thread_participants_max", &Rules::thread_participants_max, 2, 10'000,
     "Participants of one thread whom the engine lists, and tells when it is closed."},
    {"thread_retention", &Rules::thread_retention, 0, year,
     "How long the engine remembers a thread that is closed, or in which nothing happens."},
    {"threads_max", &Rules::threads_max, 1, 100'000'000,
     "Threads that the engine remembers. Beyond it one goes of the owner that holds most: its "
     "first closed one, else its first idle one. One goes too of an owner with more than its "
     "share_percent and 10,000 in which nothing is pending."},
    {"timeout_max", &Rules::timeout_max, second / 1'000, year,
     "The longest response_timeout or gather window that a sender can ask for."},
    {"tokens_per_agent_max", &Rules::tokens_per_agent_max, 1, 1'000,
     "Tokens of one principal. A new one beyond it replaces the oldest."},
    {"topic.retained_max", &Rules::topic_retained_max, 0, 10'000'000,
     "Messages that a topic keeps for late subscribers."},
    {"topic.retention", &Rules::topic_retention, 0, year,
     "How long a topic keeps a message for late subscribers."},
    {"topics_max", &Rules::topics_max, 1, 10'000'000, "Topics in one workspace."},
    {"ttl_max", &Rules::ttl_max, second / 1'000, 10 * year,
     "The longest time to live that a sender can ask for."},
    {"violations_per_min", &Rules::violations_per_min, 0, 1'000'000,
     "Refused messages of one agent that are counted in a minute as violations of its protocol. "
     "More are refused and not counted."},
    {"webhook_bytes_max",
     &Rules::webhook_bytes_max,
     16,
     65'536,
     "Size of the URL of an agent's webhook.",
     {},
     bytes},
    {"window_max", &Rules::window_max, 1, 1'000'000,
     "Messages that one stream, or one take, hands out and that are not settled."},
});

std::string_view nearest_name(std::string_view name) {
  return std::ranges::min_element(
             table, {},
             [name](const RuleInfo& info) { return base::edit_distance(name, info.name); })
      ->name;
}

std::optional<uint64_t> parse_count(std::string_view text) {
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) {
    return std::nullopt;
  }
  return value;
}

bool is_duration(const RuleInfo& info) {
  return !std::holds_alternative<uint64_t Rules::*>(info.member);
}

constexpr std::string_view no_delays = "none";

bool is_delays(const RuleInfo& info) {
  return std::holds_alternative<Delays Rules::*>(info.member);
}

std::optional<Delays> parse_delays(const RuleInfo& info, std::string_view text) {
  Delays delays;
  if (text == no_delays) {
    return delays;
  }
  while (delays.count < Delays::max) {
    const size_t end = std::min(text.find(','), text.size());
    const std::optional<Duration> pause = base::parse_duration(text.substr(0, end));
    if (!pause || static_cast<uint64_t>(pause->us) < info.min ||
        static_cast<uint64_t>(pause->us) > info.max) {
      return std::nullopt;
    }
    delays.pauses[delays.count++] = *pause;
    if (end == text.size()) {
      return delays;
    }
    text.remove_prefix(end + 1);
    text.remove_prefix(text.starts_with(' ') ? 1 : 0);
  }
  return std::nullopt;
}

std::string format_delays(const Delays& delays) {
  std::string text;
  for (size_t n = 0; n < delays.count; ++n) {
    text.append(n == 0 ? "" : ",").append(base::format_duration(delays.pauses[n]));
  }
  return delays.count == 0 ? std::string(no_delays) : text;
}

std::optional<uint64_t> parse_value(const RuleInfo& info, std::string_view text) {
  if (!info.words.empty()) {
    const auto at = std::ranges::find(info.words, text);
    return at == info.words.end() ? std::nullopt
                                  : std::optional(static_cast<uint64_t>(at - info.words.begin()));
  }
  if (!is_duration(info)) {
    return parse_count(text);
  }
  const std::optional<Duration> duration = base::parse_duration(text);
  return duration ? std::optional(static_cast<uint64_t>(duration->us)) : std::nullopt;
}

std::string format_value(const RuleInfo& info, uint64_t value) {
  if (!info.words.empty()) {
    return std::string(info.words[value]);
  }
  return is_duration(info) ? base::format_duration(Duration{static_cast<int64_t>(value)})
                           : std::to_string(value);
}

// What it takes, in words.
std::string values_of(const RuleInfo& info) {
  if (is_delays(info)) {
    return "up to " + std::to_string(Delays::max) + " durations from " +
           format_value(info, info.min) + " to " + format_value(info, info.max) +
           " with commas between, or none";
  }
  if (info.words.empty()) {
    return std::string(is_duration(info) ? "a duration" : "a whole number") + " from " +
           format_value(info, info.min) + " to " + format_value(info, info.max);
  }
  std::string words;
  for (const std::string_view word : info.words) {
    words.append(words.empty() ? "" : ", ").append(word);
  }
  return "one of " + words;
}

void store(Rules& rules, const RuleInfo& info, uint64_t value) {
  if (const auto* duration = std::get_if<Duration Rules::*>(&info.member)) {
    rules.*(*duration) = Duration{static_cast<int64_t>(value)};
  } else {
    rules.*std::get<uint64_t Rules::*>(info.member) = value;
  }
}

}  // namespace

std::span<const RuleInfo> all_rules() { return table; }

std::string rule_value(const Rules& rules, const RuleInfo& info) {
  if (const auto* duration = std::get_if<Duration Rules::*>(&info.member)) {
    return format_value(info, static_cast<uint64_t>((rules.*(*duration)).us));
  }
  if (const auto* delays = std::get_if<Delays Rules::*>(&info.member)) {
    return format_delays(rules.*(*delays));
  }
  return format_value(info, rules.*std::get<uint64_t Rules::*>(info.member));
}

std::expected<void, Error> set_rule(Rules& rules, std::string_view name, std::string_view value) {
  const auto* const found = std::ranges::find(table, name, &RuleInfo::name);
  if (found == table.end()) {
    return refuse(Code::unknown_rule, "there is no rule " + quoted_start(name, 64) +
                                          "; the nearest is " + quoted(nearest_name(name)));
  }
  const auto refused = [&] {
    return refuse(Code::bad_rule_value, std::string(name) + " takes " + values_of(*found) +
                                            ", not " + quoted_start(value, 64));
  };
  if (const auto* member = std::get_if<Delays Rules::*>(&found->member)) {
    const std::optional<Delays> delays = parse_delays(*found, value);
    if (!delays) {
      return refused();
    }
    rules.*(*member) = *delays;
    return {};
  }
  const std::optional<uint64_t> parsed = parse_value(*found, value);
  if (!parsed || *parsed < found->min || *parsed > found->max) {
    return refused();
  }
  store(rules, *found, *parsed);
  return {};
}

Time session_warned_at(const Rules& rules, Time started) {
  if (rules.session_warning.us == 0) {
    return base::time_max;
  }
  const int64_t age = rules.session_duration_max.us - rules.session_warning.us;
  return started + Duration{age > 0 ? age : 0};
}

bool same_rates(const Rules& a, const Rules& b) {
  return a.flow_rate_out == b.flow_rate_out && a.flow_rate_in == b.flow_rate_in &&
         a.flow_rate_pair == b.flow_rate_pair && a.flow_rate_topic == b.flow_rate_topic &&
         a.flow_rate_broadcast == b.flow_rate_broadcast;
}

}  // namespace parley::core
