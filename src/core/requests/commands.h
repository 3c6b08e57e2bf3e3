// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

#include "core/model/envelope.h"
#include "core/model/words.h"

namespace parley::core {

// What is asked about answers that someone waits for.

// When a scatter-gather has enough. Written into journals: never renumber.
enum class Strategy : uint8_t { all = 0, any = 1, majority = 2, quorum = 3 };
constexpr Strategy strategy_last = Strategy::quorum;
constexpr Words<strategy_last> strategy_words("all", "any", "majority", "quorum");

// What happens at the end of the window when it has not. Written into journals.
enum class OnPartial : uint8_t { proceed_with_available = 0, fail = 1, extend_timeout = 2 };
constexpr OnPartial on_partial_last = OnPartial::extend_timeout;
constexpr Words<on_partial_last> on_partial_words("proceed_with_available", "fail",
                                                  "extend_timeout");

// What the coordinator of a scatter-gather asks for.
struct Gathering {
  Strategy strategy = Strategy::all;
  uint32_t quorum = 0;  // of Strategy::quorum
  Duration window;      // zero: by the rules
  OnPartial on_partial = OnPartial::proceed_with_available;

  static void fields(auto& self, auto& field) {
    field("strategy", self.strategy, strategy_last);
    field("quorum", self.quorum);
    field("window", self.window);
    field("on_partial", self.on_partial, on_partial_last);
  }
  bool operator==(const Gathering&) const = default;
};

// Its sender blocks no longer for the answer to a message.
struct StopWaiting {
  Seq message;

  static constexpr std::string_view verb = "stop waiting";
  static constexpr bool needs_sync() { return false; }
  static void fields(auto& self, auto& field) { field("message", self.message); }
  bool operator==(const StopWaiting&) const = default;
};

}  // namespace parley::core
