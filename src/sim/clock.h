// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "base/clock/paced_clock.h"

namespace parley::sim {

// The clock of the simulated machine, as a broker reads it: time passes by `advance`, and `set`
// does what people and NTP do to the wall clock.
class Clock final : public base::Clock {
 public:
  explicit Clock(base::Time start) : parts_(std::make_unique<Parts>(start)) {}

  base::Time now() override { return parts_->paced.now(); }
  void advance(base::Duration d) {
    parts_->wall.advance(d);
    parts_->steady.advance(d);
  }

  void set(base::Duration by) { parts_->wall.advance(by); }
  // The wall is right again: what the broker takes for the time.
  void set_right() { set(now() - parts_->wall.now()); }
  base::Time wall() { return parts_->wall.now(); }
  base::Time steady() { return parts_->steady.now(); }
  uint64_t jumps() const { return parts_->paced.jumps(); }

 private:
  struct Parts {
    explicit Parts(base::Time start) : wall(start) {}
    base::ManualClock wall;
    base::ManualClock steady{base::Time{}};
    base::PacedClock paced{wall, steady};
  };
  std::unique_ptr<Parts> parts_;  // So that it can be moved.
};

}  // namespace parley::sim
