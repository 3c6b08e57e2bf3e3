// SPDX-License-Identifier: Apache-2.0
#include "dialect/flow/fields.h"
#include "dialect/flow/flow.h"
#include "dialect/foreign.h"

namespace parley::dialect {

namespace {

using namespace flow;
using core::ContentType;
using core::Kind;

class Encoder : MemberWriter {
 public:
  Encoder(const Envelope& envelope, std::string& out)
      : MemberWriter(members, Dialect::flow, envelope, out) {}

  void run(const EncodeContext& context) {
    out_.object();
    write(Field::id, true, [&] { out_.uuid(e_.id); });
    write(Field::conversation_id, true,
          [&] { e_.thread.empty() ? out_.uuid(e_.id) : out_.text(e_.thread); });
    const std::string_view type = flow_type(e_);
    write(Field::type, true, [&] { out_.plain(type); });
    write(Field::priority, true, [&] { out_.plain(word_for(priorities, e_.priority)); });
    write(Field::sender, true, [&] { out_.text(e_.sender); });
    write(Field::receiver, true, [&] { out_.text(receiver_of(e_, context)); });
    write(Field::status, type == "response", [&] {
      out_.plain(
          word_for(statuses, e_.status == core::Status::unset ? core::Status::success : e_.status));
    });
    write(Field::response_timeout, e_.response_timeout.us != 0,
          [&] { out_.duration(e_.response_timeout); });
    write(Field::on_timeout,
          type == "request" || type == "query" || e_.on_timeout != core::OnTimeout::fail,
          [&] { out_.plain(word_for(timeout_actions, e_.on_timeout)); });
    write(Field::idempotency_key, false, [] {});
    write(Field::outer_requires_ack, false, [] {});
    write(Field::outer_in_reply_to, false, [] {});
    write_key(Field::payload);
    write_payload();
    write_key(Field::metadata);
    write_metadata();
    write_trace(Field::traceparent, Field::tracestate, context.trace);
    write_unknown(Part::message);
    out_.end_object();
  }

 private:
  // Other dialects may have bodies that flow has not: those are wrapped, not refused.
  bool is_wrapped() const { return !e_.body.starts_with('{') && !e_.body.starts_with('"'); }

  void write_payload() {
    out_.object();
    const bool is_object = e_.body.starts_with('{');
    const bool is_text = e_.body.starts_with('"');
    const ContentType content = is_text ? ContentType::text
                                : e_.content_type == ContentType::text && !is_object
                                    ? ContentType::json
                                    : e_.content_type;
    write(Field::content_type, true, [&] { out_.plain(word_for(content_types, content)); });
    write_key(Field::body);
    if (!is_wrapped()) {
      out_.raw(e_.body);
    } else {
      out_.object();
      if (!e_.body.empty()) {
        out_.key("value").raw(e_.body);
      }
      out_.end_object();
    }
    write_unknown(Part::payload);
    out_.end_object();
  }

  void write_metadata() {
    out_.object();
    write(Field::timestamp, true, [&] { out_.time(e_.created); });
    write(Field::ttl, e_.ttl.us != 0, [&] { out_.duration(e_.ttl); });
    write(Field::requires_ack, kept(Field::outer_requires_ack).empty(),
          [&] { out_.boolean(e_.requires_ack); });
    write(Field::in_reply_to, !e_.in_reply_to.is_none() && kept(Field::outer_in_reply_to).empty(),
          [&] { out_.uuid(e_.in_reply_to); });
    // A number that the broker gave wins over the sender's zero or null.
    if (e_.sequence_number != 0) {
      write_key(Field::sequence_number);
      out_.number(e_.sequence_number);
    } else {
      write(Field::sequence_number, false, [] {});
    }
    write(Field::correlation_id, !e_.correlation.empty(), [&] { out_.text(e_.correlation); });
    if (is_foreign()) {
      write_foreign();
    }
    write_unknown(Part::metadata);
    out_.end_object();
  }

  void write_foreign() {
    out_.key("foreign").object();
    begin_foreign(e_, out_);
    write_foreign_text("in_reply_to", e_.question);
    write_foreign_text("reply_to", e_.reply_to);
    write_foreign_text("causation", e_.causation);
    write_foreign_text("session", e_.session);
    write_foreign_text("action", e_.action);
    if (is_wrapped()) {
      out_.key("wrapped").boolean(true);
    }
    write_foreign_receivers();
    write_foreign_extra();
    out_.end_object();
  }
};

}  // namespace

std::string_view flow_type(const Envelope& e) {
  switch (e.kind) {
    case Kind::request:
    case Kind::challenge:
    case Kind::escalation:
    case Kind::approval_request:
      return "request";
    case Kind::query:
      return "query";
    case Kind::response:
    case Kind::acknowledgement:
      return e.in_reply_to.is_none() ? "notification" : "response";
    case Kind::broadcast:
      return "broadcast";
    case Kind::notification:
    case Kind::private_flag:
    case Kind::health_report:
      return "notification";
  }
  return "notification";
}

void encode_flow(const Envelope& envelope, const EncodeContext& context, std::string& out) {
  Encoder(envelope, out).run(context);
}

std::optional<Codec::Meaning> flow_meaning(std::string_view type) {
  const auto* const word = find_word(types, type);
  return word == nullptr ? std::nullopt : std::optional(Codec::Meaning{word->value, true});
}

uint64_t flow_tokens(lib::Json message) {
  return message.find("metadata").find("tokens_used").as_uint64().value_or(0);
}

std::string_view flow_field(std::string_view canonical) {
  return canonical == "/reply_to" ? "/metadata/foreign/reply_to" : canonical;
}

}  // namespace parley::dialect
