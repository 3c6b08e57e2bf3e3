// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/time.h"

namespace parley::core {

using base::Duration;
using base::Id128;
using base::MessageId;
using base::Seq;
using base::Time;

class Reader;
class Writer;

// The enumerators below are written into journals: never renumber, never reuse a number.

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
// Whether its sender waits for an answer.
constexpr bool asks(Kind kind) { return kind == Kind::request || kind == Kind::query; }

enum class Priority : uint8_t { low = 0, normal = 1, high = 2, critical = 3 };
constexpr Priority priority_last = Priority::critical;
constexpr size_t priority_count = 4;

enum class ContentType : uint8_t { json = 0, text = 1, artifact_ref = 2 };
constexpr ContentType content_type_last = ContentType::artifact_ref;

enum class Status : uint8_t { unset = 0, success = 1, partial = 2, error = 3, declined = 4 };
constexpr Status status_last = Status::declined;

enum class OnTimeout : uint8_t { fail = 0, retry = 1, escalate = 2 };
constexpr OnTimeout on_timeout_last = OnTimeout::escalate;

// Whether a message must survive a crash, or is fire and forget.
enum class Durability : uint8_t { disk = 0, memory = 1 };
constexpr Durability durability_last = Durability::memory;

// Who a principal is. What a person says must be told from what an agent says.
enum class PrincipalKind : uint8_t { unknown = 0, agent = 1, human = 2, admin = 3 };
constexpr PrincipalKind principal_kind_last = PrincipalKind::admin;

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

// The canonical message: what every dialect is translated into and out of. A plain value whose
// texts are views: whoever makes one keeps the bytes alive (a request's buffer, a journal record).
// Empty text, a zero id and a zero duration mean that the sender left it out.
struct Envelope {
  MessageId id;
  Dialect dialect = Dialect::flow;
  Kind kind = Kind::notification;
  Priority priority = Priority::normal;
  ContentType content_type = ContentType::json;
  Status status = Status::unset;  // of a response
  Durability durability = Durability::disk;
  OnTimeout on_timeout = OnTimeout::fail;  // of a request
  bool requires_ack = false;

  std::string_view sender;
  std::vector<std::string_view> receivers;  // agents, topics, or `*`; the machine resolves them
  std::string_view reply_to;                // where answers go, if not to the sender

  Time created;               // the sender's own timestamp
  Duration ttl;               // zero: by the rules of the sender's dialect
  Duration response_timeout;  // of a request; zero: by the rules
  uint64_t sequence_number = 0;
  int32_t confidence_ppm = -1;  // parts per million; -1: none given

  MessageId in_reply_to;
  Id128 idempotency_key;  // derived from the sender's key at the edge
  Id128 trace_id;         // W3C trace context
  uint64_t parent_span_id = 0;
  bool trace_sampled = true;
  bool trace_in_message = false;  // the sender wrote it into the message itself
  std::string_view tracestate;    // carried, not read

  std::string_view native_id;  // the sender's own id, where it is not the UUID in `id`
  std::string_view question;   // the same of the message in `in_reply_to`
  std::string_view type;       // the dialect's own word for `kind`
  std::string_view thread;     // conversation_id, threadId, thread_id
  std::string_view correlation;
  std::string_view causation;
  std::string_view session;
  std::string_view action;   // collab action, superprompt approval_needed_for
  std::string_view subject;  // squad subject, superprompt description, inbox title
  std::string_view task;     // inbox taskId, superprompt task_id

  // Where it comes from, as the edge knows it: nothing of this is the sender's own word.
  Via via = Via::broker;
  PrincipalKind sender_kind = PrincipalKind::unknown;
  std::vector<std::string_view> on_behalf_of;  // who caused it, the first cause first

  std::string_view body;   // opaque: checked and sliced once, at the edge
  std::string_view extra;  // what the dialect has beyond these fields, kept for the way back

  bool operator==(const Envelope&) const = default;
};

// The most bytes that a message has when it is written in another dialect than its own: with what
// that adds.
struct MessageSizes {
  size_t whole = 0;    // as a whole: collab
  size_t content = 0;  // its content, as text: inbox
};
MessageSizes sizes_of(const Envelope& envelope);

void encode(const Envelope& envelope, Writer& out);

// Leaves `in` failed when the bytes are not an envelope.
Envelope decode_envelope(Reader& in);

}  // namespace parley::core
