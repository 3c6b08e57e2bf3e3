// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <string>

#include "app/posix.h"
#include "base/time.h"

namespace parley::app {

// A process beside us that outlives us. When we are gone without having dismissed it, killed with
// SIGKILL for example, it ends the process group of the command that we ran, which would live on
// otherwise, and removes what we left.
class Guard {
 public:
  // Has one stand by. `grace` is from SIGTERM to SIGKILL; `file` is removed afterwards, if there is
  // one. Without any where none can be made.
  Guard(base::Duration grace, const std::string& file);
  ~Guard();  // dismisses it
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;

  bool is_there() const { return pid_ > 0; }
  // To be told by the leader of the group itself before it begins, so that no moment is unguarded.
  // Good between fork and exec.
  void watch(pid_t group) const;

 private:
  Fd line_;  // its other end sees when we are gone
  pid_t pid_ = -1;
};

}  // namespace parley::app
