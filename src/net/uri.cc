// SPDX-License-Identifier: Apache-2.0
#include "net/uri.h"

#include <algorithm>
#include <cstdint>

#include "net/websocket.h"

namespace parley::net {

namespace {

int hex_value(char c) {
  if (c >= '0' && c <= '9') {
    return c - '0';
  }
  if (c >= 'a' && c <= 'f') {
    return c - 'a' + 10;
  }
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

}  // namespace

std::optional<std::string> percent_decoded(std::string_view text, bool plus_is_space) {
  std::string decoded;
  decoded.reserve(text.size());
  for (size_t n = 0; n < text.size(); ++n) {
    if (text[n] == '+' && plus_is_space) {
      decoded.push_back(' ');
    } else if (text[n] != '%') {
      decoded.push_back(text[n]);
    } else {
      const bool complete = n + 2 < text.size();
      const int high = complete ? hex_value(text[n + 1]) : -1;
      const int low = complete ? hex_value(text[n + 2]) : -1;
      if (high < 0 || low < 0) {
        return std::nullopt;
      }
      decoded.push_back(static_cast<char>(high * 16 + low));
      n += 2;
    }
  }
  Utf8 utf8;
  return utf8.feed(decoded) && utf8.is_complete() ? std::optional(std::move(decoded))
                                                  : std::nullopt;
}

std::string percent_encoded(std::string_view text) {
  constexpr std::string_view digits = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       std::string_view("-._~").find(c) != std::string_view::npos;
    if (plain) {
      out.push_back(c);
    } else {
      const auto byte = static_cast<uint8_t>(c);
      out.append("%").push_back(digits[byte >> 4]);
      out.push_back(digits[byte & 15]);
    }
  }
  return out;
}

std::vector<std::string_view> path_segments(std::string_view path) {
  std::vector<std::string_view> segments;
  size_t at = path.starts_with('/') ? 1 : 0;
  while (at <= path.size()) {
    const size_t slash = std::min(path.find('/', at), path.size());
    segments.push_back(path.substr(at, slash - at));
    at = slash + 1;
  }
  return segments;
}

std::optional<std::string> query_value(std::string_view query, std::string_view name) {
  std::string_view rest = query;
  while (!rest.empty()) {
    const size_t ampersand = std::min(rest.find('&'), rest.size());
    const std::string_view pair = rest.substr(0, ampersand);
    rest.remove_prefix(std::min(ampersand + 1, rest.size()));
    const size_t equals = std::min(pair.find('='), pair.size());
    if (percent_decoded(pair.substr(0, equals), true) == name) {
      return percent_decoded(pair.substr(std::min(equals + 1, pair.size())), true);
    }
  }
  return std::nullopt;
}

}  // namespace parley::net
