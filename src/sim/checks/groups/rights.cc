// SPDX-License-Identifier: Apache-2.0
#include "sim/checks/groups/rights.h"

namespace parley::sim {

bool Rights::is_admin(std::string_view name) const {
  const auto at = model_.principals.find(std::string(name));
  return at != model_.principals.end() && at->second.kind == core::PrincipalKind::admin;
}

void Rights::forget(std::string_view name) {
  std::erase_if(given_, [name](const auto& each) { return each.first == name; });
}

void Rights::learn(const Step& step) {
  if (const auto* command = done<core::Register>(step)) {
    // Only an admin gives rights; of others they stay as they were.
    if (step.entry.actor == core::broker_name || is_admin(step.entry.actor)) {
      forget(command->name);
      for (const std::string_view right : command->rights) {
        given_.emplace(command->name, right);
      }
    }
  } else if (const auto* gone = done<core::Unregister>(step)) {
    forget(gone->name);
  }
}

}  // namespace parley::sim
