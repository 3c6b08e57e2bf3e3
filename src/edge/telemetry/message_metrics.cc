// SPDX-License-Identifier: Apache-2.0
#include "edge/telemetry/message_metrics.h"

#include <algorithm>
#include <functional>

#include "dialect/dialect.h"

namespace parley::edge {

namespace {

// How long messages take, from a local push to an hour in a queue: in milliseconds, as collab
// defines its metrics, and in seconds, as Prometheus recommends.
constexpr std::array<double, 16> ms_bounds = {0.5,    1,       2.5,       5,        10,    25,
                                              50,     100,     250,       1'000,    5'000, 10'000,
                                              30'000, 300'000, 1'800'000, 3'600'000};
constexpr auto long_seconds_bounds = [] {
  std::array<double, ms_bounds.size()> bounds{};
  std::ranges::transform(ms_bounds, bounds.begin(), [](double ms) { return ms / 1'000; });
  return bounds;
}();

double ms_of(base::Duration duration) { return static_cast<double>(duration.us) / 1e3; }

// The word for a type is that which the sender's dialect defines for its metrics.
std::string_view type_word(core::Dialect dialect, core::Kind kind) {
  return dialect::codec_of(dialect).counted_as(kind);
}

}  // namespace

MessageMetrics::MessageMetrics()
    : sends_refused_(base::all_codes().size()),
      traffic_(dialects * kinds, Traffic{.latency_ms = Histogram(ms_bounds)}),
      queue_time_ms_(core::priority_count, Histogram(ms_bounds)) {}

void MessageMetrics::applied(const core::Machine& machine, const core::Entry& entry,
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

void MessageMetrics::count_sent(const core::Envelope& envelope) {
  message_bytes_ += envelope.body.size();
  ++traffic(envelope.dialect, envelope.kind).sent[static_cast<size_t>(envelope.priority)];
}

void MessageMetrics::count_effect(const core::Machine& machine, const core::Entry& entry,
                                  const core::Effect& effect) {
  const auto message_at = [&machine](core::WorkspaceId home, base::Seq seq) {
    const core::Messages& messages = machine.find(home)->tables().messages;
    const core::MessageRef ref = messages.find(seq);
    return ref == core::none ? nullptr : &messages.message(ref);
  };
  if (const auto* late = std::get_if<core::RequestTimedOut>(&effect)) {
    const core::Message* message =
        late->is_final && !late->is_rejected ? message_at(late->workspace, late->message) : nullptr;
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

void MessageMetrics::count_error(std::string_view type, std::string_view agent) {
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
MessageMetrics::Traffic& MessageMetrics::traffic(core::Dialect dialect, core::Kind kind) {
  const core::Kind shown = kind == core::Kind::private_flag ? core::Kind::notification : kind;
  return traffic_[static_cast<size_t>(dialect) * kinds + static_cast<size_t>(shown)];
}

void MessageMetrics::tell(lib::MetricRegistry& registry) const {
  tell_outcomes(registry);
  tell_traffic(registry);
  tell_queue_time(registry);
}

void MessageMetrics::tell_outcomes(lib::MetricRegistry& registry) const {
  const auto tell = [&registry](const char* name, const char* help, uint64_t total,
                                const lib::MetricRegistry::Labels& labels = {}) {
    registry.counter(name, help, static_cast<double>(total), labels);
  };
  tell("parley_notices_total", "Messages of the broker's own, which tell senders of dead letters.",
       notices_);
  constexpr const char* messages = "parley_messages_total";
  constexpr const char* messages_help = "Messages sent, by what became of them.";
  tell(messages, messages_help, accepted_, {{"outcome", "accepted"}});
  tell(messages, messages_help, repeated_, {{"outcome", "repeated"}});
  for (const base::CodeInfo& info : base::all_codes()) {
    if (const uint64_t count = sends_refused_[static_cast<size_t>(info.code)]) {
      tell(messages, messages_help, count, {{"outcome", std::string(info.name)}});
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
}

void MessageMetrics::tell_traffic(lib::MetricRegistry& registry) const {
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
        registry.counter(
            "messages_sent_total", "Messages accepted, by type and priority.",
            static_cast<double>(sum.sent[n]),
            {{"type", type},
             {"priority", std::string(word_of(static_cast<core::Priority>(n)))}});
      }
    }
    if (sum.received > 0) {
      registry.counter("messages_received_total",
                       "Messages handed out to receivers for the first time, by type.",
                       static_cast<double>(sum.received), {{"type", type}});
    }
    if (!sum.latency_ms.empty()) {
      registry.histogram("message_latency_ms",
                         "Milliseconds from acceptance until a receiver settled it, by type.",
                         sum.latency_ms.buckets(), {{"type", type}});
      registry.histogram("parley_message_latency_seconds",
                         "From acceptance until a receiver settled it, by type.",
                         sum.latency_ms.buckets(long_seconds_bounds, 1'000), {{"type", type}});
    }
  }
}

void MessageMetrics::tell_queue_time(lib::MetricRegistry& registry) const {
  for (size_t n = 0; n < queue_time_ms_.size(); ++n) {
    const lib::MetricRegistry::Labels labels = {
        {"priority", std::string(word_of(static_cast<core::Priority>(n)))}};
    registry.histogram("queue_time_ms",
                       "Milliseconds from acceptance to the first handing out, by priority.",
                       queue_time_ms_[n].buckets(), labels);
    registry.histogram("parley_queue_time_seconds",
                       "From acceptance to the first handing out, by priority.",
                       queue_time_ms_[n].buckets(long_seconds_bounds, 1'000), labels);
  }
}

}  // namespace parley::edge
