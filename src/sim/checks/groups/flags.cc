// SPDX-License-Identifier: Apache-2.0
#include "sim/checks/groups/flags.h"

#include <algorithm>

#include "sim/text.h"

namespace parley::sim {

void FlagChecks::learn_rights(const Step& step) {
  if (const auto* command = done<core::Register>(step)) {
    const bool is_one = std::ranges::find(command->rights, "moderator") != command->rights.end();
    const std::string name(command->name);
    // Only an admin gives rights; of others they stay as they were.
    const auto actor = model_.principals.find(std::string(step.entry.actor));
    const bool may_give =
        step.entry.actor == core::broker_name ||
        (actor != model_.principals.end() && actor->second.kind == core::PrincipalKind::admin);
    if (may_give && is_one) {
      moderators_.insert(name);
    } else if (may_give) {
      moderators_.erase(name);
    }
  } else if (const auto* gone = done<core::Unregister>(step)) {
    moderators_.erase(std::string(gone->name));
  }
}

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
    if (!moderators_.contains(std::string(step.entry.actor))) {
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
  learn_rights(step);
}

}  // namespace parley::sim
