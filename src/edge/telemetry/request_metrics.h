// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/time.h"
#include "edge/telemetry/histogram.h"
#include "lib/prometheus.h"
#include "net/server.h"

namespace parley::edge {

// Counts what is asked and how it is answered: requests by route and status with the time that they
// took, answers that were errors, calls of MCP tools. On the server's thread.
class RequestMetrics {
 public:
  // The labels of the routes, by their number. A request that fits no route has the number after
  // the last.
  struct Route {
    std::string_view method;
    std::string_view pattern;
  };
  explicit RequestMetrics(std::vector<Route> routes);

  void asked(const net::Exchange& exchange, size_t route, base::Time now);
  // Counts the first answer to a request that was `asked`.
  void answered(const net::Exchange& exchange, int status, base::Time now);
  // Its requests will not be answered.
  void gone(net::ConnectionId connection);

  // An answer was an error, over HTTP or WebSocket.
  void refused(base::Code code) { ++refused_[static_cast<size_t>(code)]; }
  // A call of an MCP tool has ended. The tool is one of ours, and the outcome is one word.
  void tool_called(std::string_view tool, std::string_view outcome) {
    ++tool_calls_[{std::string(tool), std::string(outcome)}];
  }

  void tell(lib::MetricRegistry& registry) const;

 private:
  struct Asked {
    size_t route;
    base::Time at;
  };

  std::vector<Route> routes_;
  std::vector<std::map<int, uint64_t>> statuses_;  // by route and status
  std::vector<Histogram> durations_;               // by route
  std::map<net::Exchange, Asked> asked_;
  std::vector<uint64_t> refused_;                                       // by code
  std::map<std::pair<std::string, std::string>, uint64_t> tool_calls_;  // by tool and outcome
};

}  // namespace parley::edge
