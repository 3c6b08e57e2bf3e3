// SPDX-License-Identifier: Apache-2.0
#include "sim/roles/notebooks.h"

#include <algorithm>

namespace parley::edge_sim {

namespace {

constexpr size_t marker_bytes_max = 40;

}  // namespace

// Where a connection was lost a marker may end in the middle: the next one begins anew.
std::set<std::string> markers_in(std::string_view bytes) {
  std::set<std::string> found;
  for (size_t at = bytes.find('~'); at != bytes.npos; at = bytes.find('~', at + 1)) {
    const std::string_view rest = bytes.substr(at + 1, marker_bytes_max);
    const size_t end = rest.find('~');
    const auto is_plain = [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == ':';
    };
    if (end != rest.npos && end > 0 && std::ranges::all_of(rest.substr(0, end), is_plain)) {
      found.emplace(bytes.substr(at, end + 2));
    }
  }
  return found;
}

std::map<std::string, std::set<std::string>> markers_seen(const RunState& run) {
  std::map<std::string, std::set<std::string>> all;
  for (const auto& [reader, notebook] : run.notebooks) {
    all[reader] = markers_in(notebook);
  }
  return all;
}

}  // namespace parley::edge_sim
