// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <vector>

#include "base/error.h"
#include "core/model/envelope.h"
#include "core/model/ids.h"

namespace parley::core {

// What the one who asked is told when it was done. What does not concern its command is not set.
struct Receipt {
  Seq message;  // the message that it was about; of a lock: where it was asked for, its fence

  bool duplicate = false;        // of a send: it was accepted before, at `message`
  bool skipped = false;          // and what was accepted has other words: nothing of these was sent
  bool has_no_task = false;      // of a send: it tells of a task that its sender does not have
  uint64_t number = 0;           // of a send: in its channel; 0: none
  uint64_t session_version = 0;  // of StartSession and ChangeSession
  bool lock_granted = false;     // of TakeLock; false: it waits in line
  // Receivers of a send; messages that were taken, acked or read, that a new subscriber gets, or
  // that are in a thread that was closed.
  uint32_t count = 0;
  WorkspaceId workspace{};  // of AddWorkspace
  // Of a send: how long limits, or the pause before the next try, hold it up, as far as is known.
  Duration delay;
  std::vector<std::string> warnings{};  // of a send: what its edge found in it, for its sender

  bool operator==(const Receipt&) const = default;
};

// Each entry has one: done, or refused with the reason.
using Outcome = std::expected<Receipt, base::Error>;

}  // namespace parley::core
