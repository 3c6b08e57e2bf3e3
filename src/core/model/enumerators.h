// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace parley::core {

// The closed sets that messages are described by, each with its last one. They are written into
// journals: never renumber, never reuse a number. `word_of` is the word for one in answers and
// descriptions; a dialect has its own.

enum class Dialect : uint8_t { flow = 0, collab = 1, inbox = 2, superprompt = 3, squad = 4 };
constexpr Dialect dialect_last = Dialect::squad;

// What a message is for, in the words that all dialects share. The dialect's own word is `type`.
enum class Kind : uint8_t {
  notification = 0,  // flow notification, collab event, inbox status and error
  request = 1,       // flow request, collab command, inbox task, task_delegation, handoff
  query = 2,
  response = 3,  // flow and collab response, inbox result, task_completion, squad response
  broadcast = 4,
  acknowledgement = 5,   // squad ack
  challenge = 6,         // squad
  escalation = 7,        // squad
  approval_request = 8,  // superprompt hitl_approval_request
  private_flag = 9,      // superprompt coc_violation_flag
  health_report = 10,    // superprompt agent_health_check
};
constexpr Kind kind_last = Kind::health_report;
std::string_view word_of(Kind value);
// Whether its sender waits for an answer.
constexpr bool asks(Kind kind) { return kind == Kind::request || kind == Kind::query; }

enum class Priority : uint8_t { low = 0, normal = 1, high = 2, critical = 3 };
constexpr Priority priority_last = Priority::critical;
std::string_view word_of(Priority value);
constexpr size_t priority_count = 4;

enum class ContentType : uint8_t { json = 0, text = 1, artifact_ref = 2 };
constexpr ContentType content_type_last = ContentType::artifact_ref;
std::string_view word_of(ContentType value);

enum class Status : uint8_t { unset = 0, success = 1, partial = 2, error = 3, declined = 4 };
constexpr Status status_last = Status::declined;
std::string_view word_of(Status value);

enum class OnTimeout : uint8_t { fail = 0, retry = 1, escalate = 2 };
constexpr OnTimeout on_timeout_last = OnTimeout::escalate;
std::string_view word_of(OnTimeout value);

// What people must approve before it passes on: the message itself, or each answer to it.
enum class NeedsApproval : uint8_t { nothing = 0, message = 1, answer = 2 };
constexpr NeedsApproval needs_approval_last = NeedsApproval::answer;
std::string_view word_of(NeedsApproval value);

// Of a challenge: what its sender asks for. Of what answers one: what its sender does.
enum class Stance : uint8_t { unset = 0, defend = 1, revise = 2, escalate = 3 };
constexpr Stance stance_last = Stance::escalate;
std::string_view word_of(Stance value);

// How much of what is challenged is wrong, as its challenger says.
enum class Severity : uint8_t { unset = 0, minor = 1, moderate = 2, critical = 3 };
constexpr Severity severity_last = Severity::critical;
std::string_view word_of(Severity value);

// Whether a message must survive a crash, or is fire and forget.
enum class Durability : uint8_t { disk = 0, memory = 1 };
constexpr Durability durability_last = Durability::memory;
std::string_view word_of(Durability value);

// Who a principal is. What a person says must be told from what an agent says.
enum class PrincipalKind : uint8_t { unknown = 0, agent = 1, human = 2, admin = 3 };
constexpr PrincipalKind principal_kind_last = PrincipalKind::admin;
std::string_view word_of(PrincipalKind value);

// The edge through which a message came in; the broker's own come through none.
enum class Via : uint8_t {
  broker = 0,
  http = 1,
  websocket = 2,
  mcp = 3,
  a2a = 4,
  file = 5,
  webhook = 6,
};
constexpr Via via_last = Via::webhook;
std::string_view word_of(Via value);

}  // namespace parley::core
