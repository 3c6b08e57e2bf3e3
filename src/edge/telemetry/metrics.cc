// SPDX-License-Identifier: Apache-2.0
#include "edge/telemetry/metrics.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <functional>

#include "dialect/dialect.h"

namespace parley::edge {

namespace {

constexpr std::array<double, 14> seconds_bounds = {
    0.0001, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10};
constexpr std::array<double, 9> entries_bounds = {1, 4, 16, 64, 256, 1'024, 4'096, 16'384, 65'536};

// How long messages take, from a local push to an hour in a queue: in milliseconds, as collab
// defines its metrics, and in seconds, as Prometheus recommends.
constexpr std::array<double, 16> ms_bounds = {0.5,    1,       2.5,       5,        10,    25,
                                              50,     100,     250,       1'000,    5'000, 10'000,
                                              30'000, 300'000, 1'800'000, 3'600'000};
// For turns of the loop, of which none may take 5 ms.
constexpr std::array<double, 11> turn_bounds = {0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005,
                                                0.01,   0.025,   0.05,   0.1,   0.5};
constexpr auto long_seconds_bounds = [] {
  std::array<double, ms_bounds.size()> bounds{};
  std::ranges::transform(ms_bounds, bounds.begin(), [](double ms) { return ms / 1'000; });
  return bounds;
}();

double seconds_of(int64_t us) { return static_cast<double>(us) / 1e6; }
double ms_of(base::Duration duration) { return static_cast<double>(duration.us) / 1e3; }

// The word for a type is that which the sender's dialect defines for its metrics.
std::string_view type_word(core::Dialect dialect, core::Kind kind) {
  return dialect::codec_of(dialect).counted_as(kind);
}

uint64_t resident_bytes() {
  uint64_t total = 0;
  uint64_t resident = 0;
  std::ifstream("/proc/self/statm") >> total >> resident;
  return resident * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
}

double cpu_seconds() {
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  return static_cast<double>(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
         seconds_of(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
}

}  // namespace

Metrics::Metrics(std::vector<Route> routes, std::string_view version)
    : routes_(std::move(routes)),
      sends_refused_(base::all_codes().size()),
      refused_(base::all_codes().size()),
      traffic_(dialects * kinds, Traffic{.latency_ms = Histogram(ms_bounds)}),
      queue_time_ms_(core::priority_count, Histogram(ms_bounds)),
      turns_(turn_bounds),
      turns_work_(turn_bounds),
      turns_cpu_(turn_bounds),
      step_seconds_(seconds_bounds),
      step_entries_(entries_bounds) {
  routes_.push_back({"other", "other"});
  statuses_.resize(routes_.size());
  durations_.resize(routes_.size(), Histogram(seconds_bounds));
  registry_.gauge("parley_build_info", "1; its labels say what is running.", 1,
                  {{"version", std::string(version)}});
}

void Metrics::applied(const core::Machine& machine, const core::Entry& entry,
                      const core::Outcome& outcome, std::span<const core::Effect> effects) {
  if (const auto* send = std::get_if<core::Send>(&entry.command)) {
    if (entry.actor == core::broker_name) {
      notices_ += outcome ? 1 : 0;
    } else if (!outcome) {
      ++sends_refused_[static_cast<size_t>(outcome.error().code)];
    } else {
      ++(outcome->duplicate ? repeated_ : accepted_);
    }
    if (outcome && !outcome->duplicate) {
      count_sent(send->envelope);
    }
  }
  if (!outcome && entry.actor != core::broker_name) {
    count_error(base::info(outcome.error().code).name, entry.actor);
  }
  for (const core::Effect& effect : effects) {
    count_effect(machine, entry, effect);
  }
}

void Metrics::count_sent(const core::Envelope& envelope) {
  message_bytes_ += envelope.body.size();
  ++traffic(envelope.dialect, envelope.kind).sent[static_cast<size_t>(envelope.priority)];
}

void Metrics::count_effect(const core::Machine& machine, const core::Entry& entry,
                           const core::Effect& effect) {
  const auto message_at = [&machine](core::WorkspaceId home, base::Seq seq) {
    const core::Messages& messages = machine.find(home)->tables().messages;
    const core::MessageRef ref = messages.find(seq);
    return ref == core::none ? nullptr : &messages.message(ref);
  };
  if (const auto* late = std::get_if<core::RequestTimedOut>(&effect)) {
    const core::Message* message =
        late->is_final ? message_at(late->workspace, late->message) : nullptr;
    if (message != nullptr) {
      count_error(base::info(base::Code::timeout).name,
                  machine.find(late->workspace)->tables().agents[message->sender].name);
    }
    return;
  }
  if (const auto* settled = std::get_if<core::Settled>(&effect)) {
    ++settled_[static_cast<size_t>(settled->state)];
    const bool reached =
        settled->state == core::State::acked || settled->state == core::State::answered;
    const core::Message* message =
        reached && !settled->again ? message_at(settled->workspace, settled->message) : nullptr;
    if (message != nullptr) {
      traffic(message->dialect, message->kind).latency_ms.add(ms_of(entry.time - message->time));
    }
  } else if (const auto* deliver = std::get_if<core::Deliver>(&effect);
             deliver != nullptr && !deliver->seen) {
    ++offered_;
    const core::Message* message =
        deliver->attempt == 1 ? message_at(deliver->workspace, deliver->message) : nullptr;
    if (message != nullptr) {
      ++traffic(message->dialect, message->kind).received;
      queue_time_ms_[static_cast<size_t>(message->priority)].add(ms_of(entry.time - message->time));
    }
  } else if (const auto* dead = std::get_if<core::DeadLettered>(&effect)) {
    ++dead_[static_cast<size_t>(dead->reason)];
    const core::DeadLetter* letter =
        machine.find(dead->workspace)->tables().dead_letters.find(dead->id);
    if (letter != nullptr) {
      // A receiver that does not exist is not named: such names would use up the room for agents.
      const bool is_senders = dead->reason == core::Reason::receiver_not_found ||
                              dead->reason == core::Reason::malformed;
      count_error(core::reason_name(dead->reason), is_senders ? letter->sender : letter->receiver);
    }
  }
}

void Metrics::count_error(std::string_view type, std::string_view agent) {
  if (!named_agents_.contains(agent)) {
    if (named_agents_.size() < named_agents_max) {
      named_agents_.emplace(agent);
    } else {
      agent = "other";
    }
  }
  ++errors_[{std::string(type), std::string(agent)}];
}

// A private flag is for moderators alone, so it counts as the notification that others see.
Metrics::Traffic& Metrics::traffic(core::Dialect dialect, core::Kind kind) {
  const core::Kind shown = kind == core::Kind::private_flag ? core::Kind::notification : kind;
  return traffic_[static_cast<size_t>(dialect) * kinds + static_cast<size_t>(shown)];
}

void Metrics::stepped(uint64_t entries, base::Duration took) {
  if (entries > 0) {
    step_entries_.add(static_cast<double>(entries));
    step_seconds_.add(seconds_of(took.us));
  }
}

void Metrics::Turns::add(base::Duration took) {
  seconds.add(seconds_of(took.us));
  worst = std::max(worst, seconds_of(took.us));
}

void Metrics::turned(const net::Turn& turn, base::Duration stored) {
  turns_.add(turn.took);
  turns_work_.add(base::Duration{std::max<int64_t>(turn.took.us - stored.us, 0)});
  turns_cpu_.add(turn.cpu);
}

void Metrics::tell_turns() {
  const auto tell = [this](const std::string& name, const std::string& help, const Turns& turns) {
    registry_.histogram(name + "_seconds", help + ".", turns.seconds.buckets());
    registry_.gauge(name + "_worst_seconds", "The longest since the start: " + help + ".",
                    turns.worst);
  };
  tell("parley_loop_turn", "one turn of the loop, from when there was something to do", turns_);
  tell("parley_loop_work", "one turn of the loop without the journal's writes and syncs",
       turns_work_);
  tell("parley_loop_cpu", "processor time of one turn of the loop", turns_cpu_);
}

void Metrics::asked(const net::Exchange& exchange, size_t route, base::Time now) {
  asked_.insert_or_assign(exchange, Asked{std::min(route, routes_.size() - 1), now});
}

void Metrics::answered(const net::Exchange& exchange, int status, base::Time now) {
  if (const auto asked = asked_.extract(exchange)) {
    ++statuses_[asked.mapped().route][status];
    durations_[asked.mapped().route].add(seconds_of((now - asked.mapped().at).us));
  }
}

void Metrics::gone(net::ConnectionId connection) {
  asked_.erase(asked_.lower_bound({connection, 0}), asked_.lower_bound({connection + 1, 0}));
}

std::string Metrics::text(const core::Machine& machine, std::span<const Gauge> gauges,
                          base::Time now) {
  tell_counters();
  tell_traffic();
  tell_requests();
  tell_state(machine, now);
  for (const Gauge& gauge : gauges) {
    if (gauge.name.ends_with("_total")) {
      registry_.counter(gauge.name, gauge.help, gauge.value());
    } else {
      registry_.gauge(gauge.name, gauge.help, gauge.value());
    }
  }
  registry_.gauge("process_resident_memory_bytes", "Memory in use.",
                  static_cast<double>(resident_bytes()));
  registry_.counter("process_cpu_seconds_total", "Processor time used.", cpu_seconds());
  return registry_.text();
}

void Metrics::tell_counters() {
  const auto tell = [this](const char* name, const char* help, uint64_t total,
                           const lib::MetricRegistry::Labels& labels = {}) {
    registry_.counter(name, help, static_cast<double>(total), labels);
  };
  tell("parley_notices_total", "Messages of the broker's own, which tell senders of dead letters.",
       notices_);
  constexpr const char* messages = "parley_messages_total";
  constexpr const char* messages_help = "Messages sent, by what became of them.";
  tell(messages, messages_help, accepted_, {{"outcome", "accepted"}});
  tell(messages, messages_help, repeated_, {{"outcome", "repeated"}});
  for (const base::CodeInfo& info : base::all_codes()) {
    const std::string name(info.name);
    if (const uint64_t count = sends_refused_[static_cast<size_t>(info.code)]) {
      tell(messages, messages_help, count, {{"outcome", name}});
    }
    if (const uint64_t count = refused_[static_cast<size_t>(info.code)]) {
      tell("parley_errors_total", "Answers that were errors, by code.", count, {{"code", name}});
    }
  }
  tell("parley_message_bytes_total", "Bytes of the bodies of messages that were accepted.",
       message_bytes_);
  tell("parley_deliveries_offered_total", "Messages handed out to receivers, repeats included.",
       offered_);
  for (size_t n = static_cast<size_t>(core::State::acked); n < states; ++n) {
    tell("parley_deliveries_total", "Deliveries that ended, by how.", settled_[n],
         {{"state", std::string(core::state_name(static_cast<core::State>(n)))}});
  }
  for (size_t n = 0; n < reasons; ++n) {
    tell("parley_dead_letters_total", "Dead letters, by reason.", dead_[n],
         {{"reason", std::string(core::reason_name(static_cast<core::Reason>(n)))}});
  }
  for (const auto& [key, count] : errors_) {
    tell("errors_total", "What was refused or failed, by its code or reason, and whose it was.",
         count, {{"type", key.first}, {"agent", key.second}});
  }
  registry_.histogram("parley_step_entries", "Entries stored and applied in one step.",
                      step_entries_.buckets());
  registry_.histogram("parley_step_seconds", "One step: write, sync, apply, tell.",
                      step_seconds_.buckets());
  tell_turns();
}

void Metrics::tell_traffic() {
  std::map<std::string_view, Traffic> by_word;
  for (size_t n = 0; n < traffic_.size(); ++n) {
    const std::string_view word =
        type_word(static_cast<core::Dialect>(n / kinds), static_cast<core::Kind>(n % kinds));
    Traffic& sum =
        by_word.try_emplace(word, Traffic{.latency_ms = Histogram(ms_bounds)}).first->second;
    std::ranges::transform(sum.sent, traffic_[n].sent, sum.sent.begin(), std::plus{});
    sum.received += traffic_[n].received;
    sum.latency_ms.add(traffic_[n].latency_ms);
  }
  for (const auto& [word, sum] : by_word) {
    const std::string type(word);
    for (size_t n = 0; n < sum.sent.size(); ++n) {
      if (sum.sent[n] > 0) {
        registry_.counter(
            "messages_sent_total", "Messages accepted, by type and priority.",
            static_cast<double>(sum.sent[n]),
            {{"type", type}, {"priority", std::string(word_of(static_cast<core::Priority>(n)))}});
      }
    }
    if (sum.received > 0) {
      registry_.counter("messages_received_total",
                        "Messages handed out to receivers for the first time, by type.",
                        static_cast<double>(sum.received), {{"type", type}});
    }
    if (!sum.latency_ms.empty()) {
      registry_.histogram("message_latency_ms",
                          "Milliseconds from acceptance until a receiver settled it, by type.",
                          sum.latency_ms.buckets(), {{"type", type}});
      registry_.histogram("parley_message_latency_seconds",
                          "From acceptance until a receiver settled it, by type.",
                          sum.latency_ms.buckets(long_seconds_bounds, 1'000), {{"type", type}});
    }
  }
  for (size_t n = 0; n < queue_time_ms_.size(); ++n) {
    const lib::MetricRegistry::Labels labels = {
        {"priority", std::string(word_of(static_cast<core::Priority>(n)))}};
    registry_.histogram("queue_time_ms",
                        "Milliseconds from acceptance to the first handing out, by priority.",
                        queue_time_ms_[n].buckets(), labels);
    registry_.histogram("parley_queue_time_seconds",
                        "From acceptance to the first handing out, by priority.",
                        queue_time_ms_[n].buckets(long_seconds_bounds, 1'000), labels);
  }
}

void Metrics::tell_requests() {
  for (size_t n = 0; n < routes_.size(); ++n) {
    lib::MetricRegistry::Labels labels = {{"method", std::string(routes_[n].method)},
                                          {"route", std::string(routes_[n].pattern)}};
    if (!statuses_[n].empty()) {
      registry_.histogram("parley_request_seconds",
                          "From a request to its answer, long polls included.",
                          durations_[n].buckets(), labels);
    }
    for (const auto& [status, count] : statuses_[n]) {
      labels["status"] = std::to_string(status);
      registry_.counter("parley_requests_total", "HTTP requests, by route and status.",
                        static_cast<double>(count), labels);
    }
  }
  for (const auto& [call, count] : tool_calls_) {
    registry_.counter("parley_mcp_calls_total", "Calls of MCP tools, by tool and outcome.",
                      static_cast<double>(count), {{"tool", call.first}, {"outcome", call.second}});
  }
}

void Metrics::measure_depth(const core::Machine& machine) {
  depth_ = {};
  for (const auto& [id, workspace] : machine.workspaces()) {
    const core::Messages& messages = workspace.tables().messages;
    for (size_t n = 0; n < depth_.by_priority.size(); ++n) {
      depth_.open += messages.open_by_priority()[n];
      depth_.by_priority[n] += messages.open_by_priority()[n];
    }
    depth_.oldest = std::min(depth_.oldest, messages.oldest_open());
  }
}

namespace {

// What all workspaces hold together.
struct Holdings {
  uint64_t agents = 0;
  uint64_t messages = 0;
  uint64_t topics = 0;
  uint64_t streams = 0;
  uint64_t pending = 0;
  uint64_t dropped = 0;
  uint64_t owed = 0;
  uint64_t unsent = 0;
  uint64_t unheard = 0;
  uint64_t alerts = 0;
  uint64_t threads = 0;
  uint64_t active = 0;
  uint64_t waiting = 0;
  uint64_t escalated = 0;
  uint64_t throttled = 0;
  uint64_t present = 0;
  uint64_t sessions = 0;
  uint64_t locks = 0;
  uint64_t edges = 0;
  std::array<uint64_t, 3> breakers{};
};

void add(const core::Tables& t, base::Time now, Holdings& sum) {
  sum.throttled += t.messages.throttled();
  t.agents.each([&](const core::Agent& agent) {
    const auto breaker = agent.breaker.state(now, t.rules.breaker_pause);
    sum.breakers[static_cast<size_t>(breaker)] += agent.is_registered() ? 1 : 0;
    const bool is_there =
        agent.is_registered() && agent.kind == core::PrincipalKind::agent && !agent.is_offline();
    sum.present += is_there ? 1 : 0;
  });
  sum.agents += t.agents.registered();
  sum.messages += t.messages.size();
  sum.topics += t.topics.by_name().size();
  sum.streams += t.streams.size();
  sum.dropped += t.dead_letters_dropped;
  sum.owed += t.outbox.size();
  sum.unsent += t.outbox.dropped + t.outbox.refused;
  sum.unheard += t.broadcasts.unheard;
  sum.alerts += t.dead_letters.alerts();
  sum.threads += t.threads.size();
  sum.active += t.threads.count(core::Threads::Standing::active);
  sum.waiting += t.patterns.waits().size();
  sum.escalated += t.escalations.open();
  sum.sessions += t.sessions.live();
  sum.locks += t.locks.size();
  sum.edges += t.waits.size();
  for (const auto& [number, letter] : t.dead_letters.all()) {
    sum.pending += letter.resolution == core::Resolution::pending ? 1 : 0;
  }
}

}  // namespace

void Metrics::tell_state(const core::Machine& machine, base::Time now) {
  Holdings sum;
  for (const auto& [id, workspace] : machine.workspaces()) {
    add(workspace.tables(), now, sum);
  }
  measure_depth(machine);
  tell_depth(now);
  const auto gauge = [this](const char* name, const char* help, uint64_t value) {
    registry_.gauge(name, help, static_cast<double>(value));
  };
  gauge("active_agents", "Registered agents that are not offline.", sum.present);
  gauge("parley_workspaces", "Workspaces.", machine.workspaces().size());
  gauge("parley_agents", "Registered agents, people and admins.", sum.agents);
  gauge("parley_topics", "Topics.", sum.topics);
  gauge("parley_streams", "Open streams that messages are pushed to.", sum.streams);
  gauge("parley_messages", "Messages that the engine knows, settled ones included.", sum.messages);
  gauge("parley_throttled", "Messages that wait for a rate limit.", sum.throttled);
  for (size_t n = 0; n < sum.breakers.size(); ++n) {
    registry_.gauge(
        "parley_breakers", "Circuit breakers of receivers, by state.",
        static_cast<double>(sum.breakers[n]),
        {{"state", std::string(core::breaker_name(static_cast<core::Breaker::State>(n)))}});
  }
  gauge("parley_dead_letters_pending", "Dead letters that nobody has resolved.", sum.pending);
  registry_.counter("parley_dead_letters_dropped_total", "Dead letters that had to go for others.",
                    static_cast<double>(sum.dropped));
  gauge("parley_notices_owed", "Messages of the broker's own that it has still to send.", sum.owed);
  registry_.counter("parley_notices_unsent_total", "Messages of the broker's own that it gave up.",
                    static_cast<double>(sum.unsent));
  registry_.counter("parley_broadcasts_unheard_total",
                    "Deliveries of broadcasts that were not persisted and not acknowledged.",
                    static_cast<double>(sum.unheard));
  registry_.counter("parley_dead_letter_alerts_total",
                    "Times that many dead letters in a short time raised an alarm.",
                    static_cast<double>(sum.alerts));
  gauge("parley_threads", "Conversations that the engine remembers, closed ones included.",
        sum.threads);
  gauge("parley_threads_active", "Conversations with a request that is not answered.", sum.active);
  gauge("parley_requests_waiting", "Requests and roll calls that someone waits for.", sum.waiting);
  gauge("parley_sessions", "Sessions that are not over.", sum.sessions);
  gauge("parley_locks", "Locks that someone holds.", sum.locks);
  gauge("parley_waits", "Requests whose sender counts as waiting for their receiver.", sum.edges);
  gauge("parley_escalations_open", "Escalations that no human has resolved.", sum.escalated);
  gauge("parley_seq", "Place of the newest entry of the journal.", machine.seq().n);
}

void Metrics::tell_depth(base::Time now) {
  registry_.gauge("parley_queue_depth", "Deliveries that are not settled.",
                  static_cast<double>(depth_.open));
  for (size_t n = 0; n < depth_.by_priority.size(); ++n) {
    registry_.gauge("queue_depth", "Deliveries that are not settled, by priority.",
                    static_cast<double>(depth_.by_priority[n]),
                    {{"priority", std::string(word_of(static_cast<core::Priority>(n)))}});
  }
  registry_.gauge("parley_queue_oldest_seconds", "Age of the oldest unsettled message.",
                  depth_.open == 0 ? 0 : seconds_of((now - depth_.oldest).us));
}

}  // namespace parley::edge
