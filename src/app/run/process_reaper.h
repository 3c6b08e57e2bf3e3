// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <string>

#include "app/posix.h"
#include "base/time.h"

namespace parley::app {

// A process that outlives this one. When this process ends without having dismissed the reaper,
// killed with SIGKILL for example, the reaper ends the process group of the command that was run,
// which would live on otherwise, and removes the message's file.
class ProcessReaper {
 public:
  // Starts the reaper. `grace` is the time from SIGTERM to SIGKILL. Afterwards the reaper removes
  // `file`, unless that is empty. Where no process can be made, is_there() is false.
  ProcessReaper(base::Duration grace, const std::string& file);
  ~ProcessReaper();  // dismisses the process
  ProcessReaper(const ProcessReaper&) = delete;
  ProcessReaper& operator=(const ProcessReaper&) = delete;

  bool is_there() const { return pid_ > 0; }
  // Names the process group to end. The leader of the group calls this itself, between fork and
  // exec, so that there is no moment in which the command runs and the reaper does not know it.
  void watch(pid_t group) const;

 private:
  Fd pipe_;  // closed by the system when this process ends, which the reaper sees
  pid_t pid_ = -1;
};

}  // namespace parley::app
