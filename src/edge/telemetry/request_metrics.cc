// SPDX-License-Identifier: Apache-2.0
#include "edge/telemetry/request_metrics.h"

#include <algorithm>

namespace parley::edge {

RequestMetrics::RequestMetrics(std::vector<Route> routes)
    : routes_(std::move(routes)), refused_(base::all_codes().size()) {
  routes_.push_back({"other", "other"});
  statuses_.resize(routes_.size());
  durations_.resize(routes_.size(), Histogram(seconds_bounds));
}

void RequestMetrics::asked(const net::Exchange& exchange, size_t route, base::Time now) {
  asked_.insert_or_assign(exchange, Asked{std::min(route, routes_.size() - 1), now});
}

void RequestMetrics::answered(const net::Exchange& exchange, int status, base::Time now) {
  if (const auto asked = asked_.extract(exchange)) {
    ++statuses_[asked.mapped().route][status];
    durations_[asked.mapped().route].add(seconds_of(now - asked.mapped().at));
  }
}

void RequestMetrics::gone(net::ConnectionId connection) {
  asked_.erase(asked_.lower_bound({connection, 0}), asked_.lower_bound({connection + 1, 0}));
}

void RequestMetrics::tell(lib::MetricRegistry& registry) const {
  for (size_t n = 0; n < routes_.size(); ++n) {
    lib::MetricRegistry::Labels labels = {{"method", std::string(routes_[n].method)},
                                          {"route", std::string(routes_[n].pattern)}};
    if (!statuses_[n].empty()) {
      registry.histogram("parley_request_seconds",
                         "From a request to its answer, long polls included.",
                         durations_[n].buckets(), labels);
    }
    for (const auto& [status, count] : statuses_[n]) {
      labels["status"] = std::to_string(status);
      registry.counter("parley_requests_total", "HTTP requests, by route and status.",
                       static_cast<double>(count), labels);
    }
  }
  for (const base::CodeInfo& info : base::all_codes()) {
    if (const uint64_t count = refused_[static_cast<size_t>(info.code)]) {
      registry.counter("parley_errors_total", "Answers that were errors, by code.",
                       static_cast<double>(count), {{"code", std::string(info.name)}});
    }
  }
  for (const auto& [call, count] : tool_calls_) {
    registry.counter("parley_mcp_calls_total", "Calls of MCP tools, by tool and outcome.",
                     static_cast<double>(count), {{"tool", call.first}, {"outcome", call.second}});
  }
}

}  // namespace parley::edge
