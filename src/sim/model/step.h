// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <variant>
#include <vector>

#include "core/machine/workspace.h"
#include "sim/checks/named_effect.h"

namespace parley::sim {

using base::Seq;
using base::Time;
using core::State;

// One entry of the journal and what came of it in one workspace.
struct Step {
  const core::Entry& entry;          // The entry as it was written.
  const core::Outcome& outcome;      // The outcome as a client is told.
  std::vector<NamedEffect> effects;  // The effects in this workspace.
  const core::Workspace& after;      // The workspace as it is now.
  bool is_here = false;              // The command was for this workspace.
  uint32_t miscount = 0;             // A canary adds this to a counter.
  bool wrong_owner = false;          // A canary takes what went for room for another's.
  bool stopped_runs = false;         // A canary takes a timer that stands still for one that runs.
  core::Mark unseen =
      core::Mark::plain;  // A canary takes an answer with this mark for a plain one.
};

// Returns the command, or nullptr when it was not for this workspace or was refused.
template <class C>
const C* done(const Step& step) {
  return step.is_here && step.outcome ? std::get_if<C>(&step.entry.command) : nullptr;
}

// Returns the command, refused or not, or nullptr when it was not for this workspace.
template <class C>
const C* asked(const Step& step) {
  return step.is_here ? std::get_if<C>(&step.entry.command) : nullptr;
}

// Time passes with every command but the start of a node, which only ends streams.
inline bool passes_time(const Step& step) {
  return !std::holds_alternative<core::StartNode>(step.entry.command);
}

}  // namespace parley::sim
