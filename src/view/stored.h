// SPDX-License-Identifier: Apache-2.0
#pragma once

// What the history has of messages, as plain values: the rows of its tables.

#include <cstdint>
#include <expected>
#include <string>

#include "core/model/delivery_state.h"
#include "core/model/entry.h"
#include "view/facts.h"

namespace parley::view {

// A message that was, whole: its record is as the journal had it.
struct StoredMessage {
  Seq seq;
  Time time;
  WorkspaceId workspace{};
  std::string record;

  // Its texts are views into `record`.
  std::expected<core::Entry, Error> entry() const { return core::decode_entry(seq, time, record); }
};

struct StoredDelivery {
  std::string receiver;
  core::State state = core::State::queued;
  Time time;
  uint32_t attempts = 0;
  std::string last_error;
  Time offered{};  // when it was first handed out; zero: not yet

  bool operator==(const StoredDelivery&) const = default;
};

struct StoredDeadLetter {
  uint64_t id = 0;
  Seq message;
  std::string receiver;
  core::Reason reason = core::Reason::receiver_not_found;
  Time failed_at;
  uint32_t retry_count = 0;
  std::string last_error;
  core::Resolution resolution = core::Resolution::pending;
  bool dropped = false;  // it had to go for another before anyone resolved it
  std::string resolved_by;
  Time resolved_at;

  bool operator==(const StoredDeadLetter&) const = default;
};

// A thread as a whole, from its messages. A count stops at Reader::scan_max.
struct StoredThread {
  std::string name;
  Seq root;
  std::string owner;
  Time created;
  Time changed;
  uint64_t messages = 0;

  bool operator==(const StoredThread&) const = default;
};

}  // namespace parley::view
