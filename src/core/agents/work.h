// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "base/ids.h"
#include "base/time.h"

namespace parley::core {

using base::Duration;
using base::Seq;
using base::Time;

// What the broker saw of an agent's work in the last hour (SP-10), in steps of five minutes: how it
// answered what it was asked, and how soon. Bounded: it keeps twelve steps, and none of an agent
// that answers nothing.
class Work {
 public:
  struct Sum {
    uint64_t completed = 0;
    uint64_t failed = 0;          // answered with an error, declined, or not answered in time
    uint64_t response_ms = 0;     // of all that were answered
    uint64_t answered = 0;
    uint64_t confidence_ppm = 0;  // of those that said how sure they were
    uint64_t confident = 0;

    uint64_t average_response_ms() const { return answered == 0 ? 0 : response_ms / answered; }
    uint64_t error_rate_ppm() const {
      const uint64_t all = completed + failed;
      return all == 0 ? 0 : failed * 1'000'000 / all;
    }
    uint64_t average_confidence_ppm() const {
      return confident == 0 ? 0 : confidence_ppm / confident;
    }
  };

  struct Answered {
    bool well = true;
    Duration after{};
    int32_t confidence_ppm = -1;  // -1: it did not say
  };
  void answered(Time now, const Answered& answer);
  void timed_out(Time now) { ++step_at(now).sum.failed; }

  Sum last_hour(Time now) const;

  Seq report;  // its newest word on its own health; none: 0

  static void fields(auto& self, auto& field) {
    field("report", self.report);
    field("steps", self.steps_);
  }

 private:
  struct Step {
    Time began;
    Sum sum;

    static void fields(auto& self, auto& field) {
      field("began", self.began);
      field("completed", self.sum.completed);
      field("failed", self.sum.failed);
      field("response_ms", self.sum.response_ms);
      field("answered", self.sum.answered);
      field("confidence_ppm", self.sum.confidence_ppm);
      field("confident", self.sum.confident);
    }
  };
  Step& step_at(Time now);

  std::vector<Step> steps_;  // oldest first
};

}  // namespace parley::core
