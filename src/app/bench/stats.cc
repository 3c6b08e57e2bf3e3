// SPDX-License-Identifier: Apache-2.0
#include "app/bench/stats.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>

#include "app/text/terminal.h"
#include "base/size.h"
#include "lib/json_writer.h"

namespace parley::app {

namespace {

std::string formatted(const char* format, double value) {
  std::array<char, 32> text{};
  const int size = std::snprintf(text.data(), text.size(), format, value);
  return std::string(text.data(), static_cast<size_t>(size));
}

double ratio(double a, double b) { return b > 0 ? a / b : 0; }

// Enough digits for a figure of a benchmark, and no noise behind them.
double rounded(double value) {
  if (!(value > 0)) {
    return 0;
  }
  const double unit = std::pow(10, std::floor(std::log10(value)) - 3);
  return std::round(value / unit) * unit;
}

}  // namespace

// Values of up to 7 bits have buckets of their own; of greater ones the first 7 bits count.
void Latencies::add(int64_t ns, uint64_t count) {
  const auto value = static_cast<uint64_t>(std::clamp<int64_t>(ns, 0, ns_max));
  const int shift = std::max(0, static_cast<int>(std::bit_width(value)) - (fine_bits + 1));
  const size_t bucket = (static_cast<size_t>(shift) << fine_bits) + (value >> shift);
  counts_[bucket] += count;
  count_ += count;
}

double Latencies::quantile_us(double share) const {
  const auto wanted = static_cast<uint64_t>(std::ceil(share * static_cast<double>(count_)));
  uint64_t seen = 0;
  for (size_t bucket = 0; bucket < bucket_count; ++bucket) {
    seen += counts_[bucket];
    if (seen > 0 && seen >= wanted) {
      const size_t shift = bucket >> (fine_bits + 1) == 0 ? 0 : (bucket >> fine_bits) - 1;
      const uint64_t low = (bucket - (shift << fine_bits)) << shift;
      const uint64_t width = uint64_t{1} << shift;
      return (static_cast<double>(low) + static_cast<double>(width - 1) / 2) / 1'000;
    }
  }
  return 0;
}

double BenchRow::cpu_us() const {
  return ratio(static_cast<double>(cpu_ns) / 1'000, static_cast<double>(broker.count));
}

double BenchRow::log_ratio() const { return ratio(broker.rate(), log.rate()); }

double BenchRow::time_ratio() const {
  return ratio(broker.latencies.quantile_us(0.5),
               log.latencies.quantile_us(0.5) + echo.latencies.quantile_us(0.5));
}

std::string short_number(double value) {
  constexpr std::array<const char*, 4> units = {"", " k", " M", " G"};
  size_t unit = 0;
  while (value >= 999.5 && unit + 1 < units.size()) {
    value /= 1'000;
    ++unit;
  }
  const char* format = value < 9.995 ? "%.2f" : value < 99.95 ? "%.1f" : "%.0f";
  return formatted(format, value) + units[unit];
}

std::string bench_table(const BenchReport& report, bool colours) {
  Table table({"CASE", "BODY", "RATE/S", "OF", "P50 US", "P99 US", "LOG/S", "RATE/LOG", "SYNC US",
               "ECHO US", "P50/(SYNC+ECHO)", "CPU US"});
  for (const BenchRow& row : report.rows) {
    table.add({{row.name, Colour::bold},
               {std::to_string(row.bytes)},
               {short_number(row.broker.rate())},
               {row.unit, Colour::dim},
               {short_number(row.broker.latencies.quantile_us(0.5))},
               {short_number(row.broker.latencies.quantile_us(0.99))},
               {short_number(row.log.rate())},
               {formatted("%.2f", row.log_ratio())},
               {short_number(row.log.latencies.quantile_us(0.5))},
               {short_number(row.echo.latencies.quantile_us(0.5))},
               {formatted("%.2f", row.time_ratio())},
               {row.cpu_ns > 0 ? short_number(row.cpu_us()) : "-"}});
  }
  std::string text = table.render(colours);
  text += "\nbroker " + printable(report.url) + "; bare log in " + printable(report.directory);
  if (report.idle_rss_bytes > 0) {
    text += "; idle memory of the broker " +
            formatted("%.1f MB", static_cast<double>(report.idle_rss_bytes) / 1e6);
  }
  return text + "\n";
}

std::string bench_json(const BenchReport& report) {
  std::string text;
  lib::JsonWriter out(text);
  out.object().key("url").text(report.url).key("directory").text(report.directory);
  if (report.idle_rss_bytes > 0) {
    out.key("idle_rss_bytes").number(report.idle_rss_bytes);
  }
  out.key("cases").array();
  for (const BenchRow& row : report.rows) {
    const auto real = [&](std::string_view key, double value) {
      out.key(key).real(rounded(value));
    };
    out.object().key("case").text(row.name).key("unit").text(row.unit);
    out.key("senders").number(row.senders).key("receivers").number(row.receivers);
    out.key("window").number(row.window).key("bytes").number(row.bytes);
    out.key("count").number(row.broker.count);
    real("rate", row.broker.rate());
    real("p50_us", row.broker.latencies.quantile_us(0.5));
    real("p99_us", row.broker.latencies.quantile_us(0.99));
    out.key("log_batch").number(row.log_batch);
    real("log_rate", row.log.rate());
    real("log_ratio", row.log_ratio());
    real("sync_p50_us", row.log.latencies.quantile_us(0.5));
    real("echo_p50_us", row.echo.latencies.quantile_us(0.5));
    real("time_ratio", row.time_ratio());
    if (row.cpu_ns > 0) {
      real("cpu_us", row.cpu_us());
    }
    out.end_object();
  }
  out.end_array().end_object();
  return text;
}

}  // namespace parley::app
