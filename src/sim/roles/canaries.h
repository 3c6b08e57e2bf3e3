// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/ids.h"

namespace parley::edge_sim {

// A planted bug that the checks of the cast must catch, as sim/canary.h has them: in what the
// journal hands to the broker, as if it did the command wrong. The core has no hooks for them.
enum class RoleCanary : uint8_t {
  none,
  failure_told_again,  // The broker does not know that it told a failure, and says it anew.
  answer_unlinked,     // An answer is not taken for one.
  approval_unneeded,   // Nobody has to approve anything.
  rejection_passes,    // What is rejected is approved.
  approver_borrowed,   // A maintainer may approve.
  moderator_borrowed,  // One without rights may moderate.
  timer_runs,          // The time of a task goes on while its answer waits for people.
};

struct RoleCanaryInfo {
  RoleCanary canary;
  std::string_view name;
  std::string_view caught_by;  // The check that it is for. Another may catch it first.
};

// All but `none`.
std::span<const RoleCanaryInfo> all_role_canaries();

// The record as the canary alters it; nullopt when it leaves it alone.
std::optional<std::string> planted_record(RoleCanary canary, base::Seq seq,
                                          std::string_view payload);

}  // namespace parley::edge_sim
