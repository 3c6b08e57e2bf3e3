// SPDX-License-Identifier: Apache-2.0
#include "edge/push.h"

#include <algorithm>

#include "edge/api/context.h"
#include "edge/events.h"
#include "edge/render.h"
#include "lib/json_writer.h"

namespace parley::edge {

namespace {

using base::Code;
using base::Error;
using lib::JsonWriter;

constexpr uint64_t window_default = 64;
constexpr size_t batch_max = 128;  // messages that are pushed to one stream at once
constexpr uint16_t policy_violation = 1008;
constexpr uint16_t going_away = 1001;

constexpr int switching_protocols = 101;

// What the client saw of a former stream. What it names itself must be a mark. What a browser keeps
// and sends in a header by itself may be anything: then nothing counts as seen, and all is offered.
std::expected<core::ResumeMark, Error> mark_after(const Call& call, std::string_view last_event) {
  const auto after = call.parameter("after");
  const auto named = after ? parse_mark(*after) : std::nullopt;
  if (!after || named) {
    // It comes back by itself with the URL that it began with.
    return parse_mark(last_event).value_or(named.value_or(core::ResumeMark{}));
  }
  return std::unexpected(
      bad_parameter("after",
                    "a mark, such as 12-5: the `mark` of the last message that you saw, or the id "
                    "of its event. A seq is none: messages do not come in the order of the log"));
}

}  // namespace

void Pushes::open(const Call& call, Push::Kind kind) {
  const bool is_events = kind == Push::Kind::events;
  const uint64_t window_max = call.tables().rules.window_max;
  const uint64_t window = call.number("window", std::min(window_default, window_max));
  // A browser that connects again says in a header what it had last.
  const auto after =
      mark_after(call, is_events ? call.request.header("last-event-id") : std::string_view{});
  const auto dialect = call.wanted_dialect();
  if (window > window_max) {
    call.refuse(bad_parameter("window", "a whole number up to " + std::to_string(window_max)));
    return;
  }
  if (is_events && window == 0) {  // it cannot send: nothing would be left to do
    call.refuse(bad_parameter("window", "at least 1 here"));
    return;
  }
  if (!after || !dialect) {
    call.refuse(!after ? after.error() : dialect.error());
    return;
  }
  start(call,
        std::make_unique<Push>(context_, call.exchange.connection, call.caller, *dialect, kind),
        {.window = static_cast<uint32_t>(window), .after = *after});
}

void Pushes::start(const Call& call, std::unique_ptr<Push> push,
                   const node::Broker::Opening& opening) {
  const net::Exchange exchange = call.exchange;
  const auto [at, is_new] = pushes_.try_emplace(exchange.connection, std::move(push));
  if (!is_new) {  // pipelined: when the first is allowed, nothing behind it is answered
    call.refuse(Error{Code::conflict, "a stream is being opened on this connection", {}});
    return;
  }
  if (opening.window == 0) {  // for those who only send
    at->second->begin(exchange);
    return;
  }
  // Refused at once, the Push is gone when this returns.
  const core::StreamId stream = context_.broker.open(
      call.caller.workspace, call.caller.name, opening, *at->second,
      [this, exchange](const core::Outcome& outcome, std::span<const core::Effect>) {
        on_opened(exchange, outcome);
      });
  if (const auto opened = pushes_.find(exchange.connection); opened != pushes_.end()) {
    opened->second->set_stream(stream, opening.after);
  }
}

// A client that is refused must be told so by the status: it would take the end of a stream for a
// lost connection, and come back for ever.
void Pushes::on_opened(const net::Exchange& exchange, const core::Outcome& outcome) {
  const auto at = pushes_.find(exchange.connection);
  if (at == pushes_.end()) {
    return;  // it hung up
  }
  if (outcome) {
    at->second->begin(exchange);
    return;
  }
  pushes_.erase(at);
  context_.refuse(exchange, outcome.error());
}

Push* Pushes::find(net::ConnectionId connection) {
  const auto at = pushes_.find(connection);
  return at == pushes_.end() ? nullptr : at->second.get();
}

void Pushes::on_message(net::ConnectionId connection, std::string_view text) {
  if (Push* const push = find(connection)) {
    push->on_message(text);
  }
}

void Pushes::on_drained(net::ConnectionId connection) {
  if (Push* const push = find(connection)) {
    push->push_waiting();
  }
}

void Pushes::on_closed(net::ConnectionId connection) {
  if (const auto at = pushes_.find(connection); at != pushes_.end()) {
    at->second->close();
    pushes_.erase(at);
  }
}

Push::Push(Context& context, net::ConnectionId connection, Principal owner, core::Dialect dialect,
           Kind kind)
    : context_(context),
      connection_(connection),
      owner_(std::move(owner)),
      kind_(kind),
      dialect_(dialect),
      operations_(context, connection_, owner_, dialect, place_) {}

void Push::begin(const net::Exchange& exchange) {
  if (kind_ == Kind::websocket) {
    context_.server->accept_websocket(exchange);
  } else {
    net::Response head;
    head.content_type = "text/event-stream";
    head.headers.emplace_back("Cache-Control", "no-store");
    context_.server->start_stream(exchange, head);
  }
  context_.metrics.requests.answered(exchange, kind_ == Kind::websocket ? switching_protocols : 200,
                                     context_.clock.now());
  if (const core::StreamRef ref = tables().streams.find(place_.stream); ref != core::none) {
    place_.pushed = {tables().streams[ref].number, 0};
  }
  // What it saw before is known by the marks of this stream from now on. An event without data
  // changes nothing for a browser but the id that it sends when it comes back.
  if (!place_.after.is_none()) {
    send_text(kind_ == Kind::websocket
                  ? R"({"op":"resumed","mark":")" + mark_text(place_.pushed) + "\"}"
                  : "id: " + mark_text(place_.pushed) + "\n\n");
  }
}

