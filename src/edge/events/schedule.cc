// SPDX-License-Identifier: Apache-2.0
#include "edge/events/schedule.h"

namespace parley::edge::events {

base::Time slot_before(const Schedule& schedule, base::Time now) {
  const int64_t since = now.us - schedule.offset.us;
  const int64_t every = schedule.every.us;
  const int64_t past = (since % every + every) % every;
  return {now.us - past};
}

base::Time slot_after(const Schedule& schedule, base::Time now) {
  return slot_before(schedule, now) + schedule.every;
}

}  // namespace parley::edge::events
