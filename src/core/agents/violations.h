// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "base/time.h"

namespace parley::core {

using base::Time;

// How often the agent broke the rules of its dialect, as far as that is counted (SP-14).
struct Violations {
  uint64_t count = 0;
  std::map<std::string, uint64_t> kinds;  // of all: by the code of the refusal
  Time since;  // when the minute began in which they are counted
  uint64_t in_minute = 0;
  Time told;             // when the maintainers were last told
  uint64_t untold = 0;   // since then
  std::string code{};    // of the newest
  std::string detail{};  // what its sender was told

  // How many of this minute count.
  uint64_t at(Time now) const { return since + base::minutes(1) <= now ? 0 : in_minute; }

  // When the others are told of; they are at least one.
  Time due() const { return told + base::minutes(1); }

  static void fields(auto& self, auto& field) {
    field("count", self.count);
    field("kinds", self.kinds);
    field("since", self.since);
    field("in_minute", self.in_minute);
    field("told", self.told);
    field("untold", self.untold);
    field("code", self.code);
    field("detail", self.detail);
  }
};

}  // namespace parley::core
