// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/time.h"
#include "core/model/enumerators.h"
#include "core/model/fields.h"

namespace parley::core {

using base::Duration;
using base::Id128;
using base::MessageId;
using base::Seq;
using base::Time;

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
  NeedsApproval needs_approval = NeedsApproval::nothing;
  bool is_recoverable = false;  // of a response that reports an error: another try may do better
  Stance stance = Stance::unset;        // of a challenge and its answers
  Severity severity = Severity::unset;  // of a challenge

  std::string_view sender;
  std::vector<std::string_view> receivers;  // agents, topics, or `*`; the machine resolves them
  std::string_view reply_to;                // where answers go, if not to the sender

  Time created;               // the sender's own timestamp
  Time blocked_since;         // as its sender says: nothing has moved since; zero: it does not say
  Duration ttl;               // zero: by the rules of the sender's dialect
  Duration response_timeout;  // of a request; zero: by the rules
  uint64_t sequence_number = 0;
  // Parts per million; -1: none given. Of what asks: what an answer must have at least, or people
  // decide.
  int32_t confidence_ppm = -1;

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
  // Of a response: why people should look at it; empty: they need not. And what failed.
  std::string_view review;
  std::string_view error_type;
  std::string_view error_message;

  // Where it comes from, as the edge knows it: nothing of this is the sender's own word.
  Via via = Via::broker;
  PrincipalKind sender_kind = PrincipalKind::unknown;
  std::vector<std::string_view> on_behalf_of;  // who caused it, the first cause first

  std::string_view body;   // opaque: checked and sliced once, at the edge
  std::string_view extra;  // what the dialect has beyond these fields, kept for the way back

  // In the order of its bytes: see core/model/fields.h.
  static void fields(auto& self, auto& field) {
    field("id", self.id);
    field("dialect", self.dialect, dialect_last);
    field("kind", self.kind, kind_last);
    field("priority", self.priority, priority_last);
    field("content_type", self.content_type, content_type_last);
    field("status", self.status, status_last);
    field("durability", self.durability, durability_last);
    field("on_timeout", self.on_timeout, on_timeout_last);
    field("requires_ack", self.requires_ack);
    field("needs_approval", self.needs_approval, needs_approval_last);
    field("is_recoverable", self.is_recoverable);
    field("stance", self.stance, stance_last);
    field("severity", self.severity, severity_last);
    field("sender", self.sender, Form::agent);
    field("receivers", self.receivers, Form::agent);
    field("reply_to", self.reply_to, Form::agent);
    field("created", self.created);
    field("blocked_since", self.blocked_since);
    field("ttl", self.ttl);
    field("response_timeout", self.response_timeout);
    field("sequence_number", self.sequence_number);
    field("confidence_ppm", self.confidence_ppm);
    field("in_reply_to", self.in_reply_to);
    field("idempotency_key", self.idempotency_key);
    field("trace_id", self.trace_id);
    field("parent_span_id", self.parent_span_id, Form::fixed);
    field("trace_sampled", self.trace_sampled);
    field("trace_in_message", self.trace_in_message);
    field("tracestate", self.tracestate);
    field("native_id", self.native_id);
    field("question", self.question);
    field("type", self.type);
    field("thread", self.thread);
    field("correlation", self.correlation);
    field("causation", self.causation);
    field("session", self.session);
    field("action", self.action);
    field("subject", self.subject);
    field("task", self.task);
    field("review", self.review);
    field("error_type", self.error_type);
    field("error_message", self.error_message);
    field("via", self.via, via_last);
    field("sender_kind", self.sender_kind, principal_kind_last);
    field("on_behalf_of", self.on_behalf_of, Form::agent);
    field("body", self.body, Form::opaque);
    field("extra", self.extra, Form::opaque);
  }
  bool operator==(const Envelope&) const = default;
};

}  // namespace parley::core
