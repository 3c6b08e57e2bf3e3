// SPDX-License-Identifier: Apache-2.0
#include "edge/telemetry/metrics.h"

#include <sys/resource.h>
#include <unistd.h>

#include <fstream>
#include <utility>

#include "edge/telemetry/histogram.h"
#include "edge/telemetry/state_metrics.h"

namespace parley::edge {

namespace {

uint64_t resident_bytes() {
  uint64_t total = 0;
  uint64_t resident = 0;
  std::ifstream("/proc/self/statm") >> total >> resident;
  return resident * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
}

double cpu_seconds() {
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  return static_cast<double>(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
         seconds_of(base::Duration{used.ru_utime.tv_usec + used.ru_stime.tv_usec});
}

}  // namespace

Metrics::Metrics(std::vector<RequestMetrics::Route> routes, std::string_view version)
    : requests(std::move(routes)) {
  registry_.gauge("parley_build_info", "1; its labels say what is running.", 1,
                  {{"version", std::string(version)}});
}

std::string Metrics::text(const core::Machine& machine, std::span<const Gauge> gauges,
                          base::Time now) {
  messages.tell(registry_);
  requests.tell(registry_);
  loop.tell(registry_);
  tell_state(machine, now, registry_);
  for (const Gauge& gauge : gauges) {
    if (gauge.name.ends_with("_total")) {
      registry_.counter(gauge.name, gauge.help, gauge.value());
    } else {
      registry_.gauge(gauge.name, gauge.help, gauge.value());
    }
  }
  registry_.gauge("process_resident_memory_bytes", "Memory in use.",
                  static_cast<double>(resident_bytes()));
  registry_.counter("process_cpu_seconds_total", "Processor time used.", cpu_seconds());
  return registry_.text();
}

}  // namespace parley::edge
