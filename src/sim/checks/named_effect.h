// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/machine/machine.h"

namespace parley::sim {

// An effect with names in place of references, so that the effects of two nodes can be compared and
// kept.
struct NamedEffect {
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
    approval_changed,
  };

  Kind kind = Kind::mail;
  core::WorkspaceId workspace{};
  std::string receiver;
  core::StreamId stream;
  core::Seq message;
  uint32_t attempt = 0;
  core::ResumeMark mark{};  // Of deliver.
  bool seen = false;        // Of deliver: its client had it before.
  core::State state = core::State::queued;
  uint64_t letter = 0;
  uint64_t approval = 0;  // Of approval_changed.
  uint64_t outbox_item = 0;
  bool is_final = false;                                    // Of timed_out.
  bool granted = false;                                     // Of lock_turn.
  core::Resolution resolution = core::Resolution::pending;  // Of letter_resolved.
  core::OutboxKind outbox_kind = core::OutboxKind::delivery_failed;
  core::Reason reason = core::Reason::receiver_not_found;

  bool operator==(const NamedEffect&) const = default;
};

// Must be called before the machine applies another entry.
std::vector<NamedEffect> named_effects(const core::Machine& machine,
                                       std::span<const core::Effect> effects);

// The digest is the same for equal outcomes and effects.
uint64_t digest_of(const core::Outcome& outcome, std::span<const NamedEffect> effects);

std::string_view kind_name(NamedEffect::Kind kind);
std::string describe(const NamedEffect& effect);

}  // namespace parley::sim
