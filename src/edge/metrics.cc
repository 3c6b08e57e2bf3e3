// SPDX-License-Identifier: Apache-2.0
#include "edge/metrics.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <fstream>

namespace parley::edge {

namespace {

constexpr std::array<double, 14> seconds_bounds = {
    0.0001, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10};
constexpr std::array<double, 9> entries_bounds = {1, 4, 16, 64, 256, 1'024, 4'096, 16'384, 65'536};

// Beyond so many messages the depth is measured at most once in so long.
constexpr size_t depth_cheap = 100'000;
constexpr base::Duration depth_every = base::seconds(10);

double seconds_of(int64_t us) { return static_cast<double>(us) / 1e6; }

std::string number(double value) {
  std::array<char, 32> text;
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value).ptr;
  return {text.data(), end};
}

void family(std::string& out, std::string_view name, std::string_view type, std::string_view help) {
  out.append("# HELP ").append(name).append(" ").append(help).append("\n# TYPE ");
  out.append(name).append(" ").append(type).append("\n");
}

void sample(std::string& out, std::string_view name, std::string_view labels, double value) {
  out.append(name);
  if (!labels.empty()) {
    out.append("{").append(labels).append("}");
  }
  out.append(" ").append(number(value)).append("\n");
}

void sample(std::string& out, std::string_view name, std::string_view labels, uint64_t value) {
  sample(out, name, labels, static_cast<double>(value));
}

std::string label(std::string_view key, std::string_view value) {
  return std::string(key).append("=\"").append(value).append("\"");
}

// A family of one sample.
void single(std::string& out, std::string_view name, std::string_view type, std::string_view help,
            double value) {
  family(out, name, type, help);
  sample(out, name, "", value);
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

void Histogram::add(double value) {
  const auto at = std::ranges::lower_bound(bounds_, value) - bounds_.begin();
  if (static_cast<size_t>(at) < counts_.size()) {
    ++counts_[static_cast<size_t>(at)];
  }
  ++count_;
  sum_ += value;
}

void Histogram::render(std::string_view name, std::string_view labels, std::string& out) const {
  const std::string before = labels.empty() ? "" : std::string(labels) + ",";
  const std::string bucket = std::string(name) + "_bucket";
  uint64_t upto = 0;
  for (size_t n = 0; n < bounds_.size(); ++n) {
    upto += counts_[n];
    sample(out, bucket, before + label("le", number(bounds_[n])), upto);
  }
  sample(out, bucket, before + label("le", "+Inf"), count_);
  sample(out, std::string(name) + "_sum", labels, sum_);
  sample(out, std::string(name) + "_count", labels, count_);
}

Metrics::Metrics(std::vector<Route> routes)
    : routes_(std::move(routes)),
      sends_refused_(base::all_codes().size()),
      refused_(base::all_codes().size()),
      step_seconds_(seconds_bounds),
      step_entries_(entries_bounds) {
  routes_.push_back({"other", "other"});
  statuses_.resize(routes_.size());
  durations_.resize(routes_.size(), Histogram(seconds_bounds));
}

void Metrics::applied(const core::Entry& entry, const core::Outcome& outcome,
                      std::span<const core::Effect> effects) {
  if (std::holds_alternative<core::Send>(entry.command)) {
    if (entry.actor == core::broker_name) {
      notices_ += outcome ? 1 : 0;
    } else if (!outcome) {
      ++sends_refused_[static_cast<size_t>(outcome.error().code)];
    } else {
      ++(outcome->duplicate ? repeated_ : accepted_);
    }
  }
  for (const core::Effect& effect : effects) {
    if (const auto* settled = std::get_if<core::Settled>(&effect)) {
      ++settled_[static_cast<size_t>(settled->state)];
    } else if (const auto* dead = std::get_if<core::DeadLettered>(&effect)) {
      ++dead_[static_cast<size_t>(dead->reason)];
    } else if (std::holds_alternative<core::Deliver>(effect)) {
      ++offered_;
    }
  }
}

void Metrics::stepped(uint64_t entries, base::Duration took) {
  if (entries > 0) {
    step_entries_.add(static_cast<double>(entries));
    step_seconds_.add(seconds_of(took.us));
  }
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
  std::string out;
  add_counters(out);
  add_requests(out);
  add_state(machine, now, out);
  for (const Gauge& gauge : gauges) {
    single(out, gauge.name, "gauge", gauge.help, gauge.value());
  }
  single(out, "process_resident_memory_bytes", "gauge", "Memory in use.",
         static_cast<double>(resident_bytes()));
  single(out, "process_cpu_seconds_total", "counter", "Processor time used.", cpu_seconds());
  return out;
}

void Metrics::add_counters(std::string& out) const {
  single(out, "parley_notices_total", "counter",
         "Messages of the broker's own, which tell senders of dead letters.",
         static_cast<double>(notices_));
  family(out, "parley_messages_total", "counter", "Messages sent, by what became of them.");
  sample(out, "parley_messages_total", label("outcome", "accepted"), accepted_);
  sample(out, "parley_messages_total", label("outcome", "repeated"), repeated_);
  for (const base::CodeInfo& info : base::all_codes()) {
    if (const uint64_t count = sends_refused_[static_cast<size_t>(info.code)]) {
      sample(out, "parley_messages_total", label("outcome", info.name), count);
    }
  }
  single(out, "parley_deliveries_offered_total", "counter",
         "Messages handed out to receivers, repeats included.", static_cast<double>(offered_));
  family(out, "parley_deliveries_total", "counter", "Deliveries that ended, by how.");
  for (size_t n = static_cast<size_t>(core::State::acked); n < states; ++n) {
    sample(out, "parley_deliveries_total",
           label("state", core::state_name(static_cast<core::State>(n))), settled_[n]);
  }
  family(out, "parley_dead_letters_total", "counter", "Dead letters, by reason.");
  for (size_t n = 0; n < reasons; ++n) {
    sample(out, "parley_dead_letters_total",
           label("reason", core::reason_name(static_cast<core::Reason>(n))), dead_[n]);
  }
  family(out, "parley_errors_total", "counter", "Answers that were errors, by code.");
  for (const base::CodeInfo& info : base::all_codes()) {
    if (const uint64_t count = refused_[static_cast<size_t>(info.code)]) {
      sample(out, "parley_errors_total", label("code", info.name), count);
    }
  }
  family(out, "parley_step_entries", "histogram", "Entries stored and applied in one step.");
  step_entries_.render("parley_step_entries", "", out);
  family(out, "parley_step_seconds", "histogram", "One step: write, sync, apply, tell.");
  step_seconds_.render("parley_step_seconds", "", out);
}

void Metrics::add_requests(std::string& out) const {
  const auto labels = [this](size_t n) {
    return label("method", routes_[n].method) + "," + label("route", routes_[n].pattern);
  };
  family(out, "parley_requests_total", "counter", "HTTP requests, by route and status.");
  for (size_t n = 0; n < routes_.size(); ++n) {
    for (const auto& [status, count] : statuses_[n]) {
      sample(out, "parley_requests_total",
             labels(n) + "," + label("status", std::to_string(status)), count);
    }
  }
  family(out, "parley_request_seconds", "histogram",
         "From a request to its answer, long polls included.");
  for (size_t n = 0; n < routes_.size(); ++n) {
    if (!statuses_[n].empty()) {
      durations_[n].render("parley_request_seconds", labels(n), out);
    }
  }
}

void Metrics::measure_depth(const core::Machine& machine, base::Time now) {
  size_t messages = 0;
  for (const auto& [id, workspace] : machine.workspaces()) {
    messages += workspace.tables().messages.size();
  }
  if (messages > depth_cheap && now - depth_.at < depth_every) {
    return;
  }
  depth_ = {.at = now};
  for (const auto& [id, workspace] : machine.workspaces()) {
    workspace.tables().messages.each([this](core::MessageRef, const core::Message& message) {
      if (message.open > 0) {
        depth_.open += message.open;
        depth_.oldest = std::min(depth_.oldest, message.time);
      }
    });
  }
}

void Metrics::add_state(const core::Machine& machine, base::Time now, std::string& out) {
  uint64_t agents = 0;
  uint64_t messages = 0;
  uint64_t topics = 0;
  uint64_t streams = 0;
  uint64_t pending = 0;
  uint64_t dropped = 0;
  uint64_t alerts = 0;
  uint64_t threads = 0;
  uint64_t active = 0;
  uint64_t waiting = 0;
  uint64_t escalated = 0;
  uint64_t throttled = 0;
  std::array<uint64_t, 3> breakers{};
  for (const auto& [id, workspace] : machine.workspaces()) {
    const core::Tables& t = workspace.tables();
    throttled += t.messages.throttled();
    t.agents.each([&](const core::Agent& agent) {
      const auto breaker = agent.breaker.state(now, t.rules.breaker_pause);
      breakers[static_cast<size_t>(breaker)] += agent.is_registered() ? 1 : 0;
    });
    agents += t.agents.registered();
    messages += t.messages.size();
    topics += t.topics.by_name().size();
    streams += t.streams.size();
    dropped += t.dead_letters_dropped;
    alerts += t.dead_letters.alerts();
    threads += t.threads.size();
    active += t.threads.count(core::Threads::Standing::active);
    waiting += t.patterns.waits().size();
    escalated += t.escalations.open();
    for (const auto& [number, letter] : t.dead_letters.all()) {
      pending += letter.resolution == core::Resolution::pending ? 1 : 0;
    }
  }
  measure_depth(machine, now);
  const auto gauge = [&out](std::string_view name, std::string_view help, uint64_t value) {
    single(out, name, "gauge", help, static_cast<double>(value));
  };
  gauge("parley_workspaces", "Workspaces.", machine.workspaces().size());
  gauge("parley_agents", "Registered agents, people and admins.", agents);
  gauge("parley_topics", "Topics.", topics);
  gauge("parley_streams", "Open streams that messages are pushed to.", streams);
  gauge("parley_messages", "Messages that the engine knows, settled ones included.", messages);
  gauge("parley_queue_depth", "Deliveries that are not settled.", depth_.open);
  gauge("parley_throttled", "Messages that wait for a rate limit.", throttled);
  family(out, "parley_breakers", "gauge", "Circuit breakers of receivers, by state.");
  for (size_t n = 0; n < breakers.size(); ++n) {
    sample(out, "parley_breakers",
           label("state", core::breaker_name(static_cast<core::Breaker::State>(n))), breakers[n]);
  }
  single(out, "parley_queue_oldest_seconds", "gauge", "Age of the oldest unsettled message.",
         depth_.open == 0 ? 0 : seconds_of((now - depth_.oldest).us));
  gauge("parley_dead_letters_pending", "Dead letters that nobody has resolved.", pending);
  single(out, "parley_dead_letters_dropped_total", "counter",
         "Dead letters that had to go for others.", static_cast<double>(dropped));
  single(out, "parley_dead_letter_alerts_total", "counter",
         "Times that many dead letters in a short time raised an alarm.",
         static_cast<double>(alerts));
  gauge("parley_threads", "Conversations that the engine remembers, closed ones included.",
        threads);
  gauge("parley_threads_active", "Conversations with a request that is not answered.", active);
  gauge("parley_requests_waiting", "Requests and roll calls that someone waits for.", waiting);
  gauge("parley_escalations_open", "Escalations that no human has resolved.", escalated);
  gauge("parley_seq", "Place of the newest entry of the journal.", machine.seq().n);
}

}  // namespace parley::edge
