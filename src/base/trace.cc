// SPDX-License-Identifier: Apache-2.0
#include "base/trace.h"

#include <algorithm>

#include "base/hash.h"

namespace parley::base {

namespace {

constexpr size_t traceparent_size = 55;
constexpr std::string_view digits = "0123456789abcdef";

// Two digits of lower case, as the standard wants them.
std::optional<uint8_t> byte_at(std::string_view text, size_t at) {
  const size_t high = digits.find(text[at]);
  const size_t low = digits.find(text[at + 1]);
  if (high == digits.npos || low == digits.npos) {
    return std::nullopt;
  }
  return static_cast<uint8_t>(high << 4 | low);
}

// Each delivered message has a traceparent written for it, so this goes straight to the characters.
char* put_id(const Id128& id, char* out) {
  for (const uint8_t byte : id.bytes) {
    *out++ = digits[byte >> 4];
    *out++ = digits[byte & 0xf];
  }
  return out;
}

char* put_span(uint64_t span, char* out) {
  for (int shift = 60; shift >= 0; shift -= 4) {
    *out++ = digits[span >> shift & 0xf];
  }
  return out;
}

uint64_t never_zero(uint64_t span) { return span == 0 ? 1 : span; }

}  // namespace

std::optional<Id128> parse_trace_id(std::string_view text) {
  Id128 id;
  if (text.size() != 2 * id.bytes.size()) {
    return std::nullopt;
  }
  for (size_t n = 0; n < id.bytes.size(); ++n) {
    const auto byte = byte_at(text, 2 * n);
    if (!byte) {
      return std::nullopt;
    }
    id.bytes[n] = *byte;
  }
  return id.is_none() ? std::nullopt : std::optional(id);
}

std::optional<TraceParent> parse_traceparent(std::string_view text) {
  if (text.size() < traceparent_size || text[2] != '-' || text[35] != '-' || text[52] != '-') {
    return std::nullopt;
  }
  const auto version = byte_at(text, 0);
  const auto flags = byte_at(text, 53);
  const auto trace_id = parse_trace_id(text.substr(3, 32));
  constexpr uint8_t version_none = 0xff;
  if (!version || *version == version_none || !flags || !trace_id) {
    return std::nullopt;
  }
  if (text.size() > traceparent_size && (*version == 0 || text[traceparent_size] != '-')) {
    return std::nullopt;  // a later version may say more, after one more dash
  }
  uint64_t span = 0;
  for (size_t at = 36; at < 52; at += 2) {
    const auto byte = byte_at(text, at);
    if (!byte) {
      return std::nullopt;
    }
    span = span << 8 | *byte;
  }
  if (span == 0) {
    return std::nullopt;
  }
  return TraceParent{*trace_id, span, (*flags & 1) != 0};
}

std::string format_traceparent(const TraceParent& parent) {
  std::string text(traceparent_size, '-');
  char* const after_id = put_id(parent.trace_id, text.data() + 3);
  char* const after_span = put_span(parent.span_id, after_id + 1);
  text[0] = text[1] = after_span[1] = '0';
  after_span[2] = parent.sampled ? '1' : '0';
  return text;
}

std::string format_trace_id(const Id128& id) {
  std::string text(2 * id.bytes.size(), '0');
  put_id(id, text.data());
  return text;
}

std::string format_span_id(uint64_t span) {
  std::string text(2 * sizeof span, '0');
  put_span(span, text.data());
  return text;
}

bool is_tracestate(std::string_view text) {
  return !text.empty() && text.size() <= tracestate_bytes_max &&
         std::ranges::all_of(text, [](char c) { return c >= ' ' && c <= '~'; });
}

uint64_t message_span(const MessageId& id, std::string_view sender) {
  return never_zero(hash64(sender, mix64(id.high(), id.low())));
}

uint64_t part_span(uint64_t message, std::string_view receiver, std::string_view what) {
  return never_zero(hash64(what, hash64(receiver, message)));
}

}  // namespace parley::base
