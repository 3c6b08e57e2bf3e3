// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <expected>
#include <optional>
#include <string>
#include <string_view>

#include "core/model/envelope.h"
#include "dialect/members.h"
#include "dialect/words.h"

namespace parley::dialect::squad {

// The members that squad knows, and what a body of each type has. Private to the codec.

struct Field {
  enum Name : FieldId {
    id,
    timestamp,
    from,
    to,
    type,
    priority,
    subject,
    body,
    thread_id,
    reply_to,
    status,
    ttl_hours,
    traceparent,
    tracestate,
    foreign,
    count,
  };
};

constexpr std::array<FieldInfo, Field::count> fields = {{
    {"/id", R"("id")"},
    {"/timestamp", R"("timestamp")"},
    {"/from", R"("from")"},
    {"/to", R"("to")"},
    {"/type", R"("type")"},
    {"/priority", R"("priority")"},
    {"/subject", R"("subject")"},
    {"/body", R"("body")"},
    {"/thread_id", R"("thread_id")"},
    {"/reply_to", R"("reply_to")"},
    {"/status", R"("status")"},
    {"/ttl_hours", R"("ttl_hours")"},
    {"/traceparent", R"("traceparent")"},
    {"/tracestate", R"("tracestate")"},
    {"/foreign", R"("foreign")"},
}};
constexpr std::array<MemberTable::Part, 1> parts = {{{"", 0, Field::count}}};
constexpr MemberTable members = {fields, parts};

enum class Type : uint8_t { handoff, query, response, challenge, escalation, ack };
constexpr std::array<Word<Type>, 6> types = {{{"handoff", Type::handoff},
                                              {"query", Type::query},
                                              {"response", Type::response},
                                              {"challenge", Type::challenge},
                                              {"escalation", Type::escalation},
                                              {"ack", Type::ack}}};

constexpr std::array<Word<core::Priority>, 4> levels = {{{"P0", core::Priority::critical},
                                                         {"P1", core::Priority::high},
                                                         {"P2", core::Priority::normal},
                                                         {"P3", core::Priority::low}}};

// Where a message stands, as its sender says; of a response, how it ended.
constexpr std::array<Word<core::Status>, 5> stages = {{{"pending", core::Status::success},
                                                       {"read", core::Status::success},
                                                       {"in_progress", core::Status::partial},
                                                       {"completed", core::Status::success},
                                                       {"escalated", core::Status::declined}}};

// The words of body.result; any other text is the result itself.
constexpr std::array<Word<core::Status>, 4> results = {{{"completed", core::Status::success},
                                                        {"failed", core::Status::error},
                                                        {"partial", core::Status::partial},
                                                        {"declined", core::Status::declined}}};

// The receiver that means all agents.
constexpr std::string_view announcement = "broadcast";

// What the broker reads of a body.
struct Body {
  std::string_view summary;                   // the text that says most
  core::Status status = core::Status::unset;  // of a result
  core::Stance stance = core::Stance::unset;
  core::Severity severity = core::Severity::unset;
  int32_t confidence_ppm = -1;
  base::Time blocked_since;
  bool is_external = false;   // it does something outside, which people must approve
  std::string_view external;  // in words, where it has any
};

// The member of a body that holds its text.
std::string_view text_key(Type type);

// Whether it has the form MSG-{YYYYMMDD}-{HHMMSS}-{short}.
bool is_squad_id(std::string_view id);

// Checks the body of a message of this type. An error names the member.
std::expected<Body, Error> read_body(Type type, lib::Json object);

}  // namespace parley::dialect::squad
