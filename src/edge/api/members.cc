// SPDX-License-Identifier: Apache-2.0
#include "edge/api/members.h"

#include <algorithm>

#include "base/nearest.h"
#include "base/text.h"

namespace parley::edge {

using base::Code;
using base::Duration;
using base::Error;
using lib::Json;

Json Members::given(std::string_view key) const {
  const Json value = object_.find(key);
  return value.is_null() ? Json() : value;
}

void Members::blame(std::string_view key, std::string detail) {
  blame(Error{Code::bad_request, std::move(detail), std::string(place_) + std::string(key)});
}

void Members::blame(const Error& error) {
  if (!error_) {
    error_ = error;
  }
}

std::string_view Members::text(std::string_view key, std::string_view fallback) {
  const Json value = given(key);
  const auto text = value.as_string();
  if (value && !text) {
    blame(key, std::string(key) + " must be a string");
  }
  return text.value_or(fallback);
}

std::string_view Members::needed_text(std::string_view key, std::string_view wanted) {
  const auto text = object_.find(key).as_string();
  if (!text || text->empty()) {
    blame(key, std::string(wanted));
  }
  return text.value_or("");
}

std::string_view Members::said(std::string_view key, std::string_view before) {
  return text(key, object_.find(key).is_null() ? std::string_view{} : before);
}

std::vector<std::string_view> Members::texts(std::string_view key) {
  std::vector<std::string_view> texts;
  const Json value = given(key);
  bool good = !value || value.kind() == lib::JsonKind::array;
  for (const Json element : value.elements()) {
    const auto text = element.as_string();
    good = good && text;
    texts.push_back(text.value_or(""));
  }
  if (!good) {
    blame(key, std::string(key) + " must be an array of strings");
  }
  return texts;
}

bool Members::flag(std::string_view key, bool fallback) {
  const Json value = given(key);
  if (value && !value.as_bool()) {
    blame(key, std::string(key) + " must be true or false");
  }
  return value.as_bool().value_or(fallback);
}

std::optional<uint64_t> Members::number(std::string_view key, std::string_view wanted) {
  const Json value = object_.find(key);
  if (value && !value.as_uint64()) {
    blame(key, std::string(wanted));
  }
  return value.as_uint64();
}

Duration Members::duration(std::string_view key) {
  const Json value = given(key);
  const auto duration = base::parse_duration(value.as_string().value_or(""));
  if (value && !duration) {
    blame(key, std::string(key) + " must be a duration such as 500ms, 30s, 5m or 1h");
  }
  return duration.value_or(Duration{});
}

uint64_t Members::tokens(std::string_view key) {
  const Json value = given(key);
  if (value && !value.as_uint64()) {
    blame(key, std::string(key) + " is a whole number: what was used since the last report");
  }
  return value.as_uint64().value_or(0);
}

std::string in_words(std::span<const std::string_view> words) {
  std::string text;
  for (size_t n = 0; n < words.size(); ++n) {
    text.append(n == 0 ? "" : n + 1 == words.size() ? " or " : ", ").append(words[n]);
  }
  return text;
}

std::optional<Error> unknown_member(Json object, std::span<const std::string_view> known) {
  for (const lib::JsonMember& member : object.members()) {
    if (std::ranges::find(known, member.key) == known.end()) {
      const std::string name(base::cut(member.key, 64));
      return Error{Code::bad_request,
                   "there is no member \"" + name + "\" here; " +
                       (known.empty()
                            ? "this path takes no body"
                            : "the nearest is \"" + std::string(base::nearest(name, known)) + "\""),
                   "/" + name};
    }
  }
  return std::nullopt;
}

}  // namespace parley::edge
