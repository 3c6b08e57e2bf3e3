// SPDX-License-Identifier: Apache-2.0
#include "sim/model/patterns.h"

#include <algorithm>

namespace parley::sim {

size_t Scatter::needed() const {
  switch (terms.strategy) {
    case core::Strategy::all:
      return answers.size();
    case core::Strategy::any:
      return 1;
    case core::Strategy::majority:
      return answers.size() / 2 + 1;
    case core::Strategy::quorum:
      return std::min<size_t>(terms.quorum, answers.size());
  }
  return 0;
}

size_t Scatter::count(Answer kind) const {
  return static_cast<size_t>(
      std::ranges::count_if(answers, [kind](const auto& item) { return item.second == kind; }));
}

StageHeader StageHeader::of(const core::Envelope& e) {
  return {std::string(e.sender),
          std::string(e.thread),
          std::string(e.correlation),
          e.priority,
          e.ttl,
          e.trace_id};
}

}  // namespace parley::sim
