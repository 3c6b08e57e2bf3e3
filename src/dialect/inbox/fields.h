// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <expected>
#include <optional>
#include <string_view>

#include "core/model/envelope.h"
#include "dialect/members.h"
#include "dialect/words.h"

namespace parley::dialect::inbox {

// The members that inbox knows, and the content of each type. Private to the codec.

struct Field {
  enum Name : FieldId {
    id,
    from,
    to,
    content,
    type,
    thread_id,
    priority,
    created_at,
    idempotency_key,
    traceparent,
    tracestate,
    foreign,
    count,
  };
};

constexpr std::array<FieldInfo, Field::count> fields = {{
    {"/id", R"("id")"},
    {"/from", R"("from")"},
    {"/to", R"("to")"},
    {"/content", R"("content")"},
    {"/type", R"("type")"},
    {"/threadId", R"("threadId")"},
    {"/priority", R"("priority")"},
    {"/createdAt", R"("createdAt")"},
    {"/idempotencyKey", R"("idempotencyKey")"},
    {"/traceparent", R"("traceparent")"},
    {"/tracestate", R"("tracestate")"},
    {"/foreign", R"("foreign")"},
}};
constexpr std::array<MemberTable::Part, 1> parts = {{{"", 0, Field::count}}};
constexpr MemberTable members = {fields, parts};

enum class Type : uint8_t { task, result, status, error };
constexpr std::array<Word<Type>, 4> types = {{{"task", Type::task},
                                              {"result", Type::result},
                                              {"status", Type::status},
                                              {"error", Type::error}}};
constexpr bool needs_json(Type type) { return type == Type::task || type == Type::result; }

// There is nothing beyond high: what is critical elsewhere is high here.
constexpr std::array<Word<core::Priority>, 3> levels = {{{"high", core::Priority::high},
                                                         {"normal", core::Priority::normal},
                                                         {"low", core::Priority::low}}};

constexpr std::array<Word<core::Status>, 3> outcomes = {{{"complete", core::Status::success},
                                                         {"partial", core::Status::partial},
                                                         {"blocked", core::Status::declined}}};

// What the broker reads of a content.
struct Content {
  std::string_view task;
  std::string_view summary;                   // the text that says most
  core::Status status = core::Status::unset;  // of a result
};

// Checks the content of a message of this type against its schema. An error names the member.
std::expected<Content, Error> read_content(Type type, lib::Json object);

}  // namespace parley::dialect::inbox
