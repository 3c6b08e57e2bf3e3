// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "core/model/fields.h"
#include "core/model/ids.h"

namespace parley::core {

// What is for the eyes of moderators alone (SP-09). A flag is no message: no inbox, thread, trace,
// topic or history knows of it, so nothing that reads those can show it.

using FlagHash = std::array<uint8_t, 32>;

struct RaiseFlag {
  base::MessageId id;        // the sender's
  std::string_view text;     // as it was sent
  std::string_view problem;  // what is wrong with it; empty: it is as the dialect asks
  std::string_view summary;  // what a list shows of it
  FlagHash digest{};         // of the text
  FlagHash previous{};       // the hash of the flag before this one: the chain has no fork
  FlagHash hash{};           // over the previous one, who, which and what: made at the edge

  static constexpr std::string_view verb = "private record";
  static constexpr bool needs_sync() { return true; }
  static void fields(auto& self, auto& field) {
    field("id", self.id, Form::secret);
    field("text", self.text, Form::secret);
    field("problem", self.problem, Form::secret);
    field("summary", self.summary, Form::secret);
    field("digest", self.digest, Form::secret);
    field("previous", self.previous, Form::secret);
    field("hash", self.hash, Form::secret);
  }
  bool operator==(const RaiseFlag&) const = default;
};

// A moderator says what was done about it.
struct ResolveFlag {
  uint64_t id = 0;
  std::string_view resolution;

  static constexpr std::string_view verb = "private resolution";
  static constexpr bool needs_sync() { return true; }
  static void fields(auto& self, auto& field) {
    field("id", self.id, Form::secret);
    field("resolution", self.resolution, Form::secret);
  }
  bool operator==(const ResolveFlag&) const = default;
};

}  // namespace parley::core
