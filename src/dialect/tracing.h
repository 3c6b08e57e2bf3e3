// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "dialect/dialect.h"

namespace parley::dialect {

// The members `traceparent` and `tracestate`, which every dialect carries at the top of a message.

// Reads them into the envelope; either may be no value. A trace is a help, never a reason to
// refuse: says which of the two cannot be read, or not written as it was, and must be kept.
struct KeptTrace {
  bool parent = false;
  bool state = false;
};
KeptTrace read_trace(lib::Json parent, lib::Json state, Envelope& envelope);

// What a message is written with: nothing where `parent` is empty. The message's own goes in the
// place of what was kept.
struct WrittenTrace {
  std::string parent;
  bool is_own = false;
};
WrittenTrace trace_for(const Envelope& envelope, EncodeContext::Trace trace);

}  // namespace parley::dialect
