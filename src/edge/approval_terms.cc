// SPDX-License-Identifier: Apache-2.0
#include "edge/approval_terms.h"

#include "core/humans/approvals.h"

namespace parley::edge {

namespace {

using lib::Json;

uint64_t options_in(Json words) {
  uint64_t options = 0;
  for (const Json word : words.elements()) {
    for (const core::ApprovalDecision each :
         {core::ApprovalDecision::approve, core::ApprovalDecision::reject,
          core::ApprovalDecision::modify}) {
      options |= word.as_string() == core::approval_decision_name(each) ? core::option_of(each) : 0;
    }
  }
  return options == 0 ? core::all_options : options;
}

}  // namespace

ApprovalTerms approval_terms(Json message) {
  return {.options = options_in(message.find("human_decision_options"))};
}

}  // namespace parley::edge
