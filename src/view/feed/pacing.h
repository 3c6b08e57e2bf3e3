// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace parley::view {

// When the view goes to work on what came in: not at once, so that more of it is folded in
// together, and in a burst much later, because the view could not follow it anyway and takes the
// disk and the processor's caches from those who cause it. Part of Feed, whose lock guards it.
class Pacing {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  struct Options {
    // The oldest entry waits so long; in a burst, when so many entries a second come in, so long.
    std::chrono::milliseconds interval{1'000};
    uint64_t burst_per_second = 50'000;
    std::chrono::milliseconds burst_max{10'000};
    // Whether there is a burst is looked at so often.
    std::chrono::milliseconds look_every{100};
  };

  explicit Pacing(const Options& options) : options_(options) {}

  // One more entry came in.
  void count_entry() { ++entries_since_look_; }

  // Nothing waits: the next entry is the oldest.
  void rest() { waits_since_.reset(); }

  // Something waits. True when it has waited long enough.
  bool is_due(TimePoint now);

  // When `is_due` may change its mind.
  TimePoint next_look() const { return last_look_ + options_.look_every; }

 private:
  void look(TimePoint now);

  const Options options_;
  size_t entries_since_look_ = 0;
  TimePoint last_look_;
  std::optional<TimePoint> waits_since_;  // none: nothing did when it was last asked
  TimePoint rests_until_;
};

}  // namespace parley::view
