// SPDX-License-Identifier: Apache-2.0
#include "edge/approvals/proposal.h"

#include <set>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "dialect/reading.h"
#include "lib/json_writer.h"

namespace parley::edge {

using base::Code;
using base::Error;
using lib::Json;

namespace {

constexpr size_t place_bytes_max = 256;
constexpr size_t sent_per_shown_max = 4;  // bytes: space and escapes take some

// Where a value stands: a step from the object or array that it is in. Its text is made for an
// error only, since names are as long as their senders like.
struct Place {
  const Place* in = nullptr;  // null: it stands in the value that is written
  bool is_member = false;
  std::string_view name{};
  size_t index = 0;
};

std::string pointer_of(std::string_view root, const Place* place) {
  std::vector<const Place*> steps;
  for (; place != nullptr; place = place->in) {
    steps.push_back(place);
  }
  std::string pointer(root);
  for (; !steps.empty() && pointer.size() <= place_bytes_max; steps.pop_back()) {
    const Place& step = *steps.back();
    pointer += step.is_member ? dialect::pointer_step(base::cut(step.name, place_bytes_max))
                              : "/" + std::to_string(step.index);
  }
  return std::string(base::cut(pointer, place_bytes_max));
}

std::optional<std::string_view> find_repeated(Json object) {
  std::set<std::string_view> keys;
  for (const auto& [key, value] : object.members()) {
    if (!keys.insert(key).second) {
      return key;
    }
  }
  return std::nullopt;
}

Error repeated(std::string pointer) {
  return {Code::bad_request, "a key stands here twice; each is to be there once",
          std::move(pointer)};
}

Error too_long(size_t bytes_max, std::string_view place) {
  return {Code::payload_too_large,
          "what is to be decided on has at most " + std::to_string(bytes_max) +
              " bytes (approval_bytes_max) as it is shown, and at most " +
              std::to_string(sent_per_shown_max) + " times as many as it is sent",
          std::string(place)};
}

// Writes one value.
class Writer {
 public:
  Writer(std::string& out, std::string_view root, size_t bytes_max)
      : out_(out), begin_(out.size()), root_(root), bytes_max_(bytes_max) {}

  // A document has at most 64 objects and arrays inside each other (JsonLimits).
  std::optional<Error> write(Json value, const Place* place) {
    if (value.is_object()) {
      return write_members(value, place);
    }
    if (value.kind() == lib::JsonKind::array) {
      return write_elements(value, place);
    }
    if (const auto text = value.as_string()) {
      lib::append_visible_json_string(out_, *text);
    } else {
      out_ += value.raw();
    }
    return out_.size() - begin_ > bytes_max_ ? std::optional(too_long(bytes_max_, root_))
                                             : std::nullopt;
  }

 private:
  std::optional<Error> write_members(Json object, const Place* place) {
    if (const auto key = find_repeated(object)) {
      const Place twice{.in = place, .is_member = true, .name = *key};
      return repeated(pointer_of(root_, &twice));
    }
    char before = '{';
    for (const auto& [key, member] : object.members()) {
      out_ += before;
      before = ',';
      lib::append_visible_json_string(out_, key);
      out_ += ':';
      const Place step{.in = place, .is_member = true, .name = key};
      if (auto error = write(member, &step)) {
        return error;
      }
    }
    out_ += before == '{' ? "{}" : "}";
    return std::nullopt;
  }

  std::optional<Error> write_elements(Json array, const Place* place) {
    size_t count = 0;
    out_ += '[';
    for (const Json element : array.elements()) {
      out_ += count == 0 ? "" : ",";
      const Place step{.in = place, .index = count++};
      if (auto error = write(element, &step)) {
        return error;
      }
    }
    out_ += ']';
    return std::nullopt;
  }

  std::string& out_;
  size_t begin_;
  std::string_view root_;
  size_t bytes_max_;
};

}  // namespace

std::optional<Error> repeated_key(Json object, std::string_view place) {
  const auto key = find_repeated(object);
  if (!key) {
    return std::nullopt;
  }
  const Place twice{.is_member = true, .name = *key};
  return repeated(pointer_of(place, &twice));
}

std::optional<Error> append_proposal(std::string& out, Json value, std::string_view place,
                                     size_t bytes_max) {
  if (value.raw().size() / sent_per_shown_max > bytes_max) {
    return too_long(bytes_max, place);
  }
  return Writer(out, place, bytes_max).write(value, nullptr);
}

std::expected<std::string, Error> proposal_text(const Proposal& proposal, size_t bytes_max) {
  std::string text = "{\"action\":";
  if (proposal.action && proposal.action.kind() != lib::JsonKind::null) {
    if (auto error = append_proposal(text, proposal.action, "/action", bytes_max)) {
      return std::unexpected(std::move(*error));
    }
  } else {
    lib::append_visible_json_string(text, proposal.summary);
  }
  if (proposal.rationale.size() > bytes_max) {
    return std::unexpected(too_long(bytes_max, "/rationale"));
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
    if (auto error = append_proposal(text, proposal.request, "", bytes_max)) {
      return std::unexpected(std::move(*error));
    }
  }
  if (text.size() >= bytes_max) {
    return std::unexpected(too_long(bytes_max, ""));
  }
  return text + "}";
}

}  // namespace parley::edge
