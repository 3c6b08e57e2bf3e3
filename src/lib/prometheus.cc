// SPDX-License-Identifier: Apache-2.0
#include "lib/prometheus.h"

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include <algorithm>
#include <unordered_map>
#include <vector>

#include "base/check.h"

namespace parley::lib {

struct MetricRegistry::State {
  // What a histogram was told so far: it takes differences.
  struct Told {
    std::vector<uint64_t> counts;
    double sum = 0;
  };

  prometheus::Registry registry;
  std::map<std::string, prometheus::Family<prometheus::Counter>*> counters;
  std::map<std::string, prometheus::Family<prometheus::Gauge>*> gauges;
  std::map<std::string, prometheus::Family<prometheus::Histogram>*> histograms;
  std::unordered_map<prometheus::Histogram*, Told> told;
};

namespace {

template <class T, class Builder>
prometheus::Family<T>& family(std::map<std::string, prometheus::Family<T>*>& families,
                              prometheus::Registry& registry, Builder builder,
                              const std::string& name, const std::string& help) {
  prometheus::Family<T>*& at = families[name];
  if (at == nullptr) {
    at = &builder.Name(name).Help(help).Register(registry);
  }
  return *at;
}

}  // namespace

MetricRegistry::MetricRegistry() : state_(std::make_unique<State>()) {}

MetricRegistry::~MetricRegistry() = default;

void MetricRegistry::counter(const std::string& name, const std::string& help, double total,
                             const Labels& labels) {
  prometheus::Counter& counter =
      family(state_->counters, state_->registry, prometheus::BuildCounter(), name, help)
          .Add(labels);
  if (total > counter.Value()) {
    counter.Increment(total - counter.Value());
  }
}

void MetricRegistry::gauge(const std::string& name, const std::string& help, double value,
                           const Labels& labels) {
  family(state_->gauges, state_->registry, prometheus::BuildGauge(), name, help)
      .Add(labels)
      .Set(value);
}

void MetricRegistry::histogram(const std::string& name, const std::string& help,
                               const Buckets& buckets, const Labels& labels) {
  CHECK(buckets.counts.size() == buckets.bounds.size() + 1);
  const std::vector<double> bounds(buckets.bounds.begin(), buckets.bounds.end());
  prometheus::Histogram& histogram =
      family(state_->histograms, state_->registry, prometheus::BuildHistogram(), name, help)
          .Add(labels, bounds);
  State::Told& told = state_->told[&histogram];
  told.counts.resize(buckets.counts.size());
  std::vector<double> more(buckets.counts.size());
  for (size_t n = 0; n < more.size(); ++n) {
    CHECK(buckets.counts[n] >= told.counts[n]);
    more[n] = static_cast<double>(buckets.counts[n] - told.counts[n]);
    told.counts[n] = buckets.counts[n];
  }
  histogram.ObserveMultiple(more, buckets.sum - told.sum);
  told.sum = buckets.sum;
}

std::string MetricRegistry::text() const {
  std::vector<prometheus::MetricFamily> families = state_->registry.Collect();
  std::ranges::sort(families, {}, &prometheus::MetricFamily::name);
  for (prometheus::MetricFamily& one : families) {
    std::ranges::sort(one.metric, [](const auto& a, const auto& b) { return a.label < b.label; });
  }
  return prometheus::TextSerializer().Serialize(families);
}

}  // namespace parley::lib
