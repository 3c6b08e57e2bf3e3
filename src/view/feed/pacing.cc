// SPDX-License-Identifier: Apache-2.0
#include "view/feed/pacing.h"

namespace parley::view {

bool Pacing::is_due(TimePoint now) {
  if (!waits_since_) {
    waits_since_ = now;
    look(now);
  } else if (now >= next_look()) {
    look(now);
  }
  return now >= rests_until_;
}

// Sets anew until when the view rests, from the rate since the last look. A burst that ends brings
// the time forward: what came in then is folded in at the usual interval.
void Pacing::look(TimePoint now) {
  const std::chrono::duration<double> passed = now - last_look_;
  const bool burst = static_cast<double>(entries_since_look_) >=
                     static_cast<double>(options_.burst_per_second) * passed.count();
  entries_since_look_ = 0;
  last_look_ = now;
  rests_until_ = *waits_since_ + (burst ? options_.burst_max : options_.interval);
}

}  // namespace parley::view
