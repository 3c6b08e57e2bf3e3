// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>

#include "edge/api/context.h"
#include "edge/events/options.h"

namespace parley::edge::events {

// Delegates what the schedules ask for, each slot once: the id of a delegation follows from the
// name and the slot, so that the engine knows what another node, or this one before a restart, has
// sent. At the start the newest slot is made up for, if it is young enough for the engine to
// remember (settled_retention); older ones are not. On the server's thread.
class Scheduler {
 public:
  Scheduler(Context& context, const Options& options) : context_(context), options_(options) {}

  // Must be called once, before the first turn.
  void start();

 private:
  void wait_for(size_t number, base::Time at);
  // Sends the newest slot of the schedule.
  void fire(size_t number);
  // Of this slot; it is tried again.
  void failed(size_t number, base::Time slot, const base::Error& error);

  Context& context_;
  const Options& options_;
  std::map<size_t, base::Time> warned_;  // of which slot the log has heard
};

}  // namespace parley::edge::events
