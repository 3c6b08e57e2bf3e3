// SPDX-License-Identifier: Apache-2.0
// The binary form of envelopes and entries: docs/record-format.md.
#include "core/model/entry.h"
#include "core/model/wire.h"

namespace parley::core {

namespace {

void encode_texts(const std::vector<std::string_view>& texts, Writer& out) {
  out.varint(texts.size());
  for (const std::string_view text : texts) {
    out.text(text);
  }
}

std::vector<std::string_view> decode_texts(Reader& in) {
  std::vector<std::string_view> texts(in.count());
  for (std::string_view& text : texts) {
    text = in.text();
  }
  return texts;
}

void encode_hash(const TokenHash& hash, Writer& out) {
  for (const uint8_t byte : hash) {
    out.u8(byte);
  }
}

TokenHash decode_hash(Reader& in) {
  TokenHash hash{};
  for (uint8_t& byte : hash) {
    byte = in.u8();
  }
  return hash;
}

void put(const Target& target, Writer& out) {
  out.seq(target.seq);
  out.id(target.id);
}

void get(Target& target, Reader& in) {
  target.seq = in.seq();
  target.id = in.id();
}

void put(const StreamId& stream, Writer& out) {
  out.fixed64(stream.origin);
  out.varint(stream.number);
}

void get(StreamId& stream, Reader& in) {
  stream.origin = in.fixed64();
  stream.number = in.varint();
}

void put(const Tick&, Writer&) {}
void get(Tick&, Reader&) {}

void put(const StartNode& c, Writer& out) { out.text(c.node); }
void get(StartNode& c, Reader& in) { c.node = in.text(); }

void put(const AddWorkspace& c, Writer& out) {
  out.text(c.name);
  encode_hash(c.admin_token, out);
}
void get(AddWorkspace& c, Reader& in) {
  c.name = in.text();
  c.admin_token = decode_hash(in);
}

void put(const SetRules& c, Writer& out) {
  out.varint(c.values.size());
  for (const auto& [name, value] : c.values) {
    out.text(name);
    out.text(value);
  }
}
void get(SetRules& c, Reader& in) {
  c.values.resize(in.count(2));
  for (auto& [name, value] : c.values) {
    name = in.text();
    value = in.text();
  }
}

void put(const Register& c, Writer& out) {
  out.text(c.name);
  out.enumerator(c.kind);
  out.enumerator(c.dialect);
  out.text(c.role);
  encode_texts(c.capabilities, out);
  encode_texts(c.rights, out);
  encode_hash(c.token, out);
  out.text(c.profile);
  out.boolean(c.only_token);
  out.text(c.webhook);
  encode_hash(c.webhook_secret, out);
  encode_texts(c.subscriptions, out);
}
void get(Register& c, Reader& in) {
  c.name = in.text();
  c.kind = in.enumerator(principal_kind_last);
  c.dialect = in.enumerator(dialect_last);
  c.role = in.text();
  c.capabilities = decode_texts(in);
  c.rights = decode_texts(in);
  c.token = decode_hash(in);
  c.profile = in.text();
  c.only_token = in.boolean();
  c.webhook = in.text();
  c.webhook_secret = decode_hash(in);
  c.subscriptions = decode_texts(in);
}

void put(const Unregister& c, Writer& out) { out.text(c.name); }
void get(Unregister& c, Reader& in) { c.name = in.text(); }

void put(const Subscribe& c, Writer& out) {
  out.text(c.topic);
  out.text(c.agent);
}
void get(Subscribe& c, Reader& in) {
  c.topic = in.text();
  c.agent = in.text();
}

void put(const Unsubscribe& c, Writer& out) {
  out.text(c.topic);
  out.text(c.agent);
}
void get(Unsubscribe& c, Reader& in) {
  c.topic = in.text();
  c.agent = in.text();
}

void put(const Send& c, Writer& out) {
  encode(c.envelope, out);
  out.varint(c.outbox_item);
  out.boolean(c.gathering.has_value());
  if (c.gathering) {
    encode(*c.gathering, out);
  }
  encode_texts(c.later_stages, out);
  out.varint(c.tokens);
  out.enumerator(c.on_unavailable);
  out.duration(c.wait);
  out.boolean(!c.cause.is_none());
  if (!c.cause.is_none()) {
    out.id(c.cause);
  }
}
void get(Send& c, Reader& in) {
  c.envelope = decode_envelope(in);
  c.outbox_item = in.varint();
  if (in.boolean()) {
    c.gathering = decode_gathering(in);
  }
  c.later_stages = decode_texts(in);
  c.tokens = in.varint();
  c.on_unavailable = in.enumerator(on_unavailable_last);
  c.wait = in.duration();
  if (in.boolean()) {
    c.cause = in.id();
  }
}

void put(const Read& c, Writer& out) {
  put(c.target, out);
  out.u8(c.as ? static_cast<uint8_t>(*c.as) + 1 : 0);
}
void get(Read& c, Reader& in) {
  get(c.target, in);
  const uint8_t as = in.u8();
  if (as > static_cast<uint8_t>(dialect_last) + 1) {
    in.fail();
  } else if (as > 0) {
    c.as = static_cast<Dialect>(as - 1);
  }
}

void put(const Take& c, Writer& out) { out.fixed32(c.count_max); }
void get(Take& c, Reader& in) { c.count_max = in.fixed32(); }

void put(const Ack& c, Writer& out) {
  put(c.target, out);
  put(c.stream, out);
  put(c.upto, out);
}
void get(Ack& c, Reader& in) {
  get(c.target, in);
  get(c.stream, in);
  get(c.upto, in);
}

void put(const Nack& c, Writer& out) {
  put(c.target, out);
  out.duration(c.delay);
  out.text(c.reason);
  out.boolean(c.failed);
}
void get(Nack& c, Reader& in) {
  get(c.target, in);
  c.delay = in.duration();
  c.reason = in.text();
  c.failed = in.boolean();
}

void put(const Reject& c, Writer& out) {
  put(c.target, out);
  out.text(c.reason);
}
void get(Reject& c, Reader& in) {
  get(c.target, in);
  c.reason = in.text();
}

void put(const Extend& c, Writer& out) {
  put(c.target, out);
  out.duration(c.lease);
}
void get(Extend& c, Reader& in) {
  get(c.target, in);
  c.lease = in.duration();
}

void put(const OpenStream& c, Writer& out) {
  put(c.stream, out);
  out.fixed32(c.window);
  put(c.after, out);
}
void get(OpenStream& c, Reader& in) {
  get(c.stream, in);
  c.window = in.fixed32();
  get(c.after, in);
}

void put(const CloseStream& c, Writer& out) { put(c.stream, out); }
void get(CloseStream& c, Reader& in) { get(c.stream, in); }

void put(const ResolveDeadLetter& c, Writer& out) {
  out.varint(c.id);
  out.enumerator(c.resolution);
}
void get(ResolveDeadLetter& c, Reader& in) {
  c.id = in.varint();
  c.resolution = in.enumerator(resolution_last);
}

void put(const Heartbeat& c, Writer& out) {
  out.text(c.status);
  out.text(c.task);
  out.varint(c.tokens);
  out.boolean(c.only_seen);
}
void get(Heartbeat& c, Reader& in) {
  c.status = in.text();
  c.task = in.text();
  c.tokens = in.varint();
  c.only_seen = in.boolean();
}

void put(const StopWaiting& c, Writer& out) { out.seq(c.message); }
void get(StopWaiting& c, Reader& in) { c.message = in.seq(); }

void put(const ResetLimits& c, Writer& out) { out.text(c.name); }
void get(ResetLimits& c, Reader& in) { c.name = in.text(); }

void put(const ResolveEscalation& c, Writer& out) {
  out.varint(c.id);
  out.text(c.resolution);
}
void get(ResolveEscalation& c, Reader& in) {
  c.id = in.varint();
  c.resolution = in.text();
}

void put(const Malformed& c, Writer& out) {
  out.text(c.text);
  out.text(c.error);
}
void get(Malformed& c, Reader& in) {
  c.text = in.text();
  c.error = in.text();
}

void put(const CloseThread& c, Writer& out) { out.text(c.thread); }
void get(CloseThread& c, Reader& in) { c.thread = in.text(); }

void put(const StartSession& c, Writer& out) {
  out.text(c.id);
  out.text(c.coordinator);
  encode_texts(c.participants, out);
  out.text(c.task);
}
void get(StartSession& c, Reader& in) {
  c.id = in.text();
  c.coordinator = in.text();
  c.participants = decode_texts(in);
  c.task = in.text();
}

void put(const ChangeSession& c, Writer& out) {
  out.text(c.id);
  out.enumerator(c.act);
  out.varint(c.version);
  out.text(c.subject);
  out.text(c.body);
}
void get(ChangeSession& c, Reader& in) {
  c.id = in.text();
  c.act = in.enumerator(session_act_last);
  c.version = in.varint();
  c.subject = in.text();
  c.body = in.text();
}

void put(const TakeLock& c, Writer& out) {
  out.text(c.name);
  out.duration(c.lease);
  out.duration(c.wait);
  out.boolean(c.fence.has_value());
  if (c.fence) {
    out.seq(*c.fence);
  }
}
void get(TakeLock& c, Reader& in) {
  c.name = in.text();
  c.lease = in.duration();
  c.wait = in.duration();
  if (in.boolean()) {
    c.fence = in.seq();
  }
}

void put(const ReleaseLock& c, Writer& out) {
  out.text(c.name);
  out.seq(c.fence);
}
void get(ReleaseLock& c, Reader& in) {
  c.name = in.text();
  c.fence = in.seq();
}

void put(const ReassignTask& c, Writer& out) {
  out.text(c.task);
  out.text(c.to);
  out.text(c.director);
  out.text(c.thread);
}
void get(ReassignTask& c, Reader& in) {
  c.task = in.text();
  c.to = in.text();
  c.director = in.text();
  c.thread = in.text();
}

// Makes the alternative with this tag, reads it, and returns false if there is no such tag.
template <size_t tag = 0>
bool decode_command(size_t wanted, Reader& in, Command& command) {
  if constexpr (tag < std::variant_size_v<Command>) {
    if (wanted == tag) {
      get(command.emplace<tag>(), in);
      return true;
    }
    return decode_command<tag + 1>(wanted, in, command);
  } else {
    return false;
  }
}

}  // namespace

void encode(const Gathering& gathering, Writer& out) {
  out.enumerator(gathering.strategy);
  out.varint(gathering.quorum);
  out.duration(gathering.window);
  out.enumerator(gathering.on_partial);
}

Gathering decode_gathering(Reader& in) {
  Gathering gathering;
  gathering.strategy = in.enumerator(strategy_last);
  gathering.quorum = static_cast<uint32_t>(in.varint());
  gathering.window = in.duration();
  gathering.on_partial = in.enumerator(on_partial_last);
  return gathering;
}

void encode(const Envelope& e, Writer& out) {
  out.id(e.id);
  out.enumerator(e.dialect);
  out.enumerator(e.kind);
  out.enumerator(e.priority);
  out.enumerator(e.content_type);
  out.enumerator(e.status);
  out.enumerator(e.durability);
  out.enumerator(e.on_timeout);
  out.boolean(e.requires_ack);
  out.text(e.sender);
  encode_texts(e.receivers, out);
  out.text(e.reply_to);
  out.time(e.created);
  out.duration(e.ttl);
  out.duration(e.response_timeout);
  out.varint(e.sequence_number);
  out.fixed32(static_cast<uint32_t>(e.confidence_ppm));
  out.id(e.in_reply_to);
  out.id(e.idempotency_key);
  out.id(e.trace_id);
  out.fixed64(e.parent_span_id);
  out.boolean(e.trace_sampled);
  out.boolean(e.trace_in_message);
  out.text(e.tracestate);
  out.text(e.native_id);
  out.text(e.question);
  out.text(e.type);
  out.text(e.thread);
  out.text(e.correlation);
  out.text(e.causation);
  out.text(e.session);
  out.text(e.action);
  out.text(e.subject);
  out.text(e.task);
  out.enumerator(e.via);
  out.enumerator(e.sender_kind);
  encode_texts(e.on_behalf_of, out);
  out.text(e.body);
  out.text(e.extra);
}

Envelope decode_envelope(Reader& in) {
  Envelope e;
  e.id = in.id();
  e.dialect = in.enumerator(dialect_last);
  e.kind = in.enumerator(kind_last);
  e.priority = in.enumerator(priority_last);
  e.content_type = in.enumerator(content_type_last);
  e.status = in.enumerator(status_last);
  e.durability = in.enumerator(durability_last);
  e.on_timeout = in.enumerator(on_timeout_last);
  e.requires_ack = in.boolean();
  e.sender = in.text();
  e.receivers = decode_texts(in);
  e.reply_to = in.text();
  e.created = in.time();
  e.ttl = in.duration();
  e.response_timeout = in.duration();
  e.sequence_number = in.varint();
  e.confidence_ppm = static_cast<int32_t>(in.fixed32());
  e.in_reply_to = in.id();
  e.idempotency_key = in.id();
  e.trace_id = in.id();
  e.parent_span_id = in.fixed64();
  e.trace_sampled = in.boolean();
  e.trace_in_message = in.boolean();
  e.tracestate = in.text();
  e.native_id = in.text();
  e.question = in.text();
  e.type = in.text();
  e.thread = in.text();
  e.correlation = in.text();
  e.causation = in.text();
  e.session = in.text();
  e.action = in.text();
  e.subject = in.text();
  e.task = in.text();
  e.via = in.enumerator(via_last);
  e.sender_kind = in.enumerator(principal_kind_last);
  e.on_behalf_of = decode_texts(in);
  e.body = in.text();
  e.extra = in.text();
  return e;
}

void encode(const Entry& entry, std::string& bytes) {
  Writer out(bytes);
  out.u8(static_cast<uint8_t>(entry.command.index()));
  out.fixed64(entry.id.origin);
  out.varint(entry.id.number);
  out.varint(static_cast<uint32_t>(entry.workspace));
  out.text(entry.actor);
  std::visit([&out](const auto& command) { put(command, out); }, entry.command);
}

std::expected<Entry, Error> decode_entry(Seq seq, Time time, std::string_view payload) {
  Reader in(payload);
  Entry entry;
  entry.seq = seq;
  entry.time = time;
  const size_t tag = in.u8();
  entry.id.origin = in.fixed64();
  entry.id.number = in.varint();
  const uint64_t workspace = in.varint();
  if (workspace > UINT32_MAX) {
    in.fail();
  }
  entry.workspace = static_cast<WorkspaceId>(workspace);
  entry.actor = in.text();
  if (!decode_command(tag, in, entry.command) || !in.done()) {
    return std::unexpected(
        Error{base::Code::malformed_record,
              "record " + std::to_string(seq.n) + " (tag " + std::to_string(tag) +
                  ") is not a command of this version; start the version of Parley that wrote it",
              {}});
  }
  return entry;
}

}  // namespace parley::core
