// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "core/model/envelope.h"
#include "dialect/members.h"
#include "dialect/words.h"

namespace parley::dialect::collab {

// The members that collab knows. Private to the codec.

struct Field {
  enum Name : FieldId {
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
    count,
  };
};

constexpr std::array<FieldInfo, Field::count> fields = {{
    {"/id", R"("id")"},
    {"/version", R"("version")"},
    {"/from", R"("from")"},
    {"/to", R"("to")"},
    {"/replyTo", R"("replyTo")"},
    {"/type", R"("type")"},
    {"/priority", R"("priority")"},
    {"/timestamp", R"("timestamp")"},
    {"/expiresAt", R"("expiresAt")"},
    {"/action", R"("action")"},
    {"/payload", R"("payload")"},
    {"/sessionId", R"("sessionId")"},
    {"/correlationId", R"("correlationId")"},
    {"/causationId", R"("causationId")"},
    {"/traceparent", R"("traceparent")"},
    {"/tracestate", R"("tracestate")"},
    {"/foreign", R"("foreign")"},
}};
constexpr std::array<MemberTable::Part, 1> parts = {{{"", 0, Field::count}}};
constexpr MemberTable members = {fields, parts};

constexpr std::array<Word<core::Kind>, 4> types = {{{"command", core::Kind::request},
                                                    {"query", core::Kind::query},
                                                    {"event", core::Kind::notification},
                                                    {"response", core::Kind::response}}};

constexpr std::string_view version = "1.0";

}  // namespace parley::dialect::collab
