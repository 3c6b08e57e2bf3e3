// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <variant>

#include "core/dead_letters/commands.h"
#include "core/model/dead_letter_reason.h"
#include "core/model/delivery_state.h"
#include "core/model/ids.h"
#include "core/model/refs.h"
#include "core/model/resume_mark.h"

namespace parley::core {

// Facts that came of an entry, for those who act outside: hints, since all of them can be read
// from the state. References are good until the next entry is applied.

// A message is handed out: pushed to a stream, or taken by its receiver when there is none.
struct Deliver {
  WorkspaceId workspace{};
  AgentRef receiver = none;
  StreamId stream;
  Seq message;
  uint32_t attempt = 0;
  DeliveryRef delivery = none;
  ResumeMark mark{};  // on the stream
  // The client of the stream had it before: the stream holds it, and nothing is pushed.
  bool seen = false;
  bool operator==(const Deliver&) const = default;
};

// Something waits for a receiver that has no stream with room: wake it.
struct Mail {
  WorkspaceId workspace{};
  AgentRef receiver = none;
  bool operator==(const Mail&) const = default;
};

// A delivery reached a final state, or an acked one was answered.
struct Settled {
  WorkspaceId workspace{};
  AgentRef receiver = none;
  Seq message;
  State state = State::acked;
  bool again = false;           // it was acked before
  DeliveryRef delivery = none;  // which the entry may have forgotten since
  bool operator==(const Settled&) const = default;
};

struct DeadLettered {
  WorkspaceId workspace{};
  uint64_t id = 0;
  Seq message;
  Reason reason = Reason::receiver_not_found;
  bool operator==(const DeadLettered&) const = default;
};

// The broker resolved a dead letter by itself.
struct DeadLetterResolved {
  WorkspaceId workspace{};
  uint64_t id = 0;
  Seq message;
  Resolution resolution = Resolution::retried;
  bool operator==(const DeadLetterResolved&) const = default;
};

// So many dead letters in so short a time that those who answer for the workspace are told.
struct DeadLettersAlarming {
  WorkspaceId workspace{};
  uint64_t count = 0;
  bool operator==(const DeadLettersAlarming&) const = default;
};

// A dead letter had to go to make room for another.
struct DeadLetterDropped {
  WorkspaceId workspace{};
  uint64_t id = 0;
  bool operator==(const DeadLetterDropped&) const = default;
};

// The broker owes someone a message; a node is to send it.
struct Owed {
  WorkspaceId workspace{};
  uint64_t outbox_item = 0;
  bool operator==(const Owed&) const = default;
};

// A request was not answered in time, or failed and is tried again. It is sent again, or is_final:
// no one waits for it any more.
struct RequestTimedOut {
  WorkspaceId workspace{};
  Seq message;
  bool is_final = false;
  bool is_rejected = false;  // there was an answer, which does not pass on
  bool operator==(const RequestTimedOut&) const = default;
};

// A principal stops waiting for a lock: it has the lock (`granted`), or its time is over.
struct LockTurn {
  WorkspaceId workspace{};
  AgentRef agent = none;
  Seq place;  // of the request
  bool granted = false;
  bool operator==(const LockTurn&) const = default;
};

// The stream pushes no more.
struct StreamClosed {
  WorkspaceId workspace{};
  StreamId stream;
  bool operator==(const StreamClosed&) const = default;
};

// An approval was asked for, or is not pending any more.
struct ApprovalChanged {
  WorkspaceId workspace{};
  uint64_t approval = 0;
  bool operator==(const ApprovalChanged&) const = default;
};

using Effect = std::variant<Deliver, Mail, Settled, DeadLettered, DeadLetterDropped, StreamClosed,
                            Owed, RequestTimedOut, DeadLetterResolved, DeadLettersAlarming,
                            LockTurn, ApprovalChanged>;

}  // namespace parley::core
