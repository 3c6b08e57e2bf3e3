// SPDX-License-Identifier: Apache-2.0
#include "edge/telemetry/request_metrics.h"

#include <gtest/gtest.h>

namespace parley::edge {
namespace {

using base::Time;

struct Bench {
  RequestMetrics requests{{{"GET", "/a"}, {"PUT", "/b"}}};

  std::string text() const {
    lib::MetricRegistry registry;
    requests.tell(registry);
    return registry.text();
  }
  bool tells(const std::string& line) const {
    return text().find("\n" + line + "\n") != std::string::npos;
  }
};

TEST(RequestMetrics, TheFirstAnswerToARequestCounts) {
  Bench bench;
  bench.requests.asked({7, 1}, 1, Time{1'000'000});
  bench.requests.answered({7, 1}, 200, Time{1'500'000});
  bench.requests.answered({7, 1}, 500, Time{1'900'000});
  bench.requests.answered({7, 2}, 200, Time{1'900'000});  // which was never asked
  EXPECT_TRUE(bench.tells(R"(parley_requests_total{method="PUT",route="/b",status="200"} 1)"));
  EXPECT_TRUE(bench.tells(R"(parley_request_seconds_sum{method="PUT",route="/b"} 0.5)"));
  EXPECT_EQ(bench.text().find("500"), std::string::npos) << bench.text();
}

TEST(RequestMetrics, ARequestThatFitsNoRouteIsCountedAsOther) {
  Bench bench;
  bench.requests.asked({7, 1}, SIZE_MAX, Time{});
  bench.requests.answered({7, 1}, 404, Time{});
  EXPECT_TRUE(bench.tells(R"(parley_requests_total{method="other",route="other",status="404"} 1)"));
}

TEST(RequestMetrics, RequestsOfAConnectionThatIsGoneAreForgotten) {
  Bench bench;
  for (const net::ConnectionId connection : {6, 7, 8}) {
    bench.requests.asked({connection, 0}, 0, Time{});
    bench.requests.asked({connection, 5}, 0, Time{});
  }
  bench.requests.gone(7);
  for (const net::ConnectionId connection : {6, 7, 8}) {
    bench.requests.answered({connection, 0}, 200, Time{});
    bench.requests.answered({connection, 5}, 200, Time{});
  }
  EXPECT_TRUE(bench.tells(R"(parley_requests_total{method="GET",route="/a",status="200"} 4)"));
}

}  // namespace
}  // namespace parley::edge
