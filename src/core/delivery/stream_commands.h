// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

#include "core/model/fields.h"
#include "core/model/ids.h"
#include "core/model/resume_mark.h"

namespace parley::core {

// What is asked about streams.

// From now on up to `window` unsettled messages are pushed to the stream. `after`: its client saw a
// former stream up to there. What that one handed out until then, and nobody gave back since, the
// new stream holds without pushing it again. A former stream that is still open closes.
struct OpenStream {
  StreamId stream;
  uint32_t window = 1;
  ResumeMark after{};

  static constexpr std::string_view verb = "open stream";
  // Its number is in the marks that clients keep: no other stream may have it after a power loss.
  static constexpr bool needs_sync() { return true; }
  static void fields(auto& self, auto& field) {
    field("stream", self.stream);
    field("window", self.window, Form::fixed);
    field("after", self.after);
  }
  bool operator==(const OpenStream&) const = default;
};

struct CloseStream {
  StreamId stream;

  static constexpr std::string_view verb = "close stream";
  static constexpr bool needs_sync() { return false; }
  static void fields(auto& self, auto& field) { field("stream", self.stream); }
  bool operator==(const CloseStream&) const = default;
};

}  // namespace parley::core
