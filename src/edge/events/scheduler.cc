// SPDX-License-Identifier: Apache-2.0
#include "edge/events/scheduler.h"

#include <algorithm>
#include <utility>

#include "edge/events/delegating.h"

namespace parley::edge::events {

namespace {

// When a delegation that was refused is tried again, unless the next slot comes before.
constexpr base::Duration again_after = base::minutes(1);

}  // namespace

void Scheduler::start() {
  const base::Time now = context_.clock.now();
  for (size_t n = 0; n < options_.tables.schedules.size(); ++n) {
    const Schedule& schedule = options_.tables.schedules[n];
    const base::Duration age = now - slot_before(schedule, now);
    const bool is_remembered = age < context_.tables(core::workspace_first).rules.settled_retention;
    wait_for(n, is_remembered ? now : slot_after(schedule, now));
  }
}

void Scheduler::wait_for(size_t number, base::Time at) {
  context_.waits.add(at, [this, number] { fire(number); });
}

void Scheduler::fire(size_t number) {
  const Schedule& schedule = options_.tables.schedules[number];
  const base::Time now = context_.clock.now();
  const base::Time slot = slot_before(schedule, now);
  const auto supervisor = find_supervisor(context_, options_.supervisor);
  if (!supervisor) {
    failed(number, slot, supervisor.error());
    return;
  }
  const Delegation delegation =
      delegation_of(schedule, slot, {.name = supervisor->name, .now = now});
  send_delegation(
      context_, *supervisor, delegation,
      [this, number, slot](const core::Outcome& outcome, std::span<const core::Effect>) {
        if (outcome) {
          wait_for(number, slot + options_.tables.schedules[number].every);
        } else {
          failed(number, slot, outcome.error());
        }
      });
}

void Scheduler::failed(size_t number, base::Time slot, const base::Error& error) {
  const Schedule& schedule = options_.tables.schedules[number];
  wait_for(number, std::min(context_.clock.now() + again_after, slot + schedule.every));
  const bool is_new = std::exchange(warned_[number], slot) != slot;
  if (is_new && options_.warn) {
    options_.warn("the schedule \"" + schedule.name +
                  "\" is not delegated, and is tried again: " + error.detail);
  }
}

}  // namespace parley::edge::events
