// SPDX-License-Identifier: Apache-2.0
// The content of each type of message, as schemas/inbox/*.schema.json say it.
#include "dialect/content.h"
#include "dialect/inbox/fields.h"
#include "dialect/inbox/inbox.h"

namespace parley::dialect::inbox {

namespace {

using lib::Json;
using lib::JsonKind;

constexpr std::array<Word<bool>, 3> troubles = {
    {{"blocked", true}, {"failed", true}, {"timeout", true}}};

bool is_text(Json value) { return value.as_string().has_value(); }

template <class T, size_t n>
bool is_word(Json value, const std::array<Word<T>, n>& words) {
  return find_word(words, value.as_string().value_or("")) != nullptr;
}

namespace shape {

constexpr Shape name = {"a string of 1 to 256 bytes", [](Json value) {
                          const auto text = value.as_string();
                          return text && !text->empty() && text->size() <= inbox_text_bytes_max;
                        }};
constexpr Shape text = {"a string that is not empty",
                        [](Json value) { return !value.as_string().value_or("").empty(); }};
constexpr Shape any_text = {"a string", is_text};
constexpr Shape texts = {"an array of strings", [](Json value) {
                           bool all = value.kind() == JsonKind::array;
                           for (const Json element : value.elements()) {
                             all = all && is_text(element);
                           }
                           return all;
                         }};
constexpr Shape object = {"an object", [](Json value) { return value.is_object(); }};
constexpr Shape percent = {"a number from 0 to 100", [](Json value) {
                             const auto number = value.as_double();
                             return number && *number >= 0 && *number <= 100;
                           }};
constexpr Shape count = {"an integer from 0 to 2^63-1",
                         [](Json value) { return value.as_int64().value_or(-1) >= 0; }};
constexpr Shape flag = {"true or false", [](Json value) { return value.as_bool().has_value(); }};
constexpr Shape outcome = {"one of complete, partial, blocked",
                           [](Json value) { return is_word(value, outcomes); }};
constexpr Shape trouble = {"one of blocked, failed, timeout",
                           [](Json value) { return is_word(value, troubles); }};

}  // namespace shape

constexpr uint32_t of(Type type) { return bit_of(static_cast<uint8_t>(type)); }

constexpr auto rows = std::to_array<ContentRow>({
    {of(Type::task), "", "taskId", &shape::name, true},
    {of(Type::task), "", "title", &shape::text, true},
    {of(Type::task), "", "description", &shape::text, true},
    {of(Type::task), "", "acceptanceCriteria", &shape::texts},
    {of(Type::task), "", "context", &shape::object},
    {of(Type::task), "/context", "previousResults", &shape::any_text},
    {of(Type::task), "/context", "constraints", &shape::texts},
    {of(Type::result), "", "taskId", &shape::name, true},
    {of(Type::result), "", "status", &shape::outcome, true},
    {of(Type::result), "", "result", &shape::any_text, true},
    {of(Type::result), "", "artifacts", &shape::texts},
    {of(Type::result), "", "blockers", &shape::texts},
    {of(Type::result), "", "metrics", &shape::object},
    {of(Type::result), "/metrics", "timeSpent", &shape::any_text},
    {of(Type::result), "/metrics", "tokensUsed", &shape::count},
    {of(Type::status), "", "taskId", &shape::name},
    {of(Type::status), "", "progress", &shape::percent},
    {of(Type::status), "", "currentPhase", &shape::any_text},
    {of(Type::status), "", "eta", &shape::any_text},
    {of(Type::status), "", "notes", &shape::any_text},
    {of(Type::error), "", "taskId", &shape::name},
    {of(Type::error), "", "errorType", &shape::trouble, true},
    {of(Type::error), "", "description", &shape::text, true},
    {of(Type::error), "", "recoverable", &shape::flag},
    {of(Type::error), "", "suggestedAction", &shape::any_text},
});

}  // namespace

std::expected<Content, Error> read_content(Type type, Json object) {
  if (auto good = check_content(rows, static_cast<uint8_t>(type), object, "/content"); !good) {
    return std::unexpected(good.error());
  }
  const auto text = [&](std::string_view key) {
    const Json value = object.find(key);
    return value ? value.as_string().value_or("") : std::string_view{};
  };
  Content content;
  content.task = text("taskId");
  switch (type) {
    case Type::task:
      content.summary = text("title");
      break;
    case Type::result:
      content.summary = text("result");
      content.status = find_word(outcomes, text("status"))->value;
      break;
    case Type::status:
      content.summary = text("notes").empty() ? text("currentPhase") : text("notes");
      break;
    case Type::error:
      content.summary = text("description");
      content.status = core::Status::error;
      break;
  }
  return content;
}

}  // namespace parley::dialect::inbox

namespace parley::dialect {

uint64_t inbox_tokens(lib::Json message) {
  if (message.find("type").as_string() != word_for(inbox::types, inbox::Type::result)) {
    return 0;
  }
  lib::JsonDocument document;
  lib::Json content = message.find("content");
  if (const auto text = content.as_string()) {
    content = document.parse(*text).value_or(lib::Json());
  }
  return content.find("metrics").find("tokensUsed").as_uint64().value_or(0);
}

}  // namespace parley::dialect
