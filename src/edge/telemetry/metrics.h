// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/machine/machine.h"
#include "edge/telemetry/loop_metrics.h"
#include "edge/telemetry/message_metrics.h"
#include "edge/telemetry/request_metrics.h"
#include "lib/prometheus.h"

namespace parley::edge {

// A value that is read when someone asks for the metrics; a counter if its name ends with `_total`.
struct Gauge {
  std::string name;
  std::string help;
  std::function<double()> value;
};

// Counts what the broker does, in plain numbers, and copies them to a registry when someone asks.
// Labels are words of ours, such as routes, states, codes and types, and never names that users
// choose, but for errors_total, which names some agents. On the server's thread.
class Metrics {
 public:
  Metrics(std::vector<RequestMetrics::Route> routes, std::string_view version);

  // All counters, what the machine holds now, and the gauges.
  std::string text(const core::Machine& machine, std::span<const Gauge> gauges, base::Time now);

  MessageMetrics messages;
  RequestMetrics requests;
  LoopMetrics loop;

 private:
  lib::MetricRegistry registry_;
};

}  // namespace parley::edge
