// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <expected>

#include "core/delivery/dispatch.h"
#include "core/machine/tables.h"
#include "core/model/entry.h"
#include "core/model/outcome.h"
#include "core/requests/requests.h"

namespace parley::core {

// What a check works with: the tables and who asks for what. Nothing of it changes, so the same
// check serves at the door, where a refusal costs no entry, and in `apply`
// (docs/decisions/0011-advice-at-the-door.md).
struct ConstContext {
  const Tables& t;
  const Entry& entry;
  AgentRef actor = none;  // none: the broker itself
  // The message answers a request that someone waits for. `plan_send` finds that out for itself,
  // and `send` sets it anew for the acts.
  bool answers = false;

  Time now() const { return entry.time; }
};

// What an act works with: the same, and the means to change the tables. It lives as long as the
// entry is applied.
struct Context {
  Tables& t;
  Dispatch& dispatch;
  Requests requests;
  const Entry& entry;
  AgentRef actor = none;
  bool answers = false;

  operator ConstContext() const { return {t, entry, actor, answers}; }
  Time now() const { return entry.time; }
};

// What a check says: nothing, or why not. A command that is refused for reasons that can be found
// without changing anything has an overload `Checked check(const ConstContext&, const Command&)`
// in its room: `Workspace::admit` asks it at the door.
using Checked = std::expected<void, Error>;

// What a check says that looks for something: only whether that can be had.
template <class T>
Checked checked(const std::expected<T, Error>& found) {
  return found ? Checked() : std::unexpected(found.error());
}

// The broker itself, an admin, and whoever has the right.
Checked may_administer(const ConstContext& context, Right right);
// Whether the actor may act on the objects of others: the broker, an admin, a maintainer.
bool is_maintainer(const ConstContext& context);

}  // namespace parley::core
