// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstdint>
#include <expected>
#include <string>
#include <string_view>

#include "base/error.h"
#include "core/model/command.h"

namespace parley::core {

using base::Error;

// Who made a command and its number there; a command appended twice acts once.
struct CommandId {
  uint64_t origin = 0;
  uint64_t number = 0;

  auto operator<=>(const CommandId&) const = default;
};

// The broker itself, as the one who asks. No principal can have this name.
constexpr std::string_view broker_name = "";
// As the sender of messages the broker has a name, which no principal can have.
constexpr std::string_view broker_sender = "parley";
// As the one who closed or resolved something it has a word, in `closed_by`, `resolved_by` and
// `by`. Only an escalation, a moved task and the topics of the broker say `parley` there: clients
// read both, so both stay.
constexpr std::string_view broker_word = "system";

// Who did it, for those who read it.
constexpr std::string_view by_whom(std::string_view actor) {
  return actor == broker_name ? broker_word : actor;
}

// One record of the journal, decoded. `seq` and `time` are the journal's.
struct Entry {
  Seq seq;
  Time time;
  CommandId id;
  WorkspaceId workspace{};
  std::string_view actor;  // the authenticated principal
  Command command;

  bool operator==(const Entry&) const = default;
};

// Appends all but `seq` and `time` to `out`.
void encode(const Entry& entry, std::string& out);

// The entry's texts are views into `payload`.
std::expected<Entry, Error> decode_entry(Seq seq, Time time, std::string_view payload);

}  // namespace parley::core
