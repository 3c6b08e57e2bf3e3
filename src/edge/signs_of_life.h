// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <utility>

#include "base/time.h"
#include "edge/principal.h"

namespace parley::edge {

struct Asker;
class Context;

// Writes down that an agent is there. Commands speak for themselves; who only looks into its inbox
// would be taken for silent.
class SignsOfLife {
 public:
  explicit SignsOfLife(Context& context) : context_(context) {}

  // The caller asked for something.
  void note(const Principal& caller);
  // The caller waits for an answer, and is there until it has it.
  void keep(const Asker& asker);

 private:
  Context& context_;
  std::map<std::pair<core::WorkspaceId, core::AgentRef>, base::Time> called_;  // the newest sign
};

}  // namespace parley::edge
