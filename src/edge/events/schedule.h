// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/time.h"
#include "edge/events/routing.h"

namespace parley::edge::events {

// Work that comes again and again. Its turns are slots in UTC that follow from the time alone: all
// nodes, and the same node after a restart, mean the same ones.
struct Schedule {
  std::string name;  // with the slot it makes the id
  base::Duration every = base::hours(24);
  base::Duration offset{};  // of the slots, from midnight in UTC
  std::string description;
  std::string repository;
  TaskTerms terms{};

  bool operator==(const Schedule&) const = default;
};

// The newest slot up to `now`.
base::Time slot_before(const Schedule& schedule, base::Time now);
// The first slot after `now`.
base::Time slot_after(const Schedule& schedule, base::Time now);

}  // namespace parley::edge::events
