// SPDX-License-Identifier: Apache-2.0
#include "lib/prometheus.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>

#include "base/check.h"

namespace parley::lib {

namespace {

void append_number(std::string& out, double value) {
  if (std::isnan(value)) {
    out += "NaN";
    return;
  }
  if (std::isinf(value)) {
    out += value < 0 ? "-Inf" : "+Inf";
    return;
  }
  // 16 digits, not the 17 that tell any two numbers apart: 0.1 stays 0.1.
  constexpr int digits = 16;
  std::array<char, 32> text;
  const auto written = std::to_chars(text.data(), text.data() + text.size(), value,
                                     std::chars_format::general, digits);
  out.append(text.data(), written.ptr);
}

void append_count(std::string& out, uint64_t count) { out += std::to_string(count); }

// The format escapes the backslash and the line end everywhere, the quote only within labels.
void append_escaped(std::string& out, std::string_view text, bool is_quoted) {
  for (const char c : text) {
    if (c == '\n') {
      out += "\\n";
    } else {
      out += c == '\\' || (is_quoted && c == '"') ? "\\" : "";
      out += c;
    }
  }
}

void append_label(std::string& out, std::string_view name, std::string_view value) {
  out += out.back() == '{' ? "" : ",";
  out.append(name).append("=\"");
  append_escaped(out, value, true);
  out += '"';
}

// The start of a line, up to the value. `bound` is the label `le` of a bucket; empty: no bucket.
void append_head(std::string& out, std::string_view name, std::string_view suffix,
                 const MetricRegistry::Labels& labels, std::string_view bound = {}) {
  out.append(name).append(suffix);
  if (!labels.empty() || !bound.empty()) {
    out += '{';
    for (const auto& [label, value] : labels) {
      append_label(out, label, value);
    }
    if (!bound.empty()) {
      append_label(out, "le", bound);
    }
    out += '}';
  }
  out += ' ';
}

}  // namespace

MetricRegistry::Sample& MetricRegistry::sample(Kind kind, const std::string& name,
                                               const std::string& help, const Labels& labels) {
  Family& family = families_.try_emplace(name, Family{kind, help}).first->second;
  CHECK(family.kind == kind);
  return family.samples[labels];
}

void MetricRegistry::counter(const std::string& name, const std::string& help, double total,
                             const Labels& labels) {
  double& value = sample(Kind::counter, name, help, labels).value;
  value = std::max(value, total);
}

void MetricRegistry::gauge(const std::string& name, const std::string& help, double value,
                           const Labels& labels) {
  sample(Kind::gauge, name, help, labels).value = value;
}

void MetricRegistry::histogram(const std::string& name, const std::string& help,
                               const Buckets& buckets, const Labels& labels) {
  CHECK(buckets.counts.size() == buckets.bounds.size() + 1);
  Sample& known = sample(Kind::histogram, name, help, labels);
  for (size_t n = 0; n < known.counts.size(); ++n) {
    CHECK(buckets.counts[n] >= known.counts[n]);
  }
  known.bounds.assign(buckets.bounds.begin(), buckets.bounds.end());
  known.counts.assign(buckets.counts.begin(), buckets.counts.end());
  known.value = buckets.sum;
}

// Prometheus wants cumulative buckets, and one for all values.
void MetricRegistry::append_histogram(std::string& out, std::string_view name, const Labels& labels,
                                      const Sample& sample) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  std::string buckets;
  uint64_t upto = 0;
  for (size_t n = 0; n < sample.counts.size(); ++n) {
    upto += sample.counts[n];
    std::string bound;
    append_number(bound, n < sample.bounds.size() ? sample.bounds[n] : infinity);
    append_head(buckets, name, "_bucket", labels, bound);
    append_count(buckets, upto);
    buckets += '\n';
  }
  append_head(out, name, "_count", labels);
  append_count(out, upto);
  out += '\n';
  append_head(out, name, "_sum", labels);
  append_number(out, sample.value);
  out.append("\n").append(buckets);
}

std::string MetricRegistry::text() const {
  constexpr std::array<std::string_view, 3> kinds = {"counter", "gauge", "histogram"};
  std::string out;
  for (const auto& [name, family] : families_) {
    out.append("# HELP ").append(name).append(" ");
    append_escaped(out, family.help, false);
    out.append("\n# TYPE ").append(name).append(" ");
    out.append(kinds[static_cast<size_t>(family.kind)]).append("\n");
    for (const auto& [labels, sample] : family.samples) {
      if (family.kind == Kind::histogram) {
        append_histogram(out, name, labels, sample);
      } else {
        append_head(out, name, "", labels);
        append_number(out, sample.value);
        out += '\n';
      }
    }
  }
  return out;
}

}  // namespace parley::lib
