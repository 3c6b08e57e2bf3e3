// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "core/moderation/flags.h"
#include "lib/json_writer.h"

namespace parley::edge {

// What moderators are shown of a private flag, but for its words: the members of an object.
void render_flag(const core::Flag& flag, lib::JsonWriter& out);

// Which flags a list shall have, and from where on.
struct WantedFlags {
  bool open = true;
  bool resolved = true;
  uint64_t before = 0;  // an id; 0: from the newest
  uint64_t limit = 0;

  bool has(const core::Flag& flag) const { return flag.is_open() ? open : resolved; }
  size_t count(const core::Flags& flags) const {
    return (open ? flags.open() : 0) + (resolved ? flags.all().size() - flags.open() : 0);
  }
};

// One part of the list passes over so many flags at most, whatever is wanted of them.
constexpr size_t flags_passed_max = 10'000;

// A part of the list, the newest first: `items`, `total`, and `next` where there may be more.
std::string flags_text(const core::Flags& flags, const WantedFlags& wanted);

}  // namespace parley::edge
