// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

// The names in the tree of files (docs/files.md). Pure: no name that someone else chose is a path
// until it went through here.
namespace parley::edge::files {

inline constexpr std::string_view human_directory = "human";
inline constexpr std::string_view broadcast_directory = "broadcast";
constexpr size_t directory_bytes_max = 160;
constexpr size_t file_bytes_max = 200;

// The directory of a squad agent: its name without `agent:main:` and with `:` as `-`. Other owners
// stand in front, with a dot: `alice.main`. Two agents never have the same one, and none has a
// directory of the tree's own: bytes that are not harmless in a name of a file are `%XX`, and what
// is too long is cut and has a hash behind it.
std::string directory_of(std::string_view agent);

// Whether it is a subagent: what it worked in goes some time after its end.
bool is_subagent(std::string_view agent);

// Whether a reader takes it for a message: `{id}.json`, of harmless characters, not hidden, not too
// long, and no error file.
bool is_message_name(std::string_view name);

// What the file of a message is called: `{id}.json`, with what is not harmless in the id as in
// directories. With a number, for a second message of that id: `{id}~17.json`.
std::string message_name(std::string_view id);
std::string message_name(std::string_view id, uint64_t number);

// The id in the name of a message's file, as it stands there.
std::string_view id_in(std::string_view name);

}  // namespace parley::edge::files
