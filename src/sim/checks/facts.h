// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/machine/machine.h"

namespace parley::sim {

// An effect with names in place of references, so that those of two nodes can be compared and kept.
struct Fact {
  enum class Kind : uint8_t {
    deliver,
    mail,
    settled,
    dead_lettered,
    letter_dropped,
    stream_closed,
    owed,
    timed_out,
    letter_resolved,
    alarm,
    lock_turn,
  };

  Kind kind = Kind::mail;
  core::WorkspaceId workspace{};
  std::string receiver;
  core::StreamId stream;
  core::Seq message;
  uint32_t attempt = 0;
  core::ResumeMark mark{};  // of deliver
  bool seen = false;        // of deliver: its client had it before
  core::State state = core::State::queued;
  uint64_t letter = 0;
  uint64_t outbox_item = 0;
  bool is_final = false;                                    // of timed_out
  bool granted = false;                                     // of lock_turn
  core::Resolution resolution = core::Resolution::pending;  // of letter_resolved
  core::OutboxKind outbox_kind = core::OutboxKind::delivery_failed;
  core::Reason reason = core::Reason::receiver_not_found;

  bool operator==(const Fact&) const = default;
};

// Must be called before the machine applies another entry.
std::vector<Fact> facts_of(const core::Machine& machine, std::span<const core::Effect> effects);

// The same for equal outcomes and facts.
uint64_t digest_of(const core::Outcome& outcome, std::span<const Fact> facts);

std::string_view kind_name(Fact::Kind kind);
std::string_view command_name(const core::Command& command);
std::string describe(const Fact& fact);

}  // namespace parley::sim
