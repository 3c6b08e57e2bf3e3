// SPDX-License-Identifier: Apache-2.0
#include "edge/approval_terms.h"

#include <gtest/gtest.h>

namespace parley::edge {
namespace {

using core::ApprovalDecision;
using core::option_of;

ApprovalTerms of(const std::string& message) {
  lib::JsonDocument document;
  return approval_terms(*document.parse(message));
}

// SP-08
TEST(Terms, OptionsAreWhatThoseWhoDecideMayChoose) {
  EXPECT_EQ(of(R"({"human_decision_options":["approve","modify"]})").options,
            option_of(ApprovalDecision::approve) | option_of(ApprovalDecision::modify));
  EXPECT_EQ(of(R"({"human_decision_options":["reject"]})").options,
            option_of(ApprovalDecision::reject));
  EXPECT_EQ(of("{}").options, core::all_options);
}

}  // namespace
}  // namespace parley::edge
