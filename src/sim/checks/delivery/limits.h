// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "sim/model/model.h"

namespace parley::sim {

// Checks that no table grows above its limit and that the counters agree with what they count.
class LimitChecks {
 public:
  explicit LimitChecks(Model& model) : model_(model) {}

  void check_counters(const Step& step);
  // Comes last: the sizes it finds are those before the next entry.
  void check_sizes(const Step& step);

 private:
  // A limit that was lowered is only not to be exceeded further, so the former sizes are kept.
  struct Sizes {
    std::map<std::string, uint64_t> queues;
    std::map<std::string, uint64_t> retained;
    std::map<std::string, uint64_t> subscriptions;
    std::map<std::string, uint64_t> throttled;
    std::map<std::string, uint64_t> tried;
    std::map<std::string, uint64_t> led;
    uint64_t dead_letters = 0;
    uint64_t streams = 0;
    uint64_t topics = 0;
    uint64_t agents = 0;
    uint64_t threads = 0;
    uint64_t sessions = 0;
    uint64_t locks = 0;
  };

  // Counted in the tables, by agent.
  struct Counted {
    std::map<std::string_view, uint64_t> unsettled;
    std::map<std::string_view, uint64_t> outside;
    std::map<std::string_view, uint64_t> uses;
  };

  void count_messages(const Step& step, Counted& counted);
  void measure_agents(const Step& step, Sizes& sizes);
  void measure_topics(const Step& step, Sizes& sizes);
  void measure_sessions(const Step& step, Sizes& sizes);
  void at_most(std::string_view what, uint64_t size, uint64_t limit, uint64_t before);

  Model& model_;
  Sizes sizes_;
  uint64_t queue_max_ = 0;  // After the entry before: time fills an inbox before a rule is lowered.
};

}  // namespace parley::sim
