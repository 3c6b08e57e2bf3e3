// SPDX-License-Identifier: Apache-2.0
#include "edge/files/senders.h"

#include "base/text.h"

namespace parley::edge::files {

namespace {

constexpr std::string_view human_prefix = "human:";

}  // namespace

std::optional<FileSender> parse_file_sender(std::string_view text) {
  const size_t equals = text.find('=');
  const auto uid = base::parse_number(text.substr(0, equals));
  if (equals == text.npos || !uid || *uid >= UINT32_MAX || equals + 1 == text.size()) {
    return std::nullopt;
  }
  return FileSender{static_cast<uint32_t>(*uid), std::string(text.substr(equals + 1))};
}

bool covers(std::string_view pattern, std::string_view name) {
  return pattern.ends_with('*') ? name.starts_with(pattern.substr(0, pattern.size() - 1))
                                : pattern == name;
}

bool may_send(std::span<const FileSender> senders, uint32_t own, uint32_t uid,
              std::string_view name) {
  const bool is_human = name.starts_with(human_prefix);
  bool is_named = false;
  for (const FileSender& sender : senders) {
    if (sender.uid == uid) {
      is_named = true;
      if (is_human ? sender.name == name : covers(sender.name, name)) {
        return true;
      }
    }
  }
  return !is_named && uid == own && !is_human;
}

}  // namespace parley::edge::files
