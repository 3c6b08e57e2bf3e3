// SPDX-License-Identifier: Apache-2.0
#include "edge/files/names.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

#include "base/text.h"
#include "lib/crypto.h"

namespace parley::edge::files {

namespace {

constexpr std::string_view suffix = ".json";
constexpr std::string_view error_suffix = ".error.json";
constexpr std::string_view agent_prefix = "agent:";
constexpr std::string_view own_owner = "main";
constexpr size_t hash_digits = 16;
constexpr size_t number_digits_max = 20;

bool is_letter_or_digit(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

bool is_harmless(char c) { return is_letter_or_digit(c) || c == '-' || c == '_' || c == '.'; }

// `dots`: whether a dot stays, but for one in front.
std::string escaped(std::string_view text, bool dots) {
  constexpr std::string_view digits = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    if (is_harmless(c) && (c != '.' || (dots && !out.empty()))) {
      out += c;
      continue;
    }
    const auto byte = static_cast<uint8_t>(c);
    out += '%';
    out += digits[byte >> 4];
    out += digits[byte & 0xf];
  }
  return out;
}

// What is too long ends with `%h` and a hash of the whole. `h` is no hexadecimal digit, so that no
// escaped text looks like it.
std::string cut_to(std::string name, std::string_view whole, size_t bytes_max) {
  if (name.size() <= bytes_max) {
    return name;
  }
  const auto hash = lib::sha256(whole);
  name.resize(bytes_max - hash_digits - 2);
  return name + "%h" + base::hex(std::span(hash).first(hash_digits / 2));
}

}  // namespace

std::string directory_of(std::string_view agent) {
  const std::string_view rest =
      agent.starts_with(agent_prefix) ? agent.substr(agent_prefix.size()) : std::string_view{};
  const size_t colon = rest.find(':');
  if (colon == rest.npos) {
    // No name of squad. `%n` stands in front of no other directory.
    return cut_to("%n" + escaped(agent, true), agent, directory_bytes_max);
  }
  const std::string_view owner = rest.substr(0, colon);
  const std::string_view role = rest.substr(colon + 1, rest.find(':', colon + 1) - colon - 1);
  // Owners and roles have no dot here, so that the first dot ends an owner. A role has no dash
  // either, so that the first dash ends it, nor does it look like a directory of the tree's own.
  std::string name = owner == own_owner ? "" : escaped(owner, false) + ".";
  std::string role_text = escaped(role, false);
  const bool is_taken = role == human_directory || role == broadcast_directory || role.empty() ||
                        role.find('-') != role.npos;
  if (is_taken) {
    return cut_to("%r" + escaped(agent, true), agent, directory_bytes_max);
  }
  name += role_text;
  const size_t instance = colon + 1 + role.size();
  if (instance < rest.size()) {
    // A dot is harmless behind the dash, and `agent:main:council:` is another agent than
    // `agent:main:council`.
    name += "-" + escaped(rest.substr(instance + 1), true);
  }
  return cut_to(std::move(name), agent, directory_bytes_max);
}

bool is_subagent(std::string_view agent) {
  const size_t owner = agent.starts_with(agent_prefix) ? agent_prefix.size() : agent.size();
  const size_t role = agent.find(':', owner);
  return role != agent.npos && agent.substr(role).starts_with(":subagent:");
}

bool is_message_name(std::string_view name) {
  return name.size() > suffix.size() && name.size() <= file_bytes_max && name.ends_with(suffix) &&
         !name.ends_with(error_suffix) && name[0] != '.' && name[0] != '-' &&
         std::ranges::all_of(name, [](char c) { return is_harmless(c) || c == '%' || c == '~'; });
}

std::string message_name(std::string_view id) {
  // `-` in front would look like an option to a shell.
  std::string name = escaped(id, true);
  if (name.empty() || name[0] == '-') {
    name = "%i" + name;
  }
  // `X.error` would make the name of an error file.
  if (name.ends_with(".error")) {
    name += "%e";
  }
  return cut_to(std::move(name), id, file_bytes_max - suffix.size() - number_digits_max - 1) +
         std::string(suffix);
}

std::string message_name(std::string_view id, uint64_t number) {
  std::string name = message_name(id);
  name.resize(name.size() - suffix.size());
  return name + "~" + std::to_string(number) + std::string(suffix);
}

std::string_view id_in(std::string_view name) {
  name.remove_suffix(name.ends_with(suffix) ? suffix.size() : 0);
  return name.substr(0, name.find('~'));
}

}  // namespace parley::edge::files
