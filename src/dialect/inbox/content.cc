// SPDX-License-Identifier: Apache-2.0
// The content of each type of message, as schemas/inbox/*.schema.json say it.
#include <bitset>

#include "dialect/inbox/fields.h"
#include "dialect/inbox/inbox.h"
#include "dialect/reading.h"

namespace parley::dialect::inbox {

namespace {

using base::Code;
using lib::Json;
using lib::JsonKind;

enum class Shape : uint8_t {
  name,
  text,
  any_text,
  texts,
  object,
  percent,
  count,
  flag,
  outcome,
  trouble
};

struct Row {
  Type type;
  std::string_view within;  // the object in the content that it is a member of; empty: the content
  std::string_view key;
  Shape shape;
  bool required = false;
};

constexpr auto rows = std::to_array<Row>({
    {Type::task, "", "taskId", Shape::name, true},
    {Type::task, "", "title", Shape::text, true},
    {Type::task, "", "description", Shape::text, true},
    {Type::task, "", "acceptanceCriteria", Shape::texts},
    {Type::task, "", "context", Shape::object},
    {Type::task, "context", "previousResults", Shape::any_text},
    {Type::task, "context", "constraints", Shape::texts},
    {Type::result, "", "taskId", Shape::name, true},
    {Type::result, "", "status", Shape::outcome, true},
    {Type::result, "", "result", Shape::any_text, true},
    {Type::result, "", "artifacts", Shape::texts},
    {Type::result, "", "blockers", Shape::texts},
    {Type::result, "", "metrics", Shape::object},
    {Type::result, "metrics", "timeSpent", Shape::any_text},
    {Type::result, "metrics", "tokensUsed", Shape::count},
    {Type::status, "", "taskId", Shape::name},
    {Type::status, "", "progress", Shape::percent},
    {Type::status, "", "currentPhase", Shape::any_text},
    {Type::status, "", "eta", Shape::any_text},
    {Type::status, "", "notes", Shape::any_text},
    {Type::error, "", "taskId", Shape::name},
    {Type::error, "", "errorType", Shape::trouble, true},
    {Type::error, "", "description", Shape::text, true},
    {Type::error, "", "recoverable", Shape::flag},
    {Type::error, "", "suggestedAction", Shape::any_text},
});

constexpr std::array<Word<bool>, 3> troubles = {
    {{"blocked", true}, {"failed", true}, {"timeout", true}}};

std::string wanted(Shape shape) {
  switch (shape) {
    case Shape::name:
      return "a string of 1 to 256 bytes";
    case Shape::text:
      return "a string that is not empty";
    case Shape::any_text:
      return "a string";
    case Shape::texts:
      return "an array of strings";
    case Shape::object:
      return "an object";
    case Shape::percent:
      return "a number from 0 to 100";
    case Shape::count:
      return "an integer from 0 to 2^63-1";
    case Shape::flag:
      return "true or false";
    case Shape::outcome:
      return one_of(outcomes);
    case Shape::trouble:
      return one_of(troubles);
  }
  return "";
}

bool fits(Shape shape, Json value) {
  const auto text = value.as_string();
  switch (shape) {
    case Shape::name:
      return text && !text->empty() && text->size() <= inbox_text_bytes_max;
    case Shape::text:
      return text && !text->empty();
    case Shape::any_text:
      return text.has_value();
    case Shape::texts: {
      bool all = value.kind() == JsonKind::array;
      for (const Json element : value.elements()) {
        all = all && element.as_string();
      }
      return all;
    }
    case Shape::object:
      return value.is_object();
    case Shape::percent: {
      const auto number = value.as_double();
      return number && *number >= 0 && *number <= 100;
    }
    case Shape::count: {
      const auto number = value.as_int64();
      return number && *number >= 0;
    }
    case Shape::flag:
      return value.as_bool().has_value();
    case Shape::outcome:
      return text && find_word(outcomes, *text) != nullptr;
    case Shape::trouble:
      return text && find_word(troubles, *text) != nullptr;
  }
  return false;
}

std::string pointer_of(const Row& row) {
  std::string pointer = "/content/";
  pointer.append(row.within).append(row.within.empty() ? "" : "/").append(row.key);
  return pointer;
}

std::unexpected<Error> wrong(const Row& row, Json found) {
  std::string detail = std::string(row.key) + ": wanted " + wanted(row.shape) + ", found ";
  detail.append(found ? describe(found) : "nothing");
  if (row.required) {
    detail.append("; it is required");
  }
  return std::unexpected(Error{Code::validation_failed, std::move(detail), pointer_of(row)});
}

// The members of one object: the content, or one in it.
std::expected<void, Error> check(Type type, std::string_view within, Json object) {
  std::bitset<rows.size()> seen;
  for (const lib::JsonMember& member : object.members()) {
    for (size_t n = 0; n < rows.size(); ++n) {
      const Row& row = rows[n];
      if (row.type != type || row.within != within || row.key != member.key) {
        continue;
      }
      if (seen.test(n)) {
        return std::unexpected(Error{
            Code::validation_failed,
            std::string(row.key) + ": the member is there twice; leave one out", pointer_of(row)});
      }
      seen.set(n);
      if (member.value.is_null() && !row.required) {
        continue;
      }
      if (!fits(row.shape, member.value)) {
        return wrong(row, member.value);
      }
      if (row.shape == Shape::object) {
        if (auto good = check(type, row.key, member.value); !good) {
          return good;
        }
      }
    }
  }
  for (size_t n = 0; n < rows.size(); ++n) {
    const Row& row = rows[n];
    if (row.type == type && row.within == within && row.required && !seen.test(n)) {
      return wrong(row, {});
    }
  }
  return {};
}

}  // namespace

std::expected<Content, Error> read_content(Type type, Json object) {
  if (auto good = check(type, "", object); !good) {
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
