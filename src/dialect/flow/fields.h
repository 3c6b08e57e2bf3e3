// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "core/model/envelope.h"
#include "dialect/members.h"
#include "dialect/words.h"

namespace parley::dialect::flow {

// The members that flow knows. Private to the codec.

enum Part : uint8_t { message, payload, metadata };

struct Field {
  enum Name : FieldId {
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
    count,
  };
};

constexpr std::array<FieldInfo, Field::count> fields = {{
    {"/id", R"("id")"},
    {"/conversation_id", R"("conversation_id")"},
    {"/type", R"("type")"},
    {"/priority", R"("priority")"},
    {"/sender", R"("sender")"},
    {"/receiver", R"("receiver")"},
    {"/status", R"("status")"},
    {"/response_timeout", R"("response_timeout")"},
    {"/on_timeout", R"("on_timeout")"},
    {"/idempotency_key", R"("idempotency_key")"},
    {"/requires_ack", R"("requires_ack")"},
    {"/in_reply_to", R"("in_reply_to")"},
    {"/payload", R"("payload")"},
    {"/metadata", R"("metadata")"},
    {"/traceparent", R"("traceparent")"},
    {"/tracestate", R"("tracestate")"},
    {"/payload/content_type", R"("content_type")"},
    {"/payload/body", R"("body")"},
    {"/metadata/timestamp", R"("timestamp")"},
    {"/metadata/ttl", R"("ttl")"},
    {"/metadata/requires_ack", R"("requires_ack")"},
    {"/metadata/in_reply_to", R"("in_reply_to")"},
    {"/metadata/sequence_number", R"("sequence_number")"},
    {"/metadata/correlation_id", R"("correlation_id")"},
}};
constexpr std::array<MemberTable::Part, 3> parts = {
    {{"", 0, Field::content_type},
     {"/payload", Field::content_type, Field::timestamp},
     {"/metadata", Field::timestamp, Field::count}}};
constexpr MemberTable members = {fields, parts};

constexpr std::array<Word<core::Kind>, 5> types = {{{"request", core::Kind::request},
                                                    {"response", core::Kind::response},
                                                    {"notification", core::Kind::notification},
                                                    {"broadcast", core::Kind::broadcast},
                                                    {"query", core::Kind::query}}};
constexpr std::string_view everyone_in_words = "broadcast";

}  // namespace parley::dialect::flow
