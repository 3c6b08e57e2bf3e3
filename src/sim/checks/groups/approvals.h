// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/humans/approvals.h"
#include "sim/checks/groups/rights.h"
#include "sim/model/model.h"

namespace parley::sim {

// Checks what people are asked to approve: it is decided once, by one who may and did not ask, for
// what was shown; a vote counts while who gave it may decide. What nobody decides in time is
// expired, and nothing is approved by silence. Whoever waits for one is told of each change.
class ApprovalChecks {
 public:
  explicit ApprovalChecks(Model& model) : model_(model), rights_(model) {}

  void on_changed(const NamedEffect& effect) { changed_.insert(effect.approval); }
  // After all effects, and after who is registered is learned.
  void check(const Step& step);

 private:
  struct Asked {
    std::string asker;
    core::ProposalDigest digest{};
    std::vector<std::string> approvers;
    std::set<std::string> gone;  // Removed since: who has the name now is another.
    uint64_t needed = 1;
    std::set<std::string> approved_by;
    Time deadline{};
    core::ApprovalState state = core::ApprovalState::pending;
  };

  void on_asked(const Step& step, const core::AskApproval& command);
  void on_held(const Step& step, const core::Envelope& envelope);
  void on_decided(const Step& step, const core::DecideApproval& command);
  void expire(const Step& step);
  void compare(const Step& step);
  void check_changed(const Step& step);
  bool is_admin(const std::string& name) const;
  bool may_decide(const std::string& name, const Asked& asked) const;
  bool may_reject(const std::string& name, const Asked& asked) const;

  Model& model_;
  Rights rights_;
  std::map<Seq, Asked> asked_;  // By record.
  std::set<uint64_t> pending_;  // Ids, after the entry before.
  uint64_t newest_ = 0;         // Of all that there were then.
  std::set<uint64_t> changed_;  // Those of which the effects of the entry tell.
};

}  // namespace parley::sim
