// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace parley::edge::files {

// Whose files are whose word: the files of the user `uid` may be messages of `name`, which is an
// agent, or with a `*` at its end all agents that begin so. A human has to be named in full: nobody
// gets the word of people by a pattern.
struct FileSender {
  uint32_t uid = 0;
  std::string name;

  bool operator==(const FileSender&) const = default;
};

// `UID=NAME`; none for anything else.
std::optional<FileSender> parse_file_sender(std::string_view text);

// Whether a file of this user may be a message of that name. A user of whom `senders` say nothing
// may send as nobody; but the broker's own user, `own`, may send as any agent.
bool may_send(std::span<const FileSender> senders, uint32_t own, uint32_t uid,
              std::string_view name);

// Whether the pattern, which may end with `*`, covers the name.
bool covers(std::string_view pattern, std::string_view name);

}  // namespace parley::edge::files
