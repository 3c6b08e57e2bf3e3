// SPDX-License-Identifier: Apache-2.0
#include "edge/answers/health.h"

#include <array>
#include <cmath>

#include "lib/json.h"

namespace parley::edge {

namespace {

// One figure: the agent's word for it, what the broker has, and how far they may be apart.
struct Figure {
  std::string_view name;
  double seen;
  double apart_max;
};

constexpr double ppm = 1e6;

std::array<Figure, 4> figures_of(const core::Work::Sum& sum) {
  const auto average_ms = static_cast<double>(sum.average_response_ms());
  return {{{"tasks_completed_last_hour", static_cast<double>(sum.completed), 0},
           {"average_response_time_ms", average_ms, average_ms / 10},
           {"error_rate_percentage", static_cast<double>(sum.error_rate_ppm()) / ppm * 100, 1},
           {"confidence_score_average", static_cast<double>(sum.average_confidence_ppm()) / ppm,
            0.05}}};
}

}  // namespace

void render_health(const core::Work& work, base::Time now, std::string_view report,
                   lib::JsonWriter& out) {
  const core::Work::Sum sum = work.last_hour(now);
  out.key("health").object().key("tasks_completed_last_hour").number(sum.completed);
  out.key("tasks_failed_last_hour").number(sum.failed);
  out.key("average_response_time_ms").number(sum.average_response_ms());
  out.key("error_rate_ppm").number(sum.error_rate_ppm());
  out.key("confidence_average_ppm").number(sum.average_confidence_ppm());
  lib::JsonDocument document;
  const auto parsed = document.parse(report);
  if (work.report.n != 0 && parsed) {
    out.key("report").number(work.report.n);
    const lib::Json claimed = parsed->find("performance_metrics");
    out.key("differs").array();
    for (const Figure& figure : figures_of(sum)) {
      const auto value = claimed ? claimed.find(figure.name).as_double() : std::nullopt;
      if (value && std::abs(*value - figure.seen) > figure.apart_max) {
        out.text(figure.name);
      }
    }
    out.end_array();
    if (claimed) {
      out.key("claimed").raw(claimed.raw());
    }
  }
  out.end_object();
}

}  // namespace parley::edge
