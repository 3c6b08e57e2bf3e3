// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <expected>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "lib/toml.h"

namespace parley::edge::notify {

// How a receiver wants to be told.
enum class Form : uint8_t { json, slack, telegram };

// A place outside that is told when people are wanted: a row of [[notify]].
struct Target {
  std::string url;
  Form form = Form::json;
  std::string secret{};   // of `json`: what is sent is signed with it
  std::string chat_id{};  // of `telegram`
  bool escalations = true;
  bool approvals = true;
  bool only_p0 = false;    // of those, only what is critical
  std::string for_whom{};  // of approvals: only those that this person may decide; empty: all

  bool operator==(const Target&) const = default;
};

// What is wrong, and in which line. Says nothing of URLs and secrets: they may be secret whole.
struct SettingFault {
  int line = 0;
  base::Error error;
};

// Whether the entry belongs to [[notify]].
bool is_of_table(std::string_view name);
// Reads the rows; passes over all other entries.
std::expected<std::vector<Target>, SettingFault> read_targets(
    std::span<const lib::TomlEntry> entries);

}  // namespace parley::edge::notify