const core::Tables& Push::tables() const { return context_.tables(owner_.workspace); }

void Push::close() {
  if (place_.stream != core::stream_none) {
    context_.broker.close(owner_.workspace, place_.stream);
  }
}

void Push::stream_closed() {
  context_.server->close(connection_, going_away,
                         is_current(context_.broker.machine(), owner_)
                             ? "another connection resumed this stream"
                             : "the agent was removed");
}

bool Push::is_welcome() {
  if (is_current(context_.broker.machine(), owner_)) {
    return true;
  }
  context_.server->close(connection_, policy_violation, "the token is not valid any more");
  return false;
}

void Push::deliver(const core::Deliver& delivery, const core::Envelope* envelope) {
  if (!is_welcome()) {
    return;  // closing gives it back
  }
  const Waiting next{delivery.message, delivery.attempt, delivery.mark, delivery.delivery};
  if (!is_held(next)) {
    return;  // the entry that ended its lease has settled it as well
  }
  if (const base::Seq entry = context_.broker.machine().seq(); entry != newest_entry_) {
    newest_entry_ = entry;
    pushed_of_entry_ = 0;
  }
  const bool is_at_hand = envelope != nullptr || context_.broker.records().is_warm(next.message);
  if (waiting_.empty() && is_at_hand && pushed_of_entry_ < batch_max &&
      context_.server->has_room(connection_)) {
    ++pushed_of_entry_;
    push(next, envelope);
    return;
  }
  waiting_.push_back(next);
  if (pushed_of_entry_ == batch_max) {
    push_later();
  } else if (!is_posted_) {
    push_waiting();
  }
}

void Push::push_waiting(size_t looked_for) {
  for (size_t pushed = 0; !waiting_.empty() && context_.server->has_room(connection_);) {
    if (pushed == batch_max) {
      push_later();
      return;
    }
    const Waiting next = waiting_.front();
    if (!is_held(next)) {
      waiting_.pop_front();
      looked_for -= std::min<size_t>(looked_for, 1);
      continue;
    }
    if (looked_for == 0 && !context_.broker.records().is_warm(next.message)) {
      warm_up();
      return;
    }
    looked_for -= std::min<size_t>(looked_for, 1);
    waiting_.pop_front();
    push(next, nullptr);
    ++pushed;
  }
}

// One entry hands out a whole window; to make thousands of frames of it takes longer than a turn
// may.
void Push::push_later() {
  if (std::exchange(is_posted_, true)) {
    return;
  }
  context_.server->post([&context = context_, connection = connection_] {
    if (Push* const push = context.pushes->find(connection)) {
      push->end_post();
      push->push_waiting();
    }
  });
}

