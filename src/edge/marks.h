// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <expected>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "core/machine/tables.h"
#include "core/model/resume_mark.h"
#include "lib/json.h"

namespace parley::edge {

// A mark as clients see it: `12-5` is the fifth that stream 12 pushed.
std::string mark_text(const core::ResumeMark& mark);
std::optional<core::ResumeMark> parse_mark(std::string_view text);

// How far one stream is.
struct StreamPlace {
  core::StreamId stream{};    // none: its client only sends
  core::ResumeMark after{};   // what the client saw of a former one
  core::ResumeMark pushed{};  // the newest on this one
};

// The place up to which a receiver acknowledges what its stream pushed: `upto` is a mark, or the
// seq of a message. Only what was pushed can be acknowledged, not what the machine handed out and a
// slow reader has not got; not_delivered says why a place is none.
std::expected<core::ResumeMark, base::Error> mark_upto(const core::Tables& tables,
                                                       core::AgentRef receiver,
                                                       const StreamPlace& place, lib::Json upto);

}  // namespace parley::edge
