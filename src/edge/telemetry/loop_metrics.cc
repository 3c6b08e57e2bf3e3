// SPDX-License-Identifier: Apache-2.0
#include "edge/telemetry/loop_metrics.h"

#include <algorithm>
#include <array>

namespace parley::edge {

namespace {

constexpr std::array<double, 9> entries_bounds = {1, 4, 16, 64, 256, 1'024, 4'096, 16'384, 65'536};
// For turns of the loop, of which none may take 5 ms.
constexpr std::array<double, 11> turn_bounds = {0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005,
                                                0.01,   0.025,   0.05,   0.1,   0.5};

}  // namespace

LoopMetrics::LoopMetrics() : step_seconds_(seconds_bounds), step_entries_(entries_bounds) {}

void LoopMetrics::stepped(uint64_t entries, base::Duration took) {
  if (entries > 0) {
    step_entries_.add(static_cast<double>(entries));
    step_seconds_.add(seconds_of(took));
  }
}

void LoopMetrics::turned(const net::Turn& turn, base::Duration stored) {
  whole_.add(turn.took);
  work_.add(base::Duration{std::max<int64_t>(turn.took.us - stored.us, 0)});
  cpu_.add(turn.cpu);
}

void LoopMetrics::tell(lib::MetricRegistry& registry) const {
  registry.histogram("parley_step_entries", "Entries stored and applied in one step.",
                     step_entries_.buckets());
  registry.histogram("parley_step_seconds", "One step: write, sync, apply, tell.",
                     step_seconds_.buckets());
  whole_.tell("parley_loop_turn", "one turn of the loop, from when there was something to do",
              registry);
  work_.tell("parley_loop_work", "one turn of the loop without the journal's writes and syncs",
             registry);
  cpu_.tell("parley_loop_cpu", "processor time of one turn of the loop", registry);
}

LoopMetrics::Turns::Turns() : seconds(turn_bounds) {}

void LoopMetrics::Turns::add(base::Duration took) {
  seconds.add(seconds_of(took));
  worst = std::max(worst, seconds_of(took));
}

void LoopMetrics::Turns::tell(const std::string& name, const std::string& help,
                              lib::MetricRegistry& registry) const {
  registry.histogram(name + "_seconds", help + ".", seconds.buckets());
  registry.gauge(name + "_worst_seconds", "The longest since the start: " + help + ".", worst);
}

}  // namespace parley::edge
