// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/humans/commands.h"
#include "core/model/envelope.h"

namespace parley::core {

// Written into snapshots: never renumber.
enum class ApprovalState : uint8_t {
  pending = 0,
  approved = 1,
  rejected = 2,
  modified = 3,
  expired = 4,    // nobody decided in time: it may not be done
  withdrawn = 5,  // by who asked, or because that one is gone
};
constexpr ApprovalState approval_state_last = ApprovalState::withdrawn;
constexpr Words<approval_state_last> approval_state_words("pending", "approved", "rejected",
                                                          "modified", "expired", "withdrawn");

// What people may choose, as `option_of` has it: all decisions but the last, which is for who
// asked.
constexpr std::span<const std::string_view> approval_options =
    approval_decision_words.all().first(static_cast<size_t>(approval_decision_last));
// `approve, modify`.
std::string names_of_options(uint64_t options);

// Something that an agent may do only if people say so.
struct Approval {
  uint64_t id = 0;
  Seq record;               // of AskApproval: what was shown
  base::MessageId message;  // the asker's id for it
  std::string native_id{};  // as the asker wrote it, where that is no UUID
  std::string asker;
  std::string summary;
  ProposalDigest digest{};
  Priority priority = Priority::normal;
  std::vector<std::string> approvers{};  // as named; none: whoever has the right
  std::vector<std::string> gone{};       // of those: removed since; who has the name now is another
  uint64_t needed = 1;
  uint64_t options = all_options;          // what may be chosen
  Duration timeout{};                      // as asked; 0: the rule's
  std::vector<std::string> approved_by{};  // so far
  Time since{};
  Time deadline{};
  Time remind_at{};  // those who may decide are reminded then; the deadline: no more
  ApprovalState state = ApprovalState::pending;
  std::string decided_by{};
  std::string comment{};
  Seq decision{};  // of DecideApproval: it has the modification
  Time decided_at{};
  // Of a message that waits for the decision (core/humans/held.h); its record is what was shown.
  Seq held{};
  Seq question{};  // that it answers; none: 0
  Status status = Status::unset;
  // Of a message that people changed: how many are still to be told so before it passes on.
  uint64_t untold = 0;

  bool is_pending() const { return state == ApprovalState::pending; }
  // It is pending, or its message still waits.
  bool is_open() const { return is_pending() || untold > 0; }
  // Whether those who decide may choose it.
  bool offers(ApprovalDecision choice) const {
    return choice == ApprovalDecision::withdraw || (options & option_of(choice)) != 0;
  }
  std::string message_name() const {
    return native_id.empty() ? base::format_uuid(message) : native_id;
  }
  const std::string& owner() const { return asker; }
  static void fields(auto& self, auto& field) {
    field("id", self.id);
    field("record", self.record);
    field("message", self.message);
    field("native_id", self.native_id);
    field("asker", self.asker);
    field("summary", self.summary);
    field("digest", self.digest);
    field("priority", self.priority, priority_last);
    field("approvers", self.approvers);
    field("gone", self.gone);
    field("needed", self.needed);
    field("options", self.options);
    field("timeout", self.timeout);
    field("approved_by", self.approved_by);
    field("since", self.since);
    field("deadline", self.deadline);
    field("remind_at", self.remind_at);
    field("state", self.state, approval_state_last);
    field("decided_by", self.decided_by);
    field("comment", self.comment);
    field("decision", self.decision);
    field("decided_at", self.decided_at);
    field("held", self.held);
    field("question", self.question);
    field("status", self.status, status_last);
    field("untold", self.untold);
  }
  bool operator==(const Approval&) const = default;
};

}  // namespace parley::core
