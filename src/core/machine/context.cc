// SPDX-License-Identifier: Apache-2.0
#include "core/machine/context.h"

#include "core/model/refusal.h"

namespace parley::core {

Checked may_administer(const ConstContext& context, Right right) {
  const Tables& t = context.t;
  if (context.actor == none || t.agents[context.actor].kind == PrincipalKind::admin ||
      t.agents[context.actor].has(Right::admin) || t.agents[context.actor].has(right)) {
    return {};
  }
  return refuse(base::Code::forbidden, "only an admin may do this");
}

bool is_maintainer(const ConstContext& context) {
  return may_administer(context, Right::maintainer).has_value();
}

}  // namespace parley::core
