// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "base/time.h"
#include "edge/principal.h"

namespace parley::edge {

class Context;

// Writes down that an agent is there. Commands speak for themselves; who only looks into its inbox
// would be taken for silent.
class SignsOfLife {
 public:
  explicit SignsOfLife(Context& context) : context_(context) {}

  // The caller asked for something.
  void note(const Principal& caller);
  // A call of the caller waits: the caller is there as long as one does. However many wait, one
  // sign is written for all.
  void keep(const Principal& caller);

 private:
  using Kept = std::tuple<core::WorkspaceId, core::AgentRef, core::TokenHash>;

  void keep_on(const Principal& caller);

  Context& context_;
  std::map<std::pair<core::WorkspaceId, core::AgentRef>, base::Time> called_;  // the newest sign
  std::set<Kept> kept_;  // those for whom a sign is due
};

}  // namespace parley::edge
