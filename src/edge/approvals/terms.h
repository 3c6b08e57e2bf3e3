// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/machine/tables.h"
#include "lib/json.h"

namespace parley::edge {

// Who decides on a hitl_approval_request of superprompt, and what they may choose (SP-08).
struct ApprovalTerms {
  std::vector<std::string_view> approvers{};  // none: whoever has the right. Views of the tables
  uint64_t options = core::all_options;
  std::vector<std::string> warnings{};  // for who asks
};

// `approvers_tagged` names people as GitHub does, `@mia`, or as the broker does, `human:mia`. Those
// of them who may approve are the only ones who decide. The others are named in a warning and bind
// nobody: the broker does not know all whom a repository knows. `human_decision_options`, of which
// the codec has checked that it has some, is what they may choose.
ApprovalTerms approval_terms(const core::Tables& tables, std::string_view asker, lib::Json message);

}  // namespace parley::edge
