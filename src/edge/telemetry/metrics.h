// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <functional>
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
#include "net/server.h"

namespace parley::edge {

// A value that is read when someone asks for the metrics; a counter if its name ends with `_total`.
struct Gauge {
  std::string name;
  std::string help;
  std::function<double()> value;
};

// Counts what the broker does, in plain numbers, and copies them to a registry when someone asks.
// Labels are words of ours, such as routes, states, codes and types, and never names that users
// choose, but for errors_total, which names the first `named_agents_max` agents. On the server's
// thread.
class Metrics {
 public:
  // The labels of the routes, by their number. A request that fits no route has the number after
  // the last.
  struct Route {
    std::string_view method;
    std::string_view pattern;
  };
  Metrics(std::vector<Route> routes, std::string_view version);

  static constexpr size_t named_agents_max = 100;

  void applied(const core::Machine& machine, const core::Entry& entry, const core::Outcome& outcome,
               std::span<const core::Effect> effects);
  void refused(base::Code code) { ++refused_[static_cast<size_t>(code)]; }
  // A message that was refused before it became a command counts as an error of its sender.
  void refused_message(base::Code code, std::string_view agent) {
    count_error(base::info(code).name, agent);
  }
  void stepped(uint64_t entries, base::Duration took);
  // A turn of the loop ended; the journal's writes and syncs took `stored` of it.
  void turned(const net::Turn& turn, base::Duration stored);
  // A call of an MCP tool has ended. The tool is one of ours, and the outcome is one word.
  void tool_called(std::string_view tool, std::string_view outcome) {
    ++tool_calls_[{std::string(tool), std::string(outcome)}];
  }

  void asked(const net::Exchange& exchange, size_t route, base::Time now);
  // Counts the first answer to a request that was `asked`.
  void answered(const net::Exchange& exchange, int status, base::Time now);
  void gone(net::ConnectionId connection);

  // All counters, what the machine holds now, and the gauges.
  std::string text(const core::Machine& machine, std::span<const Gauge> gauges, base::Time now);

 private:
  struct Asked {
    size_t route;
    base::Time at;
  };
  // The deliveries that wait in all inboxes.
  struct Depth {
    uint64_t open = 0;
    std::array<uint64_t, core::priority_count> by_priority{};
    base::Time oldest = base::time_max;
  };

  // The counters by type of message. They are kept by dialect and kind, which give the type its
  // name.
  struct Traffic {
    std::array<uint64_t, core::priority_count> sent{};
    uint64_t received = 0;
    Histogram latency_ms;
  };

  void measure_depth(const core::Machine& machine);
  void count_sent(const core::Envelope& envelope);
  void count_effect(const core::Machine& machine, const core::Entry& entry,
                    const core::Effect& effect);
  void count_error(std::string_view type, std::string_view agent);
  void tell_counters();
  void tell_traffic();
  void tell_requests();
  void tell_turns();
  void tell_state(const core::Machine& machine, base::Time now);
  void tell_depth(base::Time now);
  Traffic& traffic(core::Dialect dialect, core::Kind kind);

  static constexpr size_t states = static_cast<size_t>(core::state_last) + 1;
  static constexpr size_t reasons = static_cast<size_t>(core::reason_last) + 1;
  static constexpr size_t dialects = static_cast<size_t>(core::dialect_last) + 1;
  static constexpr size_t kinds = static_cast<size_t>(core::kind_last) + 1;

  lib::MetricRegistry registry_;
  std::vector<Route> routes_;
  std::vector<std::map<int, uint64_t>> statuses_;  // by route and status
  std::vector<Histogram> durations_;               // by route
  std::map<net::Exchange, Asked> asked_;
  uint64_t notices_ = 0;
  uint64_t accepted_ = 0;
  uint64_t repeated_ = 0;
  uint64_t offered_ = 0;
  std::vector<uint64_t> sends_refused_;  // by code
  std::vector<uint64_t> refused_;        // by code
  std::array<uint64_t, states> settled_{};
  std::array<uint64_t, reasons> dead_{};
  std::vector<Traffic> traffic_;          // by dialect and kind
  std::vector<Histogram> queue_time_ms_;  // by priority
  uint64_t message_bytes_ = 0;
  std::map<std::pair<std::string, std::string>, uint64_t> errors_;  // by type and agent
  std::set<std::string, std::less<>> named_agents_;
  std::map<std::pair<std::string, std::string>, uint64_t> tool_calls_;  // by tool and outcome
  // Of turns: the whole, without the journal's writes and syncs, and of the processor.
  struct Turns {
    explicit Turns(std::span<const double> bounds) : seconds(bounds) {}
    void add(base::Duration took);
    Histogram seconds;
    double worst = 0;
  };
  Turns turns_, turns_work_, turns_cpu_;
  Histogram step_seconds_;
  Histogram step_entries_;
  Depth depth_;
};

}  // namespace parley::edge
