// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "core/model/enumerators.h"
#include "core/model/fields.h"
#include "core/model/ids.h"
#include "core/model/words.h"

namespace parley::core {

// What a person asks who answers for agents.

// A person says what was decided on what the agents could not settle.
struct ResolveEscalation {
  uint64_t id = 0;
  std::string_view resolution;

  static constexpr std::string_view verb = "resolve escalation";
  static constexpr bool needs_sync() { return true; }
  static void fields(auto& self, auto& field) {
    field("id", self.id);
    field("resolution", self.resolution);
  }
  bool operator==(const ResolveEscalation&) const = default;
};

// Persisted: never renumber.
enum class ApprovalDecision : uint8_t { approve = 0, reject = 1, modify = 2, withdraw = 3 };
constexpr ApprovalDecision approval_decision_last = ApprovalDecision::withdraw;
constexpr Words<approval_decision_last> approval_decision_words("approve", "reject", "modify",
                                                                "withdraw");

// What people may choose: a bit for each decision. Withdrawing is for who asked, and always so.
constexpr uint64_t option_of(ApprovalDecision decision) {
  return uint64_t{1} << static_cast<uint8_t>(decision);
}
constexpr uint64_t all_options = option_of(ApprovalDecision::approve) |
                                 option_of(ApprovalDecision::reject) |
                                 option_of(ApprovalDecision::modify);

// The SHA-256 of what people are asked to approve.
using ProposalDigest = std::array<uint8_t, 32>;

// An agent asks people whether it may do something (SP-08). What they are shown is in this record
// and never changes: another proposal needs another decision.
struct AskApproval {
  base::MessageId id;                        // the asker's
  std::string_view summary;                  // what a list shows of it
  std::string_view text;                     // what is proposed, with the reasons
  ProposalDigest digest{};                   // of the text: made at the edge
  Priority priority = Priority::normal;
  std::vector<std::string_view> approvers;   // who may decide; none: whoever has the right
  uint64_t needed = 1;                       // so many must approve
  Duration timeout{};                        // 0: the rule's
  std::string_view native_id;                // the asker's own id, where that is no UUID
  uint64_t options = all_options;            // what those who decide may choose

  static constexpr std::string_view verb = "ask approval";
  static constexpr bool needs_sync() { return true; }
  static void fields(auto& self, auto& field) {
    field("id", self.id);
    field("summary", self.summary, Form::opaque);
    field("text", self.text, Form::opaque);
    field("digest", self.digest);
    field("priority", self.priority, priority_last);
    field("approvers", self.approvers, Form::agent);
    field("needed", self.needed);
    field("timeout", self.timeout);
    field("native_id", self.native_id);
    field("options", self.options);
  }
  bool operator==(const AskApproval&) const = default;
};

// One who may says whether it may be done; or who asked takes the question back.
struct DecideApproval {
  uint64_t id = 0;
  ProposalDigest digest{};  // of what the one who decides was shown
  ApprovalDecision decision = ApprovalDecision::approve;
  std::string_view comment;
  std::string_view modification;  // of `modify`: what may be done instead

  static constexpr std::string_view verb = "decide approval";
  static constexpr bool needs_sync() { return true; }
  static void fields(auto& self, auto& field) {
    field("id", self.id);
    field("digest", self.digest);
    field("decision", self.decision, approval_decision_last);
    field("comment", self.comment, Form::opaque);
    field("modification", self.modification, Form::opaque);
  }
  bool operator==(const DecideApproval&) const = default;
};

}  // namespace parley::core
