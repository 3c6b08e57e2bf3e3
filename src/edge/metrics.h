// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "core/effect.h"
#include "core/machine.h"
#include "net/server.h"

namespace parley::edge {

// A value that is asked for when it is wanted.
struct Gauge {
  std::string name;
  std::string help;
  std::function<double()> value;
};

// How many values were up to each bound.
class Histogram {
 public:
  explicit Histogram(std::span<const double> bounds) : bounds_(bounds), counts_(bounds.size()) {}

  void add(double value);
  // As lines of samples, after the name; `labels` without braces, or empty.
  void render(std::string_view name, std::string_view labels, std::string& out) const;

 private:
  std::span<const double> bounds_;
  std::vector<uint64_t> counts_;  // by bound, not cumulative
  uint64_t count_ = 0;
  double sum_ = 0;
};

// Counts what the broker does and writes it down in the text format of Prometheus. Labels are words
// of ours: routes, states, codes; never names that users choose. On the server's thread.
class Metrics {
 public:
  // The labels of the routes, by their number; what fits none has the number after the last.
  struct Route {
    std::string_view method;
    std::string_view pattern;
  };
  explicit Metrics(std::vector<Route> routes);

  void applied(const core::Entry& entry, const core::Outcome& outcome,
               std::span<const core::Effect> effects);
  void refused(base::Code code) { ++refused_[static_cast<size_t>(code)]; }
  void stepped(uint64_t entries, base::Duration took);

  void asked(const net::Exchange& exchange, size_t route, base::Time now);
  // Counts once for each that was asked.
  void answered(const net::Exchange& exchange, int status, base::Time now);
  void gone(net::ConnectionId connection);

  // All counters, what the machine holds now, and the gauges.
  std::string text(const core::Machine& machine, std::span<const Gauge> gauges, base::Time now);

 private:
  struct Asked {
    size_t route;
    base::Time at;
  };
  // What waits in all inboxes: a walk over all messages, so it is not repeated often when they are
  // many.
  struct Depth {
    base::Time at;
    uint64_t open = 0;
    base::Time oldest = base::time_max;
  };

  void measure_depth(const core::Machine& machine, base::Time now);
  void add_counters(std::string& out) const;
  void add_requests(std::string& out) const;
  void add_state(const core::Machine& machine, base::Time now, std::string& out);

  static constexpr size_t states = static_cast<size_t>(core::state_last) + 1;
  static constexpr size_t reasons = static_cast<size_t>(core::reason_last) + 1;

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
  Histogram step_seconds_;
  Histogram step_entries_;
  Depth depth_;
};

}  // namespace parley::edge
