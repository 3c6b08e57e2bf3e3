// SPDX-License-Identifier: Apache-2.0
#include "edge/approvals/terms.h"

#include <gtest/gtest.h>

#include "core/machine/testing.h"

namespace parley::edge {
namespace {

using core::ApprovalDecision;
using core::option_of;
using Names = std::vector<std::string_view>;

class Terms : public ::testing::Test {
 protected:
  Terms() {
    add("human:mia", core::PrincipalKind::human, {"approver"});
    add("human:max", core::PrincipalKind::human, {"approver"});
    add("human:tim", core::PrincipalKind::human, {"moderator"});
    add("triage", core::PrincipalKind::agent, {});
  }
  void add(std::string_view name, core::PrincipalKind kind, Names rights) {
    core::Register command = core::testing::an_agent(name);
    command.kind = kind;
    command.rights = std::move(rights);
    EXPECT_TRUE(bench_.apply(core::broker_name, command).has_value()) << name;
  }
  ApprovalTerms of(const std::string& message, std::string_view asker = "triage") {
    return approval_terms(bench_.machine.find(core::workspace_first)->tables(), asker,
                          *document_.parse(message));
  }

  core::testing::Bench bench_;
  lib::JsonDocument document_;
};

// SP-08
TEST_F(Terms, ThoseWhoAreTaggedAndMayApproveDecide) {
  const ApprovalTerms terms = of(R"({"approvers_tagged":["@mia","human:max","@mia","human:mia"]})");
  EXPECT_EQ(terms.approvers, (Names{"human:mia", "human:max"}));
  EXPECT_TRUE(terms.warnings.empty());
  EXPECT_EQ(of("{}").approvers, Names{});
  EXPECT_EQ(of(R"({"approvers_tagged":null})").warnings.size(), 0u);
}

// SP-08
TEST_F(Terms, WhoMayNotApproveIsNamedInAWarning) {
  const ApprovalTerms some = of(R"({"approvers_tagged":["@mia","@nobody","@tim","@triage"]})");
  EXPECT_EQ(some.approvers, Names{"human:mia"});
  EXPECT_EQ(some.warnings,
            std::vector<std::string>{
                R"(approvers_tagged: "@nobody", "@tim", "@triage" may not approve anything here; )"
                "the others who are tagged decide"});
  const ApprovalTerms none = of(R"({"approvers_tagged":["@nobody"]})");
  EXPECT_TRUE(none.approvers.empty());
  EXPECT_EQ(none.warnings, std::vector<std::string>{
                               R"(approvers_tagged: "@nobody" may not approve anything here; )"
                               "all with the right `approver` decide"});
  EXPECT_EQ(of(R"({"approvers_tagged":["@mia"]})", "human:mia").approvers, Names{})
      << "who asks does not decide";
}

TEST_F(Terms, ALongListOfTagsIsBounded) {
  std::string tags;
  for (int n = 0; n < 64; ++n) {
    tags += "\"@x\",";
  }
  const ApprovalTerms terms = of(R"({"approvers_tagged":[)" + tags + R"("@mia"]})");
  EXPECT_TRUE(terms.approvers.empty()) << "only the first are looked up";
  ASSERT_EQ(terms.warnings.size(), 1u);
  EXPECT_NE(terms.warnings.front().find(" and 57 more "), std::string::npos)
      << terms.warnings.front();
}

// SP-08
TEST_F(Terms, OptionsAreWhatThoseWhoDecideMayChoose) {
  EXPECT_EQ(of(R"({"human_decision_options":["approve","modify"]})").options,
            option_of(ApprovalDecision::approve) | option_of(ApprovalDecision::modify));
  EXPECT_EQ(of(R"({"human_decision_options":["reject"]})").options,
            option_of(ApprovalDecision::reject));
  EXPECT_EQ(of("{}").options, core::all_options);
}

}  // namespace
}  // namespace parley::edge
