// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <expected>
#include <string>
#include <string_view>

#include "core/model/envelope.h"
#include "dialect/members.h"
#include "dialect/words.h"

namespace parley::dialect::superprompt {

// The members that superprompt knows, and what each type has beyond the head. Private to the codec.

struct Field {
  enum Name : FieldId {
    message_type,
    message_id,
    in_reply_to,
    timestamp,
    from_agent,
    to_agent,
    traceparent,
    tracestate,
    foreign,
    count,
  };
};

constexpr std::array<FieldInfo, Field::count> fields = {{
    {"/message_type", R"("message_type")"},
    {"/message_id", R"("message_id")"},
    {"/in_reply_to", R"("in_reply_to")"},
    {"/timestamp", R"("timestamp")"},
    {"/from_agent", R"("from_agent")"},
    {"/to_agent", R"("to_agent")"},
    {"/traceparent", R"("traceparent")"},
    {"/tracestate", R"("tracestate")"},
    {"/foreign", R"("foreign")"},
}};
constexpr std::array<MemberTable::Part, 1> parts = {{{"", 0, Field::count}}};
constexpr MemberTable members = {fields, parts};

// The last three are no words of the protocol's text; the last two only the broker writes.
enum class Type : uint8_t {
  delegation,
  completion,
  approval,
  flag,
  health,
  extension,
  decision,
  notice
};
constexpr std::array<Word<Type>, 8> types = {{{"task_delegation", Type::delegation},
                                              {"task_completion", Type::completion},
                                              {"hitl_approval_request", Type::approval},
                                              {"coc_violation_flag", Type::flag},
                                              {"agent_health_check", Type::health},
                                              {"timeout_extension_request", Type::extension},
                                              {"hitl_approval_decision", Type::decision},
                                              {"system_notice", Type::notice}}};
constexpr bool is_brokers(Type type) { return type == Type::decision || type == Type::notice; }

// There is nothing beyond high: what is critical elsewhere is high here.
constexpr std::array<Word<core::Priority>, 3> levels = {{{"high", core::Priority::high},
                                                         {"medium", core::Priority::normal},
                                                         {"low", core::Priority::low}}};

// How a task ended. A result that people must approve first is a success until they say otherwise.
enum class Outcome : uint8_t { success, failure, requires_approval, partial_success };
constexpr std::array<Word<Outcome>, 4> outcomes = {
    {{"success", Outcome::success},
     {"failure", Outcome::failure},
     {"requires_approval", Outcome::requires_approval},
     {"partial_success", Outcome::partial_success}}};
constexpr Outcome outcome_of(core::Status status, core::NeedsApproval needs_approval) {
  if (status == core::Status::error || status == core::Status::declined) {
    return Outcome::failure;
  }
  if (needs_approval == core::NeedsApproval::message) {
    return Outcome::requires_approval;
  }
  return status == core::Status::partial ? Outcome::partial_success : Outcome::success;
}

// What stands in event_context of a delegation that no event of a repository caused.
constexpr std::string_view message_event = "message";
constexpr size_t subject_bytes_max = 512;
constexpr size_t summary_bytes_max = 120;

// In characters, which may be several bytes each.
size_t count_characters(std::string_view text);

// Checks what a message of this type has beyond its head. `may_lack_event`: event_context may be
// missing. An error names the member.
std::expected<void, Error> check_content(Type type, lib::Json message, bool may_lack_event);

}  // namespace parley::dialect::superprompt
