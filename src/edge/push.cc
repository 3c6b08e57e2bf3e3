// SPDX-License-Identifier: Apache-2.0
#include "edge/push.h"

#include "edge/events.h"
#include "edge/render.h"
#include "lib/json_writer.h"

namespace parley::edge {

namespace {

using base::Code;
using base::Error;
using lib::Json;
using lib::JsonWriter;

constexpr uint64_t window_default = 64;
constexpr uint64_t operations_max = 10'000;
constexpr uint16_t policy_violation = 1008;
constexpr uint16_t going_away = 1001;

void append_event(std::string& out, base::Seq id, std::string_view text) {
  out.append("id: ").append(std::to_string(id.n)).append("\nevent: message\n");
  append_event_data(out, text);
}

}  // namespace

void Api::open_events(Call& call) {
  auto window = call.count("window", window_default, tables(call).rules.window_max);
  if (window && *window == 0) {
    window = std::unexpected(
        Error{Code::bad_request, "the parameter window must be at least 1 here", {}});
  }
  // A browser that connects again says in a header what it had last.
  const auto had = parse_number(call.request.header("last-event-id"));
  const auto after = call.count("after", had.value_or(0), UINT64_MAX);
  const auto dialect = wanted_dialect(call);
  if (!window || !after || !dialect) {
    refuse(call.exchange, !window  ? window.error()
                          : !after ? after.error()
                                   : dialect.error());
    return;
  }
  net::Response head;
  head.content_type = "text/event-stream";
  head.headers.emplace_back("Cache-Control", "no-store");
  server_->start_stream(call.exchange, std::move(head));
  auto push = std::make_unique<Push>(*this, call.exchange.connection, call.caller, *dialect,
                                     Push::Kind::events);
  push->open(static_cast<uint32_t>(*window), base::Seq{*after});
  pushes_[call.exchange.connection] = std::move(push);
}

void Api::open_socket(Call& call) {
  const auto window = call.count("window", window_default, UINT32_MAX);
  const auto after = call.count("after", 0, UINT64_MAX);
  const auto dialect = wanted_dialect(call);
  if (!window || !after || !dialect) {
    refuse(call.exchange, !window  ? window.error()
                          : !after ? after.error()
                                   : dialect.error());
    return;
  }
  server_->accept_websocket(call.exchange);
  if (!call.request.wants_websocket) {
    return;  // answered 426
  }
  auto push = std::make_unique<Push>(*this, call.exchange.connection, call.caller, *dialect,
                                     Push::Kind::websocket);
  if (*window > 0) {  // a window of 0 is for those who only send
    push->open(static_cast<uint32_t>(*window), base::Seq{*after});
  }
  pushes_[call.exchange.connection] = std::move(push);
}

Push::Push(Api& api, net::ConnectionId connection, Principal owner, core::Dialect dialect,
           Kind kind)
    : api_(api),
      connection_(connection),
      owner_(std::move(owner)),
      kind_(kind),
      dialect_(dialect) {}

void Push::open(uint32_t window, base::Seq after) {
  after_ = after;
  stream_ = api_.broker_.open(owner_.workspace, owner_.name, window, *this,
                              [&api = api_, connection = connection_](
                                  const core::Outcome& outcome, std::span<const core::Effect>) {
                                if (!outcome) {
                                  api.server_->close(connection, policy_violation,
                                                     outcome.error().detail);
                                }
                              });
}

void Push::close() {
  if (stream_ != core::stream_none) {
    api_.broker_.close(owner_.workspace, stream_);
  }
}

void Push::stream_closed() {
  api_.server_->close(connection_, going_away, "the agent was removed");
}

bool Push::is_welcome() {
  if (is_current(api_.broker_.machine(), owner_)) {
    return true;
  }
  api_.server_->close(connection_, policy_violation, "the token is not valid any more");
  return false;
}

void Push::deliver(const core::Deliver& delivery, const core::Envelope* envelope) {
  if (!is_welcome()) {
    return;  // closing gives it back
  }
  if (delivery.attempt > 1 && delivery.message <= after_) {
    return;
  }
  const Waiting next{delivery.message, delivery.attempt};
  if (waiting_.empty() && api_.server_->has_room(connection_)) {
    push(next, envelope);
  } else {
    waiting_.push_back(next);
  }
}

void Push::on_drained() { push_waiting(); }

void Push::push_waiting() {
  while (!waiting_.empty() && api_.server_->has_room(connection_)) {
    const Waiting next = waiting_.front();
    waiting_.pop_front();
    push(next, nullptr);
  }
}

// Makes `api_.rendered_` this message for this receiver. False when there is nothing to push.
bool Push::render(base::Seq message, const core::Envelope* envelope) {
  Rendered& rendered = api_.rendered_;
  const core::Tables& t = api_.broker_.machine().find(owner_.workspace)->tables();
  const core::MessageRef ref = t.messages.find(message);
  if (ref == core::none) {
    return false;  // settled meanwhile, by another connection of the agent
  }
  const dialect::Codec* const codec = &codec_of(dialect_);
  if (rendered.message == message && rendered.dialect == codec->dialect) {
    return true;
  }
  auto shown = envelope == nullptr ? envelope_at(api_.broker_, owner_.workspace, message)
                                   : std::expected<core::Envelope, Error>(*envelope);
  if (!shown) {
    return false;  // its lease ends; the journal has reported why
  }
  if (shown->sequence_number == 0) {
    shown->sequence_number = t.messages.message(ref).number;
  }
  // One of several receivers is named in the text, so it serves no other.
  rendered.message = shown->receivers.size() == 1 ? message : base::Seq{};
  rendered.dialect = codec->dialect;
  rendered.text.assign(R"(,"message":)");
  const std::string_view away = redirected_from(t, ref, owner_.ref);
  if (!away.empty()) {
    rendered.message = {};
  }
  codec->encode(*shown,
                {.recipient = owner_.name,
                 .stands_in = !away.empty(),
                 .trace = dialect::EncodeContext::Trace::own_if_sent},
                rendered.text);
  rendered.text.append(R"(,"provenance":)");
  JsonWriter provenance(rendered.text);
  render_provenance(*shown, t.messages.message(ref), away, provenance);
  return true;
}

void Push::push(const Waiting& waiting, const core::Envelope* envelope) {
  if (!render(waiting.message, envelope)) {
    return;
  }
  text_.assign(R"({"op":"message","seq":)").append(std::to_string(waiting.message.n));
  text_.append(R"(,"attempt":)").append(std::to_string(waiting.attempt));
  text_.append(api_.rendered_.text);
  text_ += '}';
  if (kind_ == Kind::events) {
    std::string event;
    append_event(event, waiting.message, text_);
    send_text(event);
  } else {
    send_text(text_);
  }
}

void Push::send_text(std::string_view text) { api_.server_->send(connection_, text); }

void Push::on_message(std::string_view text) {
  if (!is_welcome()) {
    return;
  }
  const auto parsed = api_.document_.parse(text);
  if (!parsed) {
    reply_error("", parsed.error());
    return;
  }
  if (parsed->kind() != lib::JsonKind::array) {
    operation(*parsed);
    return;
  }
  uint64_t count = 0;
  for (const Json op : parsed->elements()) {
    if (++count > operations_max) {
      reply_error("", Error{Code::bad_request,
                            "a batch has at most " + std::to_string(operations_max) + " operations",
                            {}});
      return;
    }
    operation(op);
  }
}

void Push::operation(Json op) {
  if (!op.is_object()) {
    reply_error("", Error{Code::bad_request, "an operation is a JSON object", {}});
    return;
  }
  const Json ref_value = op.find("ref");
  const std::string_view ref = ref_value && ref_value.raw().size() <= 64 ? ref_value.raw() : "";
  const std::string_view name = op.find("op") ? op.find("op").as_string().value_or("") : "";
  if (name == "send") {
    op_send(op, ref);
  } else if (name == "ack" || name == "nack" || name == "reject" || name == "extend") {
    op_settle(op, ref, name);
  } else if (name == "heartbeat") {
    op_heartbeat(op, ref);
  } else if (name == "subscribe" || name == "unsubscribe") {
    op_subscribe(op, ref, name == "subscribe");
  } else {
    reply_error(
        ref,
        Error{Code::bad_request,
              "op is send, ack, nack, reject, extend, subscribe, unsubscribe or heartbeat", "/op"});
  }
}

void Push::op_send(Json op, std::string_view ref) {
  const dialect::Codec* codec = dialect::find_codec(dialect_);
  const Json message = op.find("message");
  if (!message || codec == nullptr) {
    reply_error(ref, codec == nullptr
                         ? Error{Code::unsupported_dialect, "this dialect has no codec yet", {}}
                         : Error{Code::bad_request, "send needs a message", "/message"});
    return;
  }
  const Json key = op.find("idempotency_key");
  const Json lenient = op.find("lenient");
  const Json policy = op.find("on_unavailable");
  const auto on_unavailable =
      parse_on_unavailable(policy ? policy.as_string().value_or("no text") : std::string_view{});
  if (!on_unavailable) {
    reply_error(ref, on_unavailable.error());
    return;
  }
  for (const std::string_view name : {"session", "idempotency_key"}) {
    const Json value = op.find(name);
    if (value && !value.is_null() && !value.as_string()) {
      reply_error(ref, Error{Code::bad_request, std::string(name) + " is a string",
                             "/" + std::string(name)});
      return;
    }
  }
  if (lenient && !lenient.is_null() && !lenient.as_bool()) {
    reply_error(ref, Error{Code::bad_request, "lenient is true or false", "/lenient"});
    return;
  }
  const auto text = [&op](std::string_view name) {
    const Json value = op.find(name);
    return value ? value.as_string().value_or("") : std::string_view{};
  };
  const std::string_view traceparent = text("traceparent");
  api_.submit(owner_, *codec, message,
              {.via = core::Via::websocket,
               .lenient = lenient && lenient.as_bool() == true,
               .idempotency_key = key ? key.as_string().value_or("") : std::string_view{},
               .session = text("session"),
               .traceparent = traceparent,
               .tracestate = traceparent.empty() ? std::string_view{} : text("tracestate"),
               .on_unavailable = *on_unavailable},
              answer_to(ref, Answered::always));
}

void Push::op_settle(Json op, std::string_view ref, std::string_view name) {
  core::Target target;
  const Json id = op.find("id");
  const Json seq = op.find("seq");
  const Json upto = op.find("upto");
  if (upto && name != "ack") {
    reply_error(ref, Error{Code::bad_request, "only ack takes upto", "/upto"});
    return;
  }
  if (const auto place = upto ? upto.as_uint64() : seq ? seq.as_uint64() : std::nullopt) {
    target.seq = base::Seq{*place};
  } else if (const auto parsed = target_in(id)) {
    target = *parsed;
  } else {
    reply_error(ref, parsed.error());
    return;
  }
  const Json reason_value = op.find("reason");
  const std::string_view reason = reason_value ? reason_value.as_string().value_or("") : "";
  const auto duration = duration_member(op, name == "extend" ? "lease" : "retry_after");
  if (!duration) {
    reply_error(ref, Error{Code::bad_request, "a duration is written as 500ms, 30s, 5m or 1h",
                           name == "extend" ? "/lease" : "/retry_after"});
    return;
  }
  core::Command command = core::Ack{target, upto ? stream_ : core::stream_none};
  if (name == "nack") {
    const Json failed = op.find("failed");
    command = core::Nack{target, *duration, reason, !failed || failed.as_bool().value_or(true)};
  } else if (name == "reject") {
    command = core::Reject{target, reason};
  } else if (name == "extend") {
    command = core::Extend{target, *duration};
  }
  api_.broker_.ask(owner_.workspace, owner_.name, std::move(command),
                   answer_to(ref, Answered::if_asked));
}

// The message that an operation names in `id`.
std::expected<core::Target, Error> Push::target_in(Json id) const {
  const auto text = id ? id.as_string() : std::nullopt;
  if (!text || text->empty()) {
    return std::unexpected(
        Error{Code::not_found, "a message is named by `id`, a string, or by `seq`", {}});
  }
  return Names(api_.broker_.machine().find(owner_.workspace)->tables(), owner_).target(*text);
}

void Push::op_subscribe(Json op, std::string_view ref, bool subscribe) {
  const Json topic = op.find("topic");
  const std::string_view name = topic ? topic.as_string().value_or("") : "";
  core::Command command = core::Subscribe{.topic = name};
  if (!subscribe) {
    command = core::Unsubscribe{.topic = name};
  }
  api_.broker_.ask(owner_.workspace, owner_.name, std::move(command),
                   answer_to(ref, Answered::always));
}

void Push::op_heartbeat(Json op, std::string_view ref) {
  const core::Agent& before =
      api_.broker_.machine().find(owner_.workspace)->tables().agents[owner_.ref];
  const auto status = said_member(op, "status", standing_status(before));
  const auto task = said_member(op, "currentTask", before.task);
  const auto tokens = tokens_member(op, "tokens");
  if (!status || !task || !tokens) {
    reply_error(ref, !status ? status.error() : !task ? task.error() : tokens.error());
    return;
  }
  if (auto good = check_status(owner_.dialect, *status); !good) {
    reply_error(ref, good.error());
    return;
  }
  api_.broker_.ask(owner_.workspace, owner_.name,
                   core::Heartbeat{.status = *status, .task = *task, .tokens = *tokens},
                   answer_to(ref, Answered::if_asked));
}

// Replies when the outcome is there, if the connection still is. Refusals are always told.
node::Broker::Done Push::answer_to(std::string_view ref, Answered when) {
  return [&api = api_, connection = connection_, ref = std::string(ref), when](
             const core::Outcome& outcome, std::span<const core::Effect>) {
    const auto at = api.pushes_.find(connection);
    if (at != api.pushes_.end() && (when == Answered::always || !outcome || !ref.empty())) {
      at->second->reply(ref, outcome);
    }
  };
}

void Push::reply(std::string_view ref, const core::Outcome& outcome) {
  if (!outcome) {
    reply_error(ref, outcome.error());
    return;
  }
  text_.assign(R"({"ref":)").append(ref.empty() ? "null" : ref);
  text_.append(R"(,"ok":true)");
  if (outcome->message.n != 0) {
    text_.append(R"(,"seq":)").append(std::to_string(outcome->message.n));
  }
  if (outcome->number != 0) {  // of a send
    append_sent(outcome->message, outcome->skipped);
  }
  if (outcome->delay.us > 0) {
    text_.append(R"(,"state":"queued","delay":")");
    text_.append(rough_duration(outcome->delay)).append("\"");
  }
  if (outcome->duplicate) {
    text_.append(R"(,"duplicate":true)");
  }
  if (outcome->skipped) {
    text_.append(R"(,"skipped":true,"warnings":[)");
    lib::append_json_string(
        text_, task_warning(api_.broker_.machine().find(owner_.workspace)->tables(), *outcome));
    text_.append("]");
  }
  text_.append(R"(,"count":)").append(std::to_string(outcome->count)).append("}");
  send_text(text_);
}

// What the sender may not know yet: the id, and that not everyone could be reached.
void Push::append_sent(base::Seq seq, bool skipped) {
  const core::Tables& t = api_.broker_.machine().find(owner_.workspace)->tables();
  const core::Messages& messages = t.messages;
  if (const core::MessageRef ref = messages.find(seq); ref != core::none) {
    const core::Message& message = messages.message(ref);
    text_.append(R"(,"id":)");
    lib::append_json_string(text_,
                            id_text(api_.broker_, owner_.workspace, message, dialect_));
    if (message.dead_letters > 0 && !skipped) {
      text_.append(R"(,"warnings":["not every receiver could be reached"])");
    }
    if (message.delivery_count == 1) {
      const core::AgentRef receiver = messages.delivery(message.deliveries).receiver;
      if (const auto away = redirected_from(t, ref, receiver); !away.empty()) {
        text_.append(R"(,"receiver":)");
        lib::append_json_string(text_, t.agents[receiver].name);
        text_.append(R"(,"redirected_from":)");
        lib::append_json_string(text_, away);
      }
    }
  }
}

void Push::reply_error(std::string_view ref, const Error& error) {
  std::string text = R"({"ref":)";
  text.append(ref.empty() ? "null" : ref).append(R"(,"ok":false,"error":)");
  text.append(api_.problem_text(error)).append("}");
  send_text(text);
}

}  // namespace parley::edge
