// SPDX-License-Identifier: Apache-2.0
#include "app/mcp/event_stream.h"

#include <algorithm>
#include <charconv>
#include <utility>

namespace parley::app {

void EventStream::feed(std::string_view bytes) {
  if (is_broken_) {
    return;
  }
  scanned_ -= std::min(scanned_, at_);
  buffer_.erase(0, std::exchange(at_, 0));
  buffer_ += bytes;
}

// A line ends with LF, or with CR LF. The standard also knows CR alone, which no server sends: one
// could not tell its last line from the first half of a CR LF.
std::optional<EventStream::Event> EventStream::next() {
  while (!is_broken_) {
    const size_t end = buffer_.find('\n', std::max(at_, scanned_));
    scanned_ = end == buffer_.npos ? buffer_.size() : end;
    if (event_.data.size() + (buffer_.size() - at_) > event_bytes_max) {
      is_broken_ =
          event_.data.size() + (end == buffer_.npos ? buffer_.size() : end) - at_ > event_bytes_max;
    }
    if (end == buffer_.npos || is_broken_) {
      return std::nullopt;
    }
    std::string_view line = std::string_view(buffer_).substr(at_, end - at_);
    at_ = end + 1;
    if (line.ends_with('\r')) {
      line.remove_suffix(1);
    }
    if (!line.empty()) {
      take_field(line);
      continue;
    }
    Event whole = std::exchange(event_, {});
    if (!whole.data.empty()) {
      whole.data.pop_back();  // the line end behind the last line of data
      if (!whole.data.empty()) {
        return whole;
      }
    }
  }
  return std::nullopt;
}

void EventStream::take_field(std::string_view line) {
  const size_t colon = line.find(':');
  const std::string_view name = line.substr(0, colon);
  std::string_view value = colon == line.npos ? std::string_view{} : line.substr(colon + 1);
  if (value.starts_with(' ')) {
    value.remove_prefix(1);
  }
  if (name == "data") {
    event_.data.append(value).push_back('\n');
  } else if (name == "event") {
    event_.type = value;
  } else if (name == "id" && value.find('\0') == value.npos) {
    last_id_ = value;
  } else if (name == "retry") {
    uint32_t ms = 0;
    const auto [end, error] = std::from_chars(value.begin(), value.end(), ms);
    if (error == std::errc() && end == value.end()) {
      retry_ms_ = ms;
    }
  }
}

}  // namespace parley::app
