// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "core/machine/machine.h"
#include "core/model/effect.h"
#include "edge/telemetry/histogram.h"
#include "lib/prometheus.h"

namespace parley::edge {

// Counts messages and deliveries by what became of them, and how long they took. On the server's
// thread.
class MessageMetrics {
 public:
  MessageMetrics();

  // errors_total names as many agents, the first that had an error; the others are "other".
  static constexpr size_t named_agents_max = 100;

  // `machine` is as the entry left it.
  void applied(const core::Machine& machine, const core::Entry& entry, const core::Outcome& outcome,
               std::span<const core::Effect> effects);
  // A message that was refused before it became a command counts as an error of its sender.
  void refused(base::Code code, std::string_view agent) {
    count_error(base::info(code).name, agent);
  }

  void tell(lib::MetricRegistry& registry) const;

 private:
  // The counters by type of message. They are kept by dialect and kind, which give the type its
  // name.
  struct Traffic {
    std::array<uint64_t, core::priority_count> sent{};
    uint64_t received = 0;
    Histogram latency_ms;
  };

  void count_sent(const core::Envelope& envelope);
  void count_effect(const core::Machine& machine, const core::Entry& entry,
                    const core::Effect& effect);
  void count_error(std::string_view type, std::string_view agent);
  Traffic& traffic(core::Dialect dialect, core::Kind kind);
  void tell_outcomes(lib::MetricRegistry& registry) const;
  void tell_traffic(lib::MetricRegistry& registry) const;
  void tell_queue_time(lib::MetricRegistry& registry) const;

  static constexpr size_t states = static_cast<size_t>(core::state_last) + 1;
  static constexpr size_t reasons = static_cast<size_t>(core::reason_last) + 1;
  static constexpr size_t dialects = static_cast<size_t>(core::dialect_last) + 1;
  static constexpr size_t kinds = static_cast<size_t>(core::kind_last) + 1;

  uint64_t notices_ = 0;
  uint64_t accepted_ = 0;
  uint64_t repeated_ = 0;
  uint64_t offered_ = 0;
  uint64_t message_bytes_ = 0;
  std::vector<uint64_t> sends_refused_;  // by code
  std::array<uint64_t, states> settled_{};
  std::array<uint64_t, reasons> dead_{};
  std::vector<Traffic> traffic_;                                    // by dialect and kind
  std::vector<Histogram> queue_time_ms_;                            // by priority
  std::map<std::pair<std::string, std::string>, uint64_t> errors_;  // by type and agent
  std::set<std::string, std::less<>> named_agents_;
};

}  // namespace parley::edge
