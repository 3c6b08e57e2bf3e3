// SPDX-License-Identifier: Apache-2.0
#include "edge/proposal.h"

#include <set>
#include <string_view>

#include "dialect/reading.h"
#include "lib/json_writer.h"

namespace parley::edge {

using base::Error;

std::optional<Error> repeated_key(lib::Json object, const std::string& place) {
  std::set<std::string_view> keys;
  for (const auto& [key, value] : object.members()) {
    if (!keys.insert(key).second) {
      return Error{base::Code::bad_request, "a key stands here twice; each is to be there once",
                   place + dialect::pointer_step(key)};
    }
  }
  return std::nullopt;
}

// A document has at most 64 objects and arrays inside each other (JsonLimits).
std::optional<Error> append_proposal(std::string& out, lib::Json value, const std::string& place) {
  if (value.is_object()) {
    if (auto error = repeated_key(value, place)) {
      return error;
    }
    char before = '{';
    for (const auto& [key, member] : value.members()) {
      out += before;
      before = ',';
      lib::append_visible_json_string(out, key);
      out += ':';
      if (auto error = append_proposal(out, member, place + dialect::pointer_step(key))) {
        return error;
      }
    }
    out += before == '{' ? "{}" : "}";
    return std::nullopt;
  }
  if (value.kind() == lib::JsonKind::array) {
    size_t count = 0;
    out += '[';
    for (const lib::Json element : value.elements()) {
      out += count == 0 ? "" : ",";
      if (auto error = append_proposal(out, element, place + "/" + std::to_string(count++))) {
        return error;
      }
    }
    out += ']';
    return std::nullopt;
  }
  if (const auto text = value.as_string()) {
    lib::append_visible_json_string(out, *text);
  } else {
    out += value.raw();
  }
  return std::nullopt;
}

std::expected<std::string, Error> proposal_text(const Proposal& proposal) {
  std::string text = "{\"action\":";
  if (proposal.action && proposal.action.kind() != lib::JsonKind::null) {
    if (auto error = append_proposal(text, proposal.action, "/action")) {
      return std::unexpected(std::move(*error));
    }
  } else {
    lib::append_visible_json_string(text, proposal.summary);
  }
  if (!proposal.rationale.empty()) {
    text += ",\"rationale\":";
    lib::append_visible_json_string(text, proposal.rationale);
  }
  if (proposal.confidence) {
    text.append(",\"confidence\":").append(proposal.confidence.raw());
  }
  if (proposal.request) {
    text += ",\"request\":";
    if (auto error = append_proposal(text, proposal.request, "")) {
      return std::unexpected(std::move(*error));
    }
  }
  return text + "}";
}

}  // namespace parley::edge
