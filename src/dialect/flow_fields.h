// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "core/envelope.h"
#include "dialect/words.h"

namespace parley::dialect::flow {

// The members that flow knows, in the order in which they are written. Private to the codec.

enum class Part : uint8_t { message, payload, metadata };

constexpr std::string_view pointer_to(Part part) {
  constexpr std::array<std::string_view, 3> pointers = {"", "/payload", "/metadata"};
  return pointers[static_cast<size_t>(part)];
}

enum class Field : uint8_t {
  id,
  conversation_id,
  type,
  priority,
  sender,
  receiver,
  status,
  response_timeout,
  on_timeout,
  idempotency_key,
  outer_requires_ack,
  outer_in_reply_to,
  payload,
  metadata,
  traceparent,
  tracestate,
  content_type,
  body,
  timestamp,
  ttl,
  requires_ack,
  in_reply_to,
  sequence_number,
  correlation_id,
};
constexpr size_t field_count = 24;

struct FieldInfo {
  Field field;
  Part part;
  std::string_view pointer;
  std::string_view quoted;  // the name as it is written
  std::string_view name = quoted.substr(1, quoted.size() - 2);
};

constexpr std::array<FieldInfo, field_count> fields = {{
    {Field::id, Part::message, "/id", R"("id")"},
    {Field::conversation_id, Part::message, "/conversation_id", R"("conversation_id")"},
    {Field::type, Part::message, "/type", R"("type")"},
    {Field::priority, Part::message, "/priority", R"("priority")"},
    {Field::sender, Part::message, "/sender", R"("sender")"},
    {Field::receiver, Part::message, "/receiver", R"("receiver")"},
    {Field::status, Part::message, "/status", R"("status")"},
    {Field::response_timeout, Part::message, "/response_timeout", R"("response_timeout")"},
    {Field::on_timeout, Part::message, "/on_timeout", R"("on_timeout")"},
    {Field::idempotency_key, Part::message, "/idempotency_key", R"("idempotency_key")"},
    {Field::outer_requires_ack, Part::message, "/requires_ack", R"("requires_ack")"},
    {Field::outer_in_reply_to, Part::message, "/in_reply_to", R"("in_reply_to")"},
    {Field::payload, Part::message, "/payload", R"("payload")"},
    {Field::metadata, Part::message, "/metadata", R"("metadata")"},
    {Field::traceparent, Part::message, "/traceparent", R"("traceparent")"},
    {Field::tracestate, Part::message, "/tracestate", R"("tracestate")"},
    {Field::content_type, Part::payload, "/payload/content_type", R"("content_type")"},
    {Field::body, Part::payload, "/payload/body", R"("body")"},
    {Field::timestamp, Part::metadata, "/metadata/timestamp", R"("timestamp")"},
    {Field::ttl, Part::metadata, "/metadata/ttl", R"("ttl")"},
    {Field::requires_ack, Part::metadata, "/metadata/requires_ack", R"("requires_ack")"},
    {Field::in_reply_to, Part::metadata, "/metadata/in_reply_to", R"("in_reply_to")"},
    {Field::sequence_number, Part::metadata, "/metadata/sequence_number", R"("sequence_number")"},
    {Field::correlation_id, Part::metadata, "/metadata/correlation_id", R"("correlation_id")"},
}};

constexpr std::span<const FieldInfo> fields_of(Part part) {
  constexpr size_t payload = static_cast<size_t>(Field::content_type);
  constexpr size_t metadata = static_cast<size_t>(Field::timestamp);
  const std::span<const FieldInfo> all = fields;
  switch (part) {
    case Part::message:
      return all.first(payload);
    case Part::payload:
      return all.subspan(payload, metadata - payload);
    case Part::metadata:
      return all.subspan(metadata);
  }
  return {};
}

constexpr const FieldInfo& info(Field field) { return fields[static_cast<size_t>(field)]; }

constexpr std::array<Word<core::Kind>, 5> types = {{{"request", core::Kind::request},
                                                    {"response", core::Kind::response},
                                                    {"notification", core::Kind::notification},
                                                    {"broadcast", core::Kind::broadcast},
                                                    {"query", core::Kind::query}}};
constexpr std::array<Word<core::Priority>, 4> priorities = {{{"critical", core::Priority::critical},
                                                             {"high", core::Priority::high},
                                                             {"normal", core::Priority::normal},
                                                             {"low", core::Priority::low}}};
constexpr std::string_view everyone_in_words = "broadcast";

}  // namespace parley::dialect::flow
