// SPDX-License-Identifier: Apache-2.0
#include "edge/tools/arguments.h"

#include <algorithm>

namespace parley::edge::tools {

using lib::Json;

namespace {

std::string quoted(std::string_view name) { return "`" + std::string(name) + "`"; }

template <class Words>
std::string joined(const Words& words) {
  std::string text;
  for (const std::string_view word : words) {
    text.append(text.empty() ? "" : ", ").append(word);
  }
  return text;
}

}  // namespace

// Null counts as absent: models write it for arguments that they leave out.
Json Arguments::find(std::string_view name) {
  known_.push_back(name);
  const Json value = object_.find(name);
  return value.is_null() ? Json() : value;
}

void Arguments::blame(std::string_view name, std::string_view what) {
  // The first mistake is enough: the others may come of it.
  if (problem_.empty()) {
    problem_ = quoted(name) + " " + std::string(what);
  }
}

std::string Arguments::text(std::string_view name) {
  std::string found = optional_text(name);
  if (found.empty()) {
    blame(name, "is missing");
  }
  return found;
}

std::string Arguments::optional_text(std::string_view name) {
  const Json value = find(name);
  if (!value) {
    return {};
  }
  const auto found = value.as_string();
  if (!found) {
    blame(name, "must be a string");
  }
  return std::string(found.value_or(""));
}

std::string Arguments::word(std::string_view name, std::span<const std::string_view> words) {
  std::string found = optional_text(name);
  if (found.empty()) {
    return std::string(words.front());
  }
  if (std::ranges::find(words, found) == words.end()) {
    blame(name, "must be one of " + joined(words));
  }
  return found;
}

uint64_t Arguments::number(std::string_view name, uint64_t fallback, uint64_t min, uint64_t max) {
  const Json value = find(name);
  if (!value) {
    return fallback;
  }
  const auto found = value.as_uint64();
  if (!found || *found < min || *found > max) {
    blame(name,
          "must be a whole number from " + std::to_string(min) + " to " + std::to_string(max));
    return fallback;
  }
  return *found;
}

std::vector<std::string> Arguments::texts(std::string_view name) {
  std::vector<std::string> found;
  const Json value = find(name);
  if (!value) {
    return found;
  }
  if (value.kind() != lib::JsonKind::array) {
    blame(name, "must be a list of strings");
  }
  for (const Json each : value.elements()) {
    const auto text = each.as_string();
    if (!text) {
      blame(name, "must be a list of strings");
    }
    found.emplace_back(text.value_or(""));
  }
  return found;
}

std::string Arguments::content(std::string_view name) {
  const Json value = find(name);
  if (!value) {
    blame(name, "is missing");
    return {};
  }
  const auto text = value.as_string();
  return std::string(text ? *text : value.raw());
}

std::string Arguments::problem() const {
  if (!problem_.empty() || !object_) {
    return problem_;
  }
  for (const auto member : object_.members()) {
    if (std::ranges::find(known_, member.key) == known_.end()) {
      return "there is no argument " + quoted(member.key) +
             (known_.empty() ? std::string("; this tool takes none")
                             : "; there are " + joined(known_));
    }
  }
  return {};
}

}  // namespace parley::edge::tools
