// SPDX-License-Identifier: Apache-2.0
#include "sim/roles/canaries.h"

#include <array>
#include <variant>

#include "core/model/entry.h"

namespace parley::edge_sim {

namespace {

constexpr auto table = std::to_array<RoleCanaryInfo>({
    {RoleCanary::failure_told_again, "failure_told_again", "failure"},
    {RoleCanary::answer_unlinked, "answer_unlinked", "failure"},
    {RoleCanary::approval_unneeded, "approval_unneeded", "held"},
    {RoleCanary::rejection_passes, "rejection_passes", "decision"},
    {RoleCanary::approver_borrowed, "approver_borrowed", "decision"},
    {RoleCanary::moderator_borrowed, "moderator_borrowed", "flag"},
    {RoleCanary::timer_runs, "timer_runs", "timer"},
});

bool is_answer(const core::Envelope& e) {
  return e.kind == core::Kind::response && e.via != core::Via::broker &&
         e.dialect == core::Dialect::superprompt;
}

// Each `alter` changes a command as the canary does; false when the canary leaves it alone.
template <class C>
bool alter(RoleCanary, base::Seq, C&) {
  return false;
}

bool alter(RoleCanary canary, base::Seq seq, core::Send& send) {
  core::Envelope& e = send.envelope;
  if (canary == RoleCanary::failure_told_again && send.outbox_item != 0 &&
      e.kind == core::Kind::response) {
    send.outbox_item = 0;
    e.id.bytes[0] = static_cast<uint8_t>(seq.n);
    e.id.bytes[1] = static_cast<uint8_t>(seq.n >> 8);
  } else if (canary == RoleCanary::answer_unlinked && is_answer(e) &&
             e.needs_approval == core::NeedsApproval::nothing) {
    e.kind = core::Kind::notification;
  } else if (canary == RoleCanary::timer_runs && is_answer(e) &&
             e.needs_approval == core::NeedsApproval::message) {
    e.kind = core::Kind::notification;
  } else if (canary == RoleCanary::approval_unneeded &&
             (e.needs_approval != core::NeedsApproval::nothing || core::asks(e.kind))) {
    e.needs_approval = core::NeedsApproval::nothing;
    e.confidence_ppm = core::asks(e.kind) ? -1 : e.confidence_ppm;
  } else {
    return false;
  }
  return true;
}

bool alter(RoleCanary canary, base::Seq, core::DecideApproval& decide) {
  if (canary == RoleCanary::rejection_passes && decide.decision == core::ApprovalDecision::reject) {
    decide.decision = core::ApprovalDecision::approve;
    return true;
  }
  return false;
}

bool alter(RoleCanary canary, base::Seq, core::Register& change) {
  if (canary == RoleCanary::approver_borrowed && change.name == "human:eve") {
    change.rights.emplace_back("approver");
  } else if (canary == RoleCanary::moderator_borrowed && change.name == "human:ned") {
    change.rights.emplace_back("moderator");
  } else {
    return false;
  }
  return true;
}

}  // namespace

std::span<const RoleCanaryInfo> all_role_canaries() { return table; }

std::optional<std::string> planted_record(RoleCanary canary, base::Seq seq,
                                          std::string_view payload) {
  auto entry = core::decode_entry(seq, {}, payload);
  if (!entry ||
      !std::visit([&](auto& command) { return alter(canary, seq, command); }, entry->command)) {
    return std::nullopt;
  }
  std::string altered;
  core::encode(*entry, altered);
  return altered;
}

}  // namespace parley::edge_sim