// Whether the stream still holds it. What was settled meanwhile, and its client was told so, does
// not come again: while it waited for room, or by the entry that handed it out, whose outcome is
// told before its effects. Nor does what was given back, which comes by itself.
bool Push::is_held(const Waiting& waiting) const {
  const core::Messages& messages = tables().messages;
  const core::MessageRef ref = messages.find(waiting.message);
  if (ref == core::none) {
    return false;
  }
  const core::Delivery& delivery = messages.delivery(waiting.delivery);
  return delivery.message == ref && delivery.receiver == owner_.ref &&
         delivery.stream != core::none && delivery.mark == waiting.mark;
}

// A stream that opens over old mail has it read beside the loop, some at a time, in its order.
void Push::warm_up() {
  if (std::exchange(is_warming_, true)) {
    return;
  }
  constexpr size_t records_max = 64;  // less than a batch: all of them are looked for at once
  constexpr size_t bytes_max = size_t{256} << 10;
  const core::Messages& messages = tables().messages;
  std::vector<base::Seq> next;
  for (size_t bytes = 0;
       next.size() < std::min(waiting_.size(), records_max) && bytes < bytes_max;) {
    next.push_back(waiting_[next.size()].message);
    const core::MessageRef ref = messages.find(next.back());
    bytes += ref == core::none ? 0 : messages.message(ref).whole_bytes;
  }
  context_.broker.records().warm(
      next, [&context = context_, connection = connection_, count = next.size()] {
        if (Push* const push = context.pushes->find(connection)) {
          push->end_warming();
          push->push_waiting(count);
        }
      });
}

// Makes `rendered` this message for this receiver. False when there is nothing to push.
bool Push::render(const Waiting& waiting, const core::Envelope* envelope) {
  Rendered& rendered = context_.pushes->rendered;
  const core::Tables& t = tables();
  const base::Seq message = waiting.message;
  if (!is_held(waiting)) {
    return false;
  }
  const core::MessageRef ref = t.messages.find(message);
  const dialect::Codec* const codec = &codec_of(dialect_);
  const std::string_view away = redirected_from(t, waiting.delivery);
  if (rendered.serves(message, codec->dialect, owner_.name, away)) {
    return true;
  }
  auto shown = envelope == nullptr ? envelope_at(context_.broker, owner_.workspace, message)
                                   : std::expected<core::Envelope, Error>(*envelope);
  if (!shown) {
    give_back(message);  // the journal has reported why
    return false;
  }
  if (shown->sequence_number == 0) {
    shown->sequence_number = t.messages.message(ref).number;
  }
  rendered.message = message;
  rendered.dialect = codec->dialect;
  rendered.redirected_from = away;
  // One of several receivers is named in the text, and so is who got it in another's place.
  const bool names_reader = shown->receivers.size() != 1 || !away.empty();
  rendered.reader = names_reader ? std::string_view(owner_.name) : std::string_view{};
  rendered.text.assign(R"(,"message":)");
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

// What cannot be read is not pushed: an ack of all up to a later one must not cover it.
void Push::give_back(base::Seq message) {
  const Duration delay = std::min<Duration>(base::seconds(1), tables().rules.nack_delay_max);
  context_.broker.ask(owner_.workspace, owner_.name,
                      core::Nack{{.seq = message, .id = {}}, delay, "the broker could not read it"},
                      [](const core::Outcome&, std::span<const core::Effect>) {});
}

void Push::push(const Waiting& waiting, const core::Envelope* envelope) {
  if (!render(waiting, envelope)) {
    return;
  }
  const std::string mark = mark_text(waiting.mark);
  text_.assign(R"({"op":"message","seq":)").append(std::to_string(waiting.message.n));
  text_.append(R"(,"attempt":)").append(std::to_string(waiting.attempt));
  text_.append(R"(,"mark":")").append(mark).append("\"");
  text_.append(context_.pushes->rendered.text);
  text_ += '}';
  place_.pushed = waiting.mark;
  if (kind_ == Kind::events) {
    std::string event = "id: " + mark + "\nevent: message\n";
    append_event_data(event, text_);
    send_text(event);
  } else {
    send_text(text_);
  }
}

void Push::send_text(std::string_view text) { context_.server->send(connection_, text); }

void Push::on_message(std::string_view text) {
  if (is_welcome()) {
    operations_.take(text);
  }
}

}  // namespace parley::edge
