// SPDX-License-Identifier: Apache-2.0
#include "sim/checks/groups/approvals.h"

#include <algorithm>
#include <array>

#include "sim/text.h"

namespace parley::sim {

using core::ApprovalDecision;
using core::ApprovalState;

bool ApprovalChecks::may_decide(const std::string& name, const Asked& asked) const {
  const bool is_named = asked.approvers.empty() ||
                        (std::ranges::find(asked.approvers, name) != asked.approvers.end() &&
                         !asked.gone.contains(name));
  return name != asked.asker && is_named && (rights_.has(name, "approver") || is_admin(name));
}

bool ApprovalChecks::is_admin(const std::string& name) const {
  return rights_.is_admin(name) || rights_.has(name, "admin");
}

// Who answers for the workspace may say no, and never yes.
bool ApprovalChecks::may_reject(const std::string& name, const Asked& asked) const {
  return may_decide(name, asked) ||
         (name != asked.asker && (rights_.has(name, "maintainer") || is_admin(name)));
}

void ApprovalChecks::on_asked(const Step& step, const core::AskApproval& command) {
  const core::Rules& rules = step.after.tables().rules;
  const base::Duration timeout = command.timeout.us > 0 ? command.timeout : rules.approval_timeout;
  asked_[step.entry.seq] = {.asker = std::string(step.entry.actor),
                            .digest = command.digest,
                            .approvers = {command.approvers.begin(), command.approvers.end()},
                            .gone = {},
                            .needed = command.needed,
                            .approved_by = {},
                            .deadline = step.entry.time + timeout};
}

// What is decided on is this record: its digest begins with its place and its id.
void ApprovalChecks::on_held(const Step& step, const core::Envelope& e) {
  const auto& all = step.after.tables().approvals.all();
  const auto row =
      std::ranges::find(all, step.entry.seq, [](const auto& item) { return item.second.record; });
  if (row == all.end()) {
    return;  // HeldChecks says so.
  }
  core::ProposalDigest digest = row->second.digest;
  constexpr size_t bytes = sizeof(uint64_t);
  const std::array<uint64_t, 3> named = {step.entry.seq.n, e.id.high(), e.id.low()};
  for (size_t at = 0; at < bytes * named.size(); ++at) {
    digest[at] = static_cast<uint8_t>(named[at / bytes] >> (8 * (bytes - 1 - at % bytes)));
  }
  if (row->second.digest != digest) {
    model_.fail(Check::approval, step, text("another message than {} is shown", row->first));
  }
  asked_[step.entry.seq] = {.asker = std::string(e.sender),
                            .digest = digest,
                            .approvers = {},
                            .gone = {},
                            .needed = 1,
                            .approved_by = {},
                            .deadline = step.entry.time + model_.rules.approval_timeout};
}

void ApprovalChecks::on_decided(const Step& step, const core::DecideApproval& command) {
  const core::Approval* const row = step.after.tables().approvals.find(command.id);
  const auto at = row == nullptr ? asked_.end() : asked_.find(row->record);
  if (at == asked_.end()) {
    model_.fail(Check::approval, step,
                text("approval {} was decided, and nobody asked", command.id));
    return;
  }
  Asked& asked = at->second;
  const std::string by(step.entry.actor);
  const bool may = command.decision == ApprovalDecision::withdraw ? by == asked.asker
                   : command.decision == ApprovalDecision::reject ? may_reject(by, asked)
                                                                  : may_decide(by, asked);
  if (!may) {
    model_.fail(Check::approval, step, text("{} decided approval {}, and may not", by, command.id));
  }
  if (asked.state != ApprovalState::pending || asked.approved_by.contains(by)) {
    model_.fail(Check::approval, step, text("approval {} was decided again", command.id));
  }
  if (command.digest != asked.digest) {
    model_.fail(Check::approval, step,
                text("approval {} was decided for something that was not shown", command.id));
  }
  if (command.decision == ApprovalDecision::approve) {
    std::erase_if(asked.approved_by,
                  [&](const std::string& name) { return !may_decide(name, asked); });
    asked.approved_by.insert(by);
    if (asked.approved_by.size() < asked.needed) {
      model_.coverage.count("approval", "seconded");
      return;
    }
  }
  asked.state = command.decision == ApprovalDecision::approve  ? ApprovalState::approved
                : command.decision == ApprovalDecision::reject ? ApprovalState::rejected
                : command.decision == ApprovalDecision::modify ? ApprovalState::modified
                                                               : ApprovalState::withdrawn;
  model_.coverage.count("approval", core::approval_state_words[asked.state]);
}

// Time acts before the command of an entry does.
void ApprovalChecks::expire(const Step& step) {
  if (!passes_time(step)) {
    return;
  }
  for (auto& [record, asked] : asked_) {
    if (asked.state == ApprovalState::pending && asked.deadline <= step.entry.time) {
      asked.state = ApprovalState::expired;
      model_.coverage.count("approval", "expired");
    }
  }
}

void ApprovalChecks::compare(const Step& step) {
  std::map<Seq, ApprovalState> found;
  for (const auto& [id, approval] : step.after.tables().approvals.all()) {
    found[approval.record] = approval.state;
  }
  std::erase_if(asked_, [&found](const auto& each) {
    return each.second.state != ApprovalState::pending && !found.contains(each.first);
  });
  for (const auto& [record, asked] : asked_) {
    const auto at = found.find(record);
    if (at == found.end() || at->second != asked.state) {
      model_.fail(Check::approval, step,
                  text("the approval at {} is {}, and should be {}", record.n,
                       at == found.end() ? "gone" : core::approval_state_words[at->second],
                       core::approval_state_words[asked.state]));
    }
  }
}

void ApprovalChecks::check_changed(const Step& step) {
  std::set<uint64_t> pending;
  for (const auto& [id, approval] : step.after.tables().approvals.all()) {
    const bool is_new = id > newest_;
    const bool has_ended = pending_.contains(id) && !approval.is_pending();
    if ((is_new || has_ended) && !changed_.contains(id)) {
      model_.fail(Check::approval, step, text("nobody is told that approval {} has changed", id));
    }
    newest_ = std::max(newest_, id);
    if (approval.is_pending()) {
      pending.insert(id);
    }
  }
  pending_ = std::move(pending);
  changed_.clear();
}

void ApprovalChecks::check(const Step& step) {
  expire(step);
  if (const auto* command = done<core::AskApproval>(step);
      command != nullptr && !step.outcome->duplicate) {
    on_asked(step, *command);
  } else if (const auto* send = done<core::Send>(step);
             send != nullptr && !step.outcome->duplicate &&
             model_.messages.at(step.entry.seq).passage == Passage::held) {
    on_held(step, send->envelope);
  } else if (const auto* decided = done<core::DecideApproval>(step)) {
    on_decided(step, *decided);
  } else if (const auto* gone = done<core::Unregister>(step)) {
    for (auto& [record, asked] : asked_) {
      const bool is_theirs = asked.asker == gone->name && asked.state == ApprovalState::pending;
      asked.state = is_theirs ? ApprovalState::withdrawn : asked.state;
      asked.approved_by.erase(std::string(gone->name));
      asked.gone.emplace(gone->name);
    }
  }
  compare(step);
  check_changed(step);
  rights_.learn(step);
}

}  // namespace parley::sim
