// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "base/time.h"

namespace parley::edge {

// How webhooks are called, and how often. docs/waking.md says what comes of each.
struct WebhookLimits {
  base::Duration timeout = base::seconds(10);    // of one request
  base::Duration again_after = base::minutes(1);  // between requests while the agent does nothing
  base::Duration retry_first = base::seconds(1);  // after a failure; doubles, up to `retry_max`
  base::Duration retry_max = base::minutes(5);
  base::Duration remind_max = base::hours(1);  // the longest pause between two reminders
  uint64_t failures_max = 10;  // in a row; then the webhook rests until its agent is active
  base::Duration secret_overlap = base::hours(24);  // so long a secret that was replaced signs too
};

}  // namespace parley::edge
