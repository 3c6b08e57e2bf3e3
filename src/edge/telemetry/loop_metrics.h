// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "base/time.h"
#include "edge/telemetry/histogram.h"
#include "lib/prometheus.h"
#include "net/server.h"

namespace parley::edge {

// How long the turns of the loop take, and the steps of the node in them. On the server's thread.
class LoopMetrics {
 public:
  LoopMetrics();

  void stepped(uint64_t entries, base::Duration took);
  // A turn of the loop ended; the journal's writes and syncs took `stored` of it.
  void turned(const net::Turn& turn, base::Duration stored);

  void tell(lib::MetricRegistry& registry) const;

 private:
  struct Turns {
    Turns();
    void add(base::Duration took);
    void tell(const std::string& name, const std::string& help,
              lib::MetricRegistry& registry) const;

    Histogram seconds;
    double worst = 0;
  };

  Turns whole_;
  Turns work_;  // without the journal's writes and syncs
  Turns cpu_;   // of the processor
  Histogram step_seconds_;
  Histogram step_entries_;
};

}  // namespace parley::edge
