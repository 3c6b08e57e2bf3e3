// SPDX-License-Identifier: Apache-2.0
#include "edge/secrets/redact.h"

#include <algorithm>
#include <array>

#include "base/text.h"

namespace parley::edge {

namespace {

constexpr std::string_view stars = "***";

using base::to_lower;

bool is_word(char c) {
  return (to_lower(c) >= 'a' && to_lower(c) <= 'z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-' || c == '.';
}

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

// `_`, `-` and case do not count, so that api_key, api-key and apiKey are the same word.
bool names_a_secret(std::string_view key) {
  constexpr std::array<std::string_view, 9> words = {"password", "passwd",     "secret",
                                                     "token",    "apikey",     "authorization",
                                                     "bearer",   "privatekey", "credential"};
  std::string plain;
  for (const char c : key) {
    if (c != '_' && c != '-') {
      plain.push_back(to_lower(c));
    }
  }
  return std::ranges::any_of(
      words, [&plain](std::string_view word) { return plain.find(word) != std::string::npos; });
}

// The beginnings of well-known kinds of tokens: ours, of OpenAI, GitHub, Slack and AWS, and JWTs.
bool begins_a_secret(std::string_view text) {
  constexpr std::array<std::string_view, 9> starts = {
      "prl_", "sk-", "ghp_", "gho_", "ghs_", "github_pat_", "xoxb-", "AKIA", "eyJ"};
  return std::ranges::any_of(starts,
                             [text](std::string_view start) { return text.starts_with(start); });
}

// The place behind the string that begins at `at` with a quote, or the end of the text.
size_t string_end(std::string_view text, size_t at) {
  for (++at; at < text.size(); ++at) {
    if (text[at] == '\\') {
      ++at;
    } else if (text[at] == '"') {
      return at + 1;
    }
  }
  return text.size();
}

// The place behind the value that begins at `at`. Text that was cut off ends the value.
size_t value_end(std::string_view text, size_t at) {
  size_t depth = 0;
  while (at < text.size()) {
    const char c = text[at];
    if (c == '"') {
      at = string_end(text, at);
    } else if (c == '{' || c == '[') {
      ++depth;
      ++at;
    } else if (c == '}' || c == ']') {
      if (depth == 0) {
        return at;
      }
      --depth;
      ++at;
    } else if (c == ',' && depth == 0) {
      return at;
    } else {
      ++at;
      continue;
    }
    if (depth == 0) {
      return at;
    }
  }
  return text.size();
}

// Appends the text of a string, with stars in place of the words that are secrets.
void append_words(std::string_view text, std::string& out) {
  for (size_t at = 0; at < text.size();) {
    if (!is_word(text[at])) {
      out.push_back(text[at++]);
      continue;
    }
    size_t end = at;
    while (end < text.size() && is_word(text[end])) {
      ++end;
    }
    const std::string_view word = text.substr(at, end - at);
    out.append(word.size() >= 12 && begins_a_secret(word) ? stars : word);
    at = end;
  }
}

}  // namespace

std::string redacted(std::string_view json, size_t bytes_max) {
  std::string out;
  out.reserve(std::min(json.size(), bytes_max));
  for (size_t at = 0; at < json.size() && out.size() < bytes_max;) {
    if (json[at] != '"') {
      out.push_back(json[at++]);
      continue;
    }
    const size_t end = string_end(json, at);
    const std::string_view text = json.substr(at, end - at);
    append_words(text, out);
    at = end;
    size_t colon = at;
    while (colon < json.size() && is_space(json[colon])) {
      ++colon;
    }
    if (colon == json.size() || json[colon] != ':' || !names_a_secret(text)) {
      continue;
    }
    size_t value = colon + 1;
    while (value < json.size() && is_space(json[value])) {
      ++value;
    }
    out.append(json.substr(at, value - at)).append("\"").append(stars).append("\"");
    at = value_end(json, value);
  }
  return out;
}

}  // namespace parley::edge
