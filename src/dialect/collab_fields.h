// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "core/envelope.h"
#include "dialect/words.h"

namespace parley::dialect::collab {

// The members that collab knows, in the order in which they are written. Private to the codec.

enum class Field : uint8_t {
  id,
  version,
  from,
  to,
  reply_to,
  type,
  priority,
  timestamp,
  expires_at,
  action,
  payload,
  session_id,
  correlation_id,
  causation_id,
  traceparent,
  tracestate,
  foreign,
};
constexpr size_t field_count = 17;

struct FieldInfo {
  Field field;
  std::string_view pointer;
  std::string_view quoted;                           // the name as it is written
  std::string_view name = pointer.substr(1);
};

constexpr std::array<FieldInfo, field_count> fields = {{
    {Field::id, "/id", R"("id")"},
    {Field::version, "/version", R"("version")"},
    {Field::from, "/from", R"("from")"},
    {Field::to, "/to", R"("to")"},
    {Field::reply_to, "/replyTo", R"("replyTo")"},
    {Field::type, "/type", R"("type")"},
    {Field::priority, "/priority", R"("priority")"},
    {Field::timestamp, "/timestamp", R"("timestamp")"},
    {Field::expires_at, "/expiresAt", R"("expiresAt")"},
    {Field::action, "/action", R"("action")"},
    {Field::payload, "/payload", R"("payload")"},
    {Field::session_id, "/sessionId", R"("sessionId")"},
    {Field::correlation_id, "/correlationId", R"("correlationId")"},
    {Field::causation_id, "/causationId", R"("causationId")"},
    {Field::traceparent, "/traceparent", R"("traceparent")"},
    {Field::tracestate, "/tracestate", R"("tracestate")"},
    {Field::foreign, "/foreign", R"("foreign")"},
}};

constexpr const FieldInfo& info(Field field) { return fields[static_cast<size_t>(field)]; }

constexpr std::array<Word<core::Kind>, 4> types = {{{"command", core::Kind::request},
                                                    {"query", core::Kind::query},
                                                    {"event", core::Kind::notification},
                                                    {"response", core::Kind::response}}};

constexpr std::string_view version = "1.0";

}  // namespace parley::dialect::collab
