// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "base/time.h"

namespace parley::edge {

// How spans go to a collector: see SpanExporter.
struct OtlpLimits {
  uint64_t batch_spans = 512;
  uint64_t queue_max = 100'000;                // messages
  base::Duration interval = base::seconds(5);  // how long spans gather if no batch is full before
  base::Duration timeout = base::seconds(10);  // of one request
  base::Duration retry_first = base::seconds(1);  // doubles
  unsigned attempts_max = 5;
};

}  // namespace parley::edge
