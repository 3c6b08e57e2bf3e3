// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "core/humans/commands.h"
#include "lib/json.h"

namespace parley::edge {

// What those who decide on a hitl_approval_request of superprompt may choose (SP-08).
struct ApprovalTerms {
  uint64_t options = core::all_options;
};

// `human_decision_options`, of which the codec has checked that it has some.
ApprovalTerms approval_terms(lib::Json message);

}  // namespace parley::edge
