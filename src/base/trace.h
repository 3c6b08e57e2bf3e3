// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/ids.h"

namespace parley::base {

// A place in a trace that goes through many programs: W3C Trace Context.
struct TraceParent {
  Id128 trace_id;
  uint64_t span_id = 0;
  bool sampled = true;

  bool operator==(const TraceParent&) const = default;
};

// `00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01`. Reads later versions as far as they
// agree with this one; none for what is no traceparent.
std::optional<TraceParent> parse_traceparent(std::string_view text);
std::string format_traceparent(const TraceParent& parent);

// 32 and 16 digits, lower case.
std::string format_trace_id(const Id128& id);
std::string format_span_id(uint64_t span);
std::optional<Id128> parse_trace_id(std::string_view text);

// What other programs keep beside a traceparent is carried, not read: printable and not too long.
constexpr size_t tracestate_bytes_max = 512;
bool is_tracestate(std::string_view text);

// A message's own span, the same wherever it is asked for; never 0. Ids are unique per sender.
uint64_t message_span(const MessageId& id, std::string_view sender);
// A part of it: `what` happened at the receiver.
uint64_t part_span(uint64_t message, std::string_view receiver, std::string_view what);

}  // namespace parley::base
