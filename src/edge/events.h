// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

namespace parley::edge {

// Appends the data of a server-sent event and ends the event. The line ends of an event are its
// own: text that has some, as JSON may between its tokens, goes out in as many lines.
inline void append_event_data(std::string& out, std::string_view text) {
  while (true) {
    const size_t end = std::min(text.find_first_of("\r\n"), text.size());
    out.append("data: ").append(text.substr(0, end)).append("\n");
    if (end == text.size()) {
      break;
    }
    text.remove_prefix(text.substr(end).starts_with("\r\n") ? end + 2 : end + 1);
  }
  out += '\n';
}

}  // namespace parley::edge
