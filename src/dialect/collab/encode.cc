// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "dialect/collab/collab.h"
#include "dialect/collab/fields.h"
#include "dialect/foreign.h"

namespace parley::dialect {

namespace {

using namespace collab;
using core::Kind;

// The last moment that a time of four digits for the year can say.
constexpr base::Time writable_max{253'402'300'799'999'000};

class Encoder : MemberWriter {
 public:
  Encoder(const Envelope& envelope, std::string& out)
      : MemberWriter(members, Dialect::collab, envelope, out) {}

  void run(EncodeContext::Trace trace) {
    const std::string_view type = collab_type(e_);
    out_.object();
    write(Field::id, true, [&] { write_id(e_.native_id, e_.id); });
    write(Field::version, true, [&] { out_.plain(version); });
    write(Field::from, true, [&] { out_.text(e_.sender); });
    write_key(Field::to);
    write_receivers();
    write(Field::reply_to, !e_.reply_to.empty(), [&] { out_.text(e_.reply_to); });
    write(Field::type, true, [&] { out_.plain(type); });
    write(Field::priority, true, [&] { out_.number(static_cast<int>(e_.priority)); });
    write(Field::timestamp, true, [&] { out_.time(e_.created); });
    const base::Time expires = e_.created + e_.ttl;
    write(Field::expires_at,
          is_foreign() && !came_back() && e_.ttl.us != 0 && expires <= writable_max,
          [&] { out_.time(expires); });
    write(Field::action, true, [&] {
      out_.text(!e_.action.empty() ? e_.action : !e_.type.empty() ? e_.type : type);
    });
    write_key(Field::payload);
    out_.raw(e_.body.empty() ? "null" : e_.body);
    write(Field::session_id, !e_.session.empty(), [&] { out_.text(e_.session); });
    write_links(type == "response");
    write_trace(Field::traceparent, Field::tracestate, trace);
    if (is_foreign()) {
      write_key(Field::foreign);
      out_.object();
      write_foreign();
      out_.end_object();
    } else {
      write(Field::foreign, false, [] {});
    }
    write_unknown();
    out_.end_object();
  }

 private:
  void write_receivers() {
    if (e_.receivers.size() == 1 && kept(Field::to).empty()) {
      out_.text(e_.receivers.front());
      return;
    }
    out_.array();
    for (const std::string_view receiver : e_.receivers) {
      out_.text(receiver);
    }
    out_.end_array();
  }

  // What a response answers, and what it is a part of otherwise. A message that follows another
  // without being its answer was caused by it.
  void write_links(bool is_response) {
    write(Field::correlation_id, is_response || !e_.correlation.empty(), [&] {
      is_response ? write_id(e_.question, e_.in_reply_to)
                  : static_cast<void>(out_.text(e_.correlation));
    });
    const bool follows = !is_response && !e_.in_reply_to.is_none();
    write(Field::causation_id, !e_.causation.empty() || follows, [&] {
      e_.causation.empty() ? write_id(e_.question, e_.in_reply_to)
                           : static_cast<void>(out_.text(e_.causation));
    });
  }

  void write_foreign() {
    begin_foreign(e_, out_);
    if (e_.kind != Kind::response && !e_.in_reply_to.is_none()) {
      out_.key("in_reply_to");
      write_id(e_.question, e_.in_reply_to);
    }
    if (!e_.thread.empty()) {
      out_.key("thread").text(e_.thread);
    }
    if (e_.kind == Kind::response && !e_.correlation.empty()) {
      out_.key("correlation").text(e_.correlation);
    }
    if (e_.status != core::Status::unset) {
      out_.key("status").plain(word_for(statuses, e_.status));
    }
    const bool is_text = e_.body.starts_with('"');
    if (e_.content_type != (is_text ? core::ContentType::text : core::ContentType::json)) {
      out_.key("content_type").plain(word_for(content_types, e_.content_type));
    }
    if (e_.ttl.us != 0) {
      out_.key("ttl").duration(e_.ttl);
    }
    if (e_.response_timeout.us != 0) {
      out_.key("response_timeout").duration(e_.response_timeout);
    }
    if (asks(e_.kind) || e_.on_timeout != core::OnTimeout::fail) {
      out_.key("on_timeout").plain(word_for(timeout_actions, e_.on_timeout));
    }
    if (e_.requires_ack != asks(e_.kind)) {
      out_.key("requires_ack").boolean(e_.requires_ack);
    }
    if (e_.sequence_number != 0) {
      out_.key("sequence_number").number(e_.sequence_number);
    }
    write_foreign_extra();
  }
};

}  // namespace

std::string_view collab_type(const Envelope& e) {
  switch (e.kind) {
    case Kind::request:
    case Kind::challenge:
    case Kind::escalation:
    case Kind::approval_request:
      return "command";
    case Kind::query:
      return "query";
    case Kind::response:
    case Kind::acknowledgement:
      return e.in_reply_to.is_none() ? "event" : "response";
    case Kind::broadcast:
    case Kind::notification:
    case Kind::private_flag:
    case Kind::health_report:
      return "event";
  }
  return "event";
}

std::optional<Codec::Meaning> collab_meaning(std::string_view type) {
  const auto* const word = find_word(types, type);
  return word == nullptr
             ? std::nullopt
             : std::optional(Codec::Meaning{word->value, word->value != Kind::notification});
}

std::string_view collab_counted_as(Kind kind) {
  switch (kind) {
    case Kind::request:
      return "command";
    case Kind::notification:
    case Kind::broadcast:
      return "event";
    case Kind::query:
    case Kind::response:
    case Kind::acknowledgement:
    case Kind::challenge:
    case Kind::escalation:
    case Kind::approval_request:
    case Kind::private_flag:
    case Kind::health_report:
      return word_of(kind);
  }
  return {};
}

uint64_t collab_tokens(lib::Json /*message*/) { return 0; }

void encode_collab(const Envelope& envelope, const EncodeContext& context, std::string& out) {
  Encoder(envelope, out).run(context.trace);
}

std::string_view collab_field(std::string_view canonical) {
  constexpr auto names =
      std::to_array<Word<std::string_view>>({{"/receiver", "/to"},
                                             {"/sender", "/from"},
                                             {"/reply_to", "/replyTo"},
                                             {"/in_reply_to", "/correlationId"},
                                             {"/ttl", "/expiresAt"},
                                             {"/conversation_id", "/foreign/thread"},
                                             {"/response_timeout", "/foreign/response_timeout"},
                                             {"/body", "/payload"}});
  const auto* const word = find_word(names, canonical);
  return word == nullptr ? canonical : word->value;
}

}  // namespace parley::dialect
