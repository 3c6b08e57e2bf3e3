// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "base/time.h"

namespace parley::base {

// Counts the time since the machine was started, time asleep included. Nobody can set it.
class BootClock final : public Clock {
 public:
  Time now() override;
};

// The time that a broker gives its journal. It follows the machine's clock (`wall`), but it never
// runs back and never stands still, whatever is done to that clock: between two readings it moves
// on by what passed on a clock that nobody sets (`steady`).
//   - The wall is up to `step_max` ahead: its time is taken at once.
//   - It is further ahead, because someone set it: it is believed when it has stayed ahead for
//     `doubt`. Until then time passes as if nothing had happened.
//   - It is behind, because it was set back: time passes a tenth slower until the wall has caught
//     up. So a lease lasts a ninth longer at most.
// One thread. Both clocks outlive it.
class PacedClock final : public Clock {
 public:
  static constexpr Duration step_max = seconds(1);
  static constexpr Duration doubt = minutes(1);

  PacedClock(Clock& wall, Clock& steady);

  Time now() override;

  // Goes on from `time` if that is later: the journal has a record of then.
  void not_before(Time time);

  // How far it is ahead of the wall, or behind if negative, as of the last reading.
  Duration ahead() const { return ahead_; }
  // How often the wall was set forward and believed.
  uint64_t jumps() const { return jumps_; }

  // Called with how far the wall is ahead when it is first doubted, and when it is believed.
  std::function<void(Duration by, bool believed)> on_jump;

 private:
  void follow(Time wall, Time steady, Duration passed);

  Clock& wall_;
  Clock& steady_;
  Time time_;
  Time steady_at_;
  Duration ahead_;
  int64_t slow_us_ = 0;  // passed while the wall was behind; a tenth of it is given back
  std::optional<Time> doubted_since_;  // by the steady clock
  uint64_t jumps_ = 0;
};

}  // namespace parley::base
