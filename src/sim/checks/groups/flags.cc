// SPDX-License-Identifier: Apache-2.0
#include "sim/checks/groups/flags.h"

#include "sim/text.h"

namespace parley::sim {

void FlagChecks::check(const Step& step) {
  const auto& all = step.after.tables().flags.all();
  std::map<Seq, std::string> open;
  for (const auto& [id, flag] : all) {
    if (flag.is_open()) {
      open[flag.record] = flag.sender;
    }
  }
  if (done<core::RaiseFlag>(step) != nullptr && !step.outcome->duplicate) {
    open_[step.entry.seq] = std::string(step.entry.actor);
    model_.coverage.count("flag", "raised");
  }
  if (done<core::ResolveFlag>(step) != nullptr) {
    if (!rights_.has(step.entry.actor, "moderator")) {
      model_.fail(Check::flag, step,
                  text("{} is no moderator, and resolved a flag", step.entry.actor));
    }
    open_.erase(step.outcome->message);
    model_.coverage.count("flag", "resolved");
  }
  if (open != open_) {
    model_.fail(
        Check::flag, step,
        text("{} flags are open, {} were raised and not resolved", open.size(), open_.size()));
  }
  rights_.learn(step);
}

}  // namespace parley::sim
