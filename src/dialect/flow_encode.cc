// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "dialect/flow.h"
#include "dialect/flow_fields.h"
#include "dialect/foreign.h"
#include "dialect/reading.h"
#include "dialect/tracing.h"
#include "lib/json_writer.h"

namespace parley::dialect {

namespace {

using namespace flow;
using core::ContentType;
using core::Kind;
using lib::JsonSlice;

std::string_view receiver_of(const Envelope& e, const EncodeContext& context) {
  if (e.receivers.size() == 1 || (!e.receivers.empty() && context.recipient.empty())) {
    return e.receivers.front();
  }
  return context.recipient;
}

// A member that flow does not know: which part it is of, and its key in quotes, both out of a
// pointer in quotes.
struct Unknown {
  Part part;
  std::string key;
  std::string_view value;
};

Unknown unknown_member(const JsonSlice& slice) {
  Unknown member{Part::message, {}, slice.value};
  std::string_view rest = slice.key.substr(1);
  for (const Part part : {Part::payload, Part::metadata}) {
    const std::string_view prefix = pointer_to(part);
    if (rest.starts_with(prefix) && rest.substr(prefix.size()).starts_with('/')) {
      member.part = part;
      rest.remove_prefix(prefix.size());
    }
  }
  member.key = quoted_key(rest);
  return member;
}

constexpr std::string_view foreign_key = R"("/foreign")";  // in the extra of other dialects

// One message on its way out.
class Encoder {
 public:
  Encoder(const Envelope& envelope, std::string& out)
      : e_(envelope), out_(out), foreign_(envelope.dialect != Dialect::flow) {
    if (!foreign_) {
      read_extra(e_.extra);
      return;
    }
    lib::JsonSlice slice;
    for (lib::JsonSlices slices(e_.extra); slices.next(slice);) {
      if (slice.key != foreign_key) {
        continue;
      }
      if (const auto own = extra_of(slice.value, "flow", base::format_uuid(e_.id))) {
        came_from_flow_ = true;
        read_extra(*own);
      }
    }
  }

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
    out_.raw_key(info(Field::payload).quoted);
    write_payload();
    out_.raw_key(info(Field::metadata).quoted);
    write_metadata();
    write_trace(context.trace);
    write_unknown(Part::message);
    out_.end_object();
  }

 private:
  void read_extra(std::string_view extra) {
    lib::JsonSlices slices(extra);
    JsonSlice slice;
    while (slices.next(slice)) {
      const std::string_view pointer = slice.key.substr(1, slice.key.size() - 2);
      const auto* known = std::ranges::find(fields, pointer, &FieldInfo::pointer);
      if (!pointer.starts_with('/')) {
        return;
      }
      if (known == fields.end()) {
        unknown_.push_back(unknown_member(slice));
      } else {
        kept_[static_cast<size_t>(known->field)] = slice.value;
      }
    }
  }

  std::string_view kept(Field field) const { return kept_[static_cast<size_t>(field)]; }

  // Writes the member as it came where that was kept, else by `value` if it is `wanted`.
  template <class Value>
  void write(Field field, bool wanted, Value value) {
    if (!kept(field).empty()) {
      out_.raw_key(info(field).quoted).raw(kept(field));
    } else if (wanted) {
      out_.raw_key(info(field).quoted);
      value();
    }
  }

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
    out_.raw_key(info(Field::body).quoted);
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
      out_.raw_key(info(Field::sequence_number).quoted).number(e_.sequence_number);
    } else {
      write(Field::sequence_number, false, [] {});
    }
    write(Field::correlation_id, !e_.correlation.empty(), [&] { out_.text(e_.correlation); });
    if (foreign_) {
      write_foreign();
    }
    write_unknown(Part::metadata);
    out_.end_object();
  }

  void write_trace(EncodeContext::Trace trace) {
    const WrittenTrace written = trace_for(e_, trace);
    if (written.is_own) {
      kept_[static_cast<size_t>(Field::traceparent)] = {};
    }
    write(Field::traceparent, !written.parent.empty(), [&] { out_.plain(written.parent); });
    write(Field::tracestate, !written.parent.empty() && !e_.tracestate.empty(),
          [&] { out_.text(e_.tracestate); });
  }

  void write_foreign() {
    const auto text = [&](std::string_view key, std::string_view value) {
      if (!value.empty()) {
        out_.key(key).text(value);
      }
    };
    out_.key("foreign").object();
    begin_foreign(e_, out_);
    text("in_reply_to", e_.question);
    text("reply_to", e_.reply_to);
    text("causation", e_.causation);
    text("session", e_.session);
    text("action", e_.action);
    if (is_wrapped()) {
      out_.key("wrapped").boolean(true);
    }
    if (e_.receivers.size() > 1) {
      out_.key("receivers").array();
      for (const std::string_view receiver : e_.receivers) {
        out_.text(receiver);
      }
      out_.end_array();
    }
    write_extra(e_.extra, came_from_flow_ ? foreign_key : "", out_);
    out_.end_object();
  }

  void write_unknown(Part part) {
    for (const Unknown& member : unknown_) {
      if (member.part == part) {
        out_.raw_key(member.key).raw(member.value);
      }
    }
  }

  const Envelope& e_;
  lib::JsonWriter out_;
  bool foreign_;
  bool came_from_flow_ = false;  // it was a flow message before it was what it is
  std::array<std::string_view, field_count> kept_{};
  std::vector<Unknown> unknown_;
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

std::string_view flow_field(std::string_view canonical) { return canonical; }

}  // namespace parley::dialect
