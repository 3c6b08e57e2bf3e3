// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>

#include "dialect/dialect.h"
#include "lib/json_writer.h"

namespace parley::dialect {

// What the tests of all dialects need: golden inputs, texts in one form, and what an edge would
// give a decoder.

inline std::string read_file(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

// By the name of the file: those that decode, or those that are refused.
inline std::map<std::string, std::string> golden_texts(const std::string& folder, bool errors) {
  std::map<std::string, std::string> texts;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string path = entry.path();
    if (path.ends_with(".error.json") == errors) {
      texts[entry.path().filename()] = read_file(path);
    }
  }
  return texts;
}

inline base::Id128 derive_id(std::string_view scope, std::string_view name) {
  base::Id128 id;
  id.bytes.fill(static_cast<uint8_t>(scope.size() + 1));
  size_t at = 0;
  for (const std::string_view text : {scope, name}) {
    for (const char c : text) {
      id.bytes[at % 15] = static_cast<uint8_t>(id.bytes[at % 15] * 31 + static_cast<uint8_t>(c));
      ++at;
    }
  }
  return id;
}

// Knows any message: as one of `coordinator`, unless its id begins with `unknown` or `several`.
class AnyMessage final : public Lookup {
 public:
  std::expected<base::MessageId, Error> find_received(
      std::string_view id, std::span<const std::string_view>) const override {
    if (id.starts_with("unknown")) {
      return std::unexpected(
          Error{base::Code::not_found, "no message that was sent to you has this id", {}});
    }
    if (id.starts_with("several")) {
      return std::unexpected(
          Error{base::Code::conflict, "several messages that were sent to you have this id", {}});
    }
    const auto said = uuid_said(id);
    const auto uuid = said ? said : base::parse_uuid(id);
    return uuid ? *uuid : message_id_of(derive_id, "coordinator", id);
  }

  std::optional<base::MessageId> find_task(std::string_view task,
                                           std::span<const std::string_view>,
                                           std::string_view) const override {
    return task.starts_with("unknown")
               ? std::nullopt
               : std::optional(message_id_of(derive_id, "coordinator", task));
  }
};

// The value in one form: no spaces, members sorted, strings unescaped and escaped again. Numbers
// stay as they are written.
inline std::string normal_form(lib::Json value) {
  std::string out;
  lib::JsonWriter writer(out);
  switch (value.kind()) {
    case lib::JsonKind::object: {
      std::map<std::string, std::string> members;
      for (const auto& [key, member] : value.members()) {
        members[std::string(key)] += normal_form(member);
      }
      writer.object();
      for (const auto& [key, member] : members) {
        writer.key(key).raw(member);
      }
      writer.end_object();
      break;
    }
    case lib::JsonKind::array:
      writer.array();
      for (const lib::Json element : value.elements()) {
        writer.raw(normal_form(element));
      }
      writer.end_array();
      break;
    case lib::JsonKind::string:
      writer.text(*value.as_string());
      break;
    case lib::JsonKind::none:
    case lib::JsonKind::null:
    case lib::JsonKind::boolean:
    case lib::JsonKind::number:
      out = value.raw();
      break;
  }
  return out;
}

inline std::string normal_form(const std::string& text) {
  lib::JsonDocument document;
  const auto value = document.parse(text);
  return value ? normal_form(*value) : "not JSON: " + value.error().detail;
}

// A golden refusal: {"message", "expect": {"code", "field", "detail"}}, the last of which may be
// missing and is a part of what is said.
template <class Decode>
void expect_golden_error(const std::string& text, const Decode& decode,
                         const DecodeContext& context) {
  lib::JsonDocument document;
  Texts made;
  const auto golden_case = document.parse(text);
  ASSERT_TRUE(golden_case);
  const lib::Json expect = golden_case->find("expect");
  const auto envelope = decode(golden_case->find("message"), context, made);
  ASSERT_FALSE(envelope);
  EXPECT_EQ(base::info(envelope.error().code).name, *expect.find("code").as_string());
  EXPECT_EQ(envelope.error().field, *expect.find("field").as_string()) << envelope.error().detail;
  if (const lib::Json detail = expect.find("detail")) {
    EXPECT_NE(envelope.error().detail.find(*detail.as_string()), std::string::npos)
        << envelope.error().detail;
  }
}

}  // namespace parley::dialect
