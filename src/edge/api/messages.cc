// SPDX-License-Identifier: Apache-2.0
// Sending, reading and settling messages over HTTP.
#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>

#include "base/hash.h"
#include "base/text.h"
#include "base/trace.h"
#include "core/dead_letters/dead_letter_acts.h"
#include "edge/api/api.h"
#include "edge/redact.h"
#include "edge/render.h"
#include "lib/crypto.h"

namespace parley::edge {

namespace {

using base::Code;
using lib::Json;
using lib::JsonWriter;

constexpr uint64_t batch_max = 1'000;
constexpr uint64_t inbox_max = 1'000;
constexpr uint64_t recipients_listed_max = 100;
constexpr size_t causes_max = 16;
constexpr Duration wait_max = base::minutes(10);

// The trace that its sender names beside the message, where the message names none itself.
void join_trace(std::string_view traceparent, std::string_view tracestate,
                core::Envelope& envelope) {
  if (traceparent.empty() || !envelope.trace_id.is_none()) {
    return;
  }
  if (const auto parent = base::parse_traceparent(traceparent)) {
    envelope.trace_id = parent->trace_id;
    envelope.parent_span_id = parent->span_id;
    envelope.trace_sampled = parent->sampled;
    envelope.tracestate = base::is_tracestate(tracestate) ? tracestate : std::string_view{};
  }
}

// A trace begins with this message and has its id: a UUID is as good as random. An id that is made
// of the sender's own words may come again, so there the time is in it as well.
void begin_trace(base::Time now, core::Envelope& envelope) {
  envelope.trace_id = envelope.id;
  if (!envelope.native_id.empty()) {
    const uint64_t salt = base::hash64(envelope.sender, static_cast<uint64_t>(now.us));
    const uint64_t high = base::mix64(envelope.id.high(), salt);
    const uint64_t low = base::mix64(envelope.id.low(), high);
    std::memcpy(envelope.trace_id.bytes.data(), &high, sizeof high);
    std::memcpy(envelope.trace_id.bytes.data() + sizeof high, &low, sizeof low);
  }
}

// The outcomes of a batch, as they come in; the answer leaves with the last.
struct BatchAnswer {
  std::vector<std::string> results;
  size_t left = 0;
};

std::string joined(const BatchAnswer& batch) {
  std::string text = "{\"results\":[";
  for (size_t n = 0; n < batch.results.size(); ++n) {
    text.append(n == 0 ? "" : ",").append(batch.results[n]);
  }
  return text + "]}";
}

// A result or an error in a task that the one who gave it does not get leaves the task open, which
// its sender should know; else empty.
std::string untold_outcome(const core::Tables& t, const Principal& caller,
                           const core::Envelope& sent) {
  if (sent.task.empty() || sent.kind == core::Kind::response ||
      (sent.type != "result" && sent.type != "error")) {
    return {};
  }
  const auto& to = sent.receivers;
  const core::Task* const task =
      t.tasks.find(core::TaskReport{sent.task, caller.name, sent.thread, to});
  const bool gets_it =
      task == nullptr || to.front() == "*" || std::ranges::find(to, task->director) != to.end();
  return gets_it || !task->is_open() ? std::string()
                                     : "task \"" + task->id + "\" stays open: \"" + task->director +
                                           "\", who gave it, does not get this";
}

// One who speaks another dialect in this call is answered in it.
Principal speaking(Principal caller, const dialect::Codec& codec) {
  caller.dialect = codec.dialect;
  return caller;
}

// Who does not get the message, as warnings: each of a few, and that there are more.
void render_unreached(const core::Tables& t, core::MessageRef ref, JsonWriter& out) {
  constexpr size_t named_max = 3;
  size_t named = 0;
  core::DeliveryRef d = t.messages.message(ref).deliveries;
  for (; d != core::none && named < named_max; d = t.messages.delivery(d).sibling) {
    const core::Agent& receiver = t.agents[t.messages.delivery(d).receiver];
    if (t.messages.delivery(d).state == core::State::dead) {
      ++named;
      out.text(receiver.is_registered()
                   ? "\"" + receiver.name + "\" could not be reached"
                   : no_such_name(t, receiver.name) + ": a dead letter keeps the message");
    }
  }
  if (d != core::none) {
    out.text("not every receiver could be reached: see the states of the recipients");
  }
}

// The sender hears of a field in its own words.
node::Broker::Done in_words_of(const dialect::Codec& codec, node::Broker::Done done) {
  if (codec.dialect == core::Dialect::flow) {
    return done;  // the machine's words are flow's
  }
  return [field = codec.field, done = std::move(done)](
             const core::Outcome& outcome, std::span<const core::Effect> effects) mutable {
    if (outcome || outcome.error().field.empty()) {
      done(outcome, effects);
      return;
    }
    Error error = outcome.error();
    error.field = field(error.field);
    done(std::unexpected(std::move(error)), effects);
  };
}

}  // namespace

std::expected<core::Dialect, Error> Api::wanted_dialect(const Call& call) {
  const std::string_view header = call.request.header("parley-dialect");
  const auto name = header.empty() ? call.parameter("dialect")
                                   : call.parameter("dialect").value_or(std::string(header));
  if (!name) {
    return call.caller.dialect;
  }
  if (const dialect::Codec* codec = dialect::find_codec(*name)) {
    return codec->dialect;
  }
  return std::unexpected(
      Error{Code::unsupported_dialect, "no message can be written in the dialect " + *name, {}});
}

std::expected<core::Target, Error> Api::target_of(const Call& call, Names::First first) const {
  return Names(tables(call), call.caller).target(call.arguments[0], first);
}

std::expected<dialect::Codec, Error> Api::codec_for(const Call& call) const {
  const std::string_view wanted = call.request.header("parley-dialect");
  const dialect::Codec* codec =
      wanted.empty() ? dialect::find_codec(call.caller.dialect) : dialect::find_codec(wanted);
  if (codec == nullptr) {
    return std::unexpected(
        Error{Code::unsupported_dialect,
              "the dialect " +
                  std::string(wanted.empty() ? dialect::name_of(call.caller.dialect) : wanted) +
                  " cannot be spoken yet; add the header `Parley-Dialect: flow`",
              {}});
  }
  return *codec;
}

std::expected<core::Send, Error> Api::decode(const Principal& caller, const dialect::Codec& codec,
                                             Json message, const Submission& submission) {
  dialect::DecodeContext context;
  context.sender = caller.name;
  context.received = clock_.now();
  // Asking the system for randomness costs more than all the rest, and most messages have an id.
  if (spare_id_.is_none()) {
    spare_id_ = lib::random_uuid();
  }
  context.fallback_id = spare_id_;
  context.lenient = submission.lenient;
  context.derive = &lib::derived_id;
  const Names lookup(broker_.machine().find(caller.workspace)->tables(), caller);
  context.lookup = &lookup;
  const core::Rules& rules = broker_.machine().find(caller.workspace)->tables().rules;
  context.bytes_max = codec.dialect == core::Dialect::collab  ? rules.collab_message_bytes_max
                      : codec.dialect == core::Dialect::inbox ? rules.inbox_content_bytes
                                                              : 0;
  auto envelope = codec.decode(message, context, texts_);
  if (!envelope) {
    return std::unexpected(envelope.error());
  }
  if (envelope->id == spare_id_) {
    spare_id_ = {};
  }
  if (!submission.idempotency_key.empty()) {
    envelope->idempotency_key = dialect::key_of(lib::derived_id, submission.idempotency_key);
  }
  if (envelope->session.empty()) {
    envelope->session = submission.session;
  }
  envelope->via = submission.via;
  envelope->sender_kind = caller.kind;
  join_trace(submission.traceparent, submission.tracestate, *envelope);
  const base::MessageId cause = add_causes(caller, *envelope);
  if (envelope->trace_id.is_none()) {
    begin_trace(context.received, *envelope);
  }
  name_task(caller, *envelope);
  if (envelope->thread.empty() && !envelope->task.empty()) {
    envelope->thread = task_thread(caller, *envelope);
  }
  if (envelope->thread.empty()) {
    // A message without a conversation begins one of its own.
    texts_.push_back(base::format_uuid(envelope->id));
    envelope->thread = texts_.back();
  }
  return core::Send{.envelope = std::move(*envelope), .cause = cause};
}

// The message that this one answers, or that it names as its cause, has causes of its own: they
// all stand behind this one. Only what the sender received counts, so that no one can lend itself
// another's authority. Says which message it is.
base::MessageId Api::add_causes(const Principal& caller, core::Envelope& envelope) {
  const core::Tables& t = broker_.machine().find(caller.workspace)->tables();
  base::MessageId cause = envelope.in_reply_to;
  if (cause.is_none() && !envelope.causation.empty()) {
    cause = Names(t, caller).find_received(envelope.causation, {}).value_or(base::MessageId{});
  }
  const core::MessageRef ref =
      cause.is_none() ? core::none : t.messages.find_received(caller.ref, cause);
  if (ref == core::none) {
    return cause;
  }
  const auto before = envelope_at(broker_, caller.workspace, t.messages.message(ref).seq);
  if (!before) {
    return cause;
  }
  take_from_cause(*before, envelope);
  if (!envelope.in_reply_to.is_none()) {
    envelope.question = texts_.emplace_back(before->native_id);
  }
  if (envelope.kind == core::Kind::response) {
    follow_question(caller, *before, envelope);
  }
  const auto add = [&](std::string_view name) {
    auto& causes = envelope.on_behalf_of;
    if (causes.size() < causes_max && name != caller.name &&
        std::ranges::find(causes, name) == causes.end()) {
      texts_.emplace_back(name);
      causes.push_back(texts_.back());
    }
  };
  std::ranges::for_each(before->on_behalf_of, add);
  add(before->sender);
  return cause;
}

// What goes on from one message to those that it causes: the conversation, the trace, and along a
// chain (CO-05) the correlation.
void Api::take_from_cause(const core::Envelope& cause, core::Envelope& envelope) {
  const auto keep = [this](std::string_view text) {
    return std::string_view(texts_.emplace_back(text));
  };
  if (envelope.thread.empty()) {
    envelope.thread = keep(cause.thread);
  }
  if (envelope.correlation.empty() && !envelope.causation.empty() && !cause.correlation.empty()) {
    envelope.correlation = keep(cause.correlation);
  }
  if (envelope.trace_id.is_none() && !cause.trace_id.is_none()) {
    envelope.trace_id = cause.trace_id;
    envelope.parent_span_id = base::message_span(cause.id, cause.sender);
    envelope.trace_sampled = cause.trace_sampled;
    envelope.tracestate = cause.tracestate.empty() ? std::string_view{} : keep(cause.tracestate);
  }
}

void Api::submit(const Principal& caller, const dialect::Codec& codec, Json message,
                 const Submission& submission, node::Broker::Done done) {
  auto command = decode(caller, codec, message, submission);
  done = in_words_of(codec, std::move(done));
  if (command && asks(command->envelope.kind) && codec.dialect != core::Dialect::flow) {
    done = in_ids_of(caller, codec.dialect, dialect::id_in(codec.dialect, command->envelope),
                     std::move(done));
  }
  const Json metadata = message.is_object() ? message.find("metadata") : Json();
  const auto tokens = metadata && metadata.is_object()
                          ? tokens_member(metadata, "tokens_used", "/metadata/")
                          : std::expected<uint64_t, Error>(0);
  if (command && !tokens) {
    command = std::unexpected(tokens.error());
  }
  if (command) {
    if (auto good = check_reply_to(caller, codec, command->envelope); !good) {
      command = std::unexpected(good.error());
    }
  }
  if (!command) {
    metrics_.refused_message(command.error().code, caller.name);
  }
  if (command) {
    core::Envelope& envelope = command->envelope;
    if (!submission.receivers.empty()) {
      envelope.receivers = submission.receivers;
    }
    command->gathering = submission.gathering;
    command->later_stages = submission.later_stages;
    command->tokens = *tokens;
    command->on_unavailable = submission.on_unavailable;
    command->wait = submission.wait;
    broker_.ask(caller.workspace, caller.name, std::move(*command), std::move(done));
  } else if (message.is_object() && command.error().code != Code::sender_mismatch) {
    keep_malformed(caller, message.raw(), command.error(), std::move(done));
  } else {
    done(std::unexpected(command.error()), {});
  }
}

// The sender hears what is wrong once the dead letter is there. Beyond the limit none is asked for,
// so that a flood of nonsense costs no disk.
void Api::keep_malformed(const Principal& caller, std::string_view text, const Error& error,
                         node::Broker::Done done) {
  const core::Tables& t = broker_.machine().find(caller.workspace)->tables();
  if (!core::keeps_malformed(t, caller.ref, clock_.now())) {
    done(std::unexpected(error), {});
    return;
  }
  const uint64_t bytes_max = t.rules.malformed_bytes_max;
  const std::string kept(base::cut(redacted(text, bytes_max), bytes_max));
  std::string what = error.field.empty() ? error.detail : error.field + ": " + error.detail;
  what = base::cut(what, t.rules.reason_bytes_max);  // the field may be named as its sender liked
  broker_.ask(
      caller.workspace, caller.name, core::Malformed{.text = kept, .error = what},
      [error, done = std::move(done)](const core::Outcome&, std::span<const core::Effect>) mutable {
        done(std::unexpected(error), {});
      });
}

void Api::send(Call& call) {
  const auto parsed = document_.parse(call.request.body);
  if (!parsed) {
    refuse(call.exchange, parsed.error());
    return;
  }
  if (parsed->kind() == lib::JsonKind::array) {
    send_batch(call, *parsed);
  } else {
    send_one(call, *parsed);
  }
}

void Api::send_one(Call& call, Json message) {
  const auto wait = call.duration("wait", Duration{}, wait_max);
  const auto lenient = call.flag("lenient");
  const auto codec = codec_for(call);
  const std::string session = call.parameter("session").value_or("");
  const auto on_unavailable = parse_on_unavailable(call.parameter("on_unavailable").value_or(""));
  if (!wait || !codec || !lenient || !on_unavailable) {
    refuse(call.exchange, !wait      ? wait.error()
                          : !codec   ? codec.error()
                          : !lenient ? lenient.error()
                                     : on_unavailable.error());
    return;
  }
  submit(call.caller, *codec, message,
         {.via = call.via,
          .lenient = *lenient,
          .idempotency_key = call.request.header("idempotency-key"),
          .session = session,
          .traceparent = call.request.header("traceparent"),
          .tracestate = call.request.header("tracestate"),
          .on_unavailable = *on_unavailable,
          .wait = *wait},
         [this, exchange = call.exchange, caller = speaking(call.caller, *codec), wait = *wait](
             const core::Outcome& outcome, std::span<const core::Effect>) {
           if (!outcome) {
             refuse(exchange, outcome.error());
           } else if (wait.us > 0) {
             await_answer(exchange, caller, outcome->message, wait);
           } else {
             respond(exchange, json_response(202, receipt_text(caller, *outcome)));
           }
         });
}

void Api::send_batch(Call& call, Json messages) {
  const auto codec = codec_for(call);
  const auto lenient = call.flag("lenient");
  const auto on_unavailable = parse_on_unavailable(call.parameter("on_unavailable").value_or(""));
  if (!codec || !lenient || !on_unavailable) {
    refuse(call.exchange, !codec     ? codec.error()
                          : !lenient ? lenient.error()
                                     : on_unavailable.error());
    return;
  }
  if (call.parameter("wait") || !call.request.header("idempotency-key").empty()) {
    refuse(call.exchange, Error{Code::bad_request,
                                "wait and Idempotency-Key are for one message; in a batch each has "
                                "its own idempotency_key",
                                {}});
    return;
  }
  const auto batch = std::make_shared<BatchAnswer>();
  for (const Json message : messages.elements()) {
    (void)message;
    ++batch->left;
  }
  if (batch->left == 0 || batch->left > batch_max) {
    refuse(call.exchange, Error{Code::bad_request,
                                "a batch has 1 to " + std::to_string(batch_max) + " messages",
                                {}});
    return;
  }
  batch->results.resize(batch->left);
  const std::string session = call.parameter("session").value_or("");
  const Submission submission{.via = call.via,
                              .lenient = *lenient,
                              .idempotency_key = {},
                              .session = session,
                              .traceparent = call.request.header("traceparent"),
                              .tracestate = call.request.header("tracestate"),
                              .on_unavailable = *on_unavailable};
  size_t at = 0;
  for (const Json message : messages.elements()) {
    submit(call.caller, *codec, message, submission,
           [this, batch, at, exchange = call.exchange, caller = speaking(call.caller, *codec)](
               const core::Outcome& outcome, std::span<const core::Effect>) {
             batch->results[at] =
                 outcome ? receipt_text(caller, *outcome) : problem_text(outcome.error());
             if (--batch->left == 0) {
               respond(exchange, json_response(202, joined(*batch)));
             }
           });
    ++at;
  }
}

std::string Api::receipt_text(const Principal& caller, const core::Receipt& receipt) {
  const core::Tables& t = broker_.machine().find(caller.workspace)->tables();
  const core::MessageRef ref = t.messages.find(receipt.message);
  std::string text;
  JsonWriter out(text);
  out.object();
  if (ref != core::none) {
    out.key("id").text(id_text(broker_, caller.workspace, t.messages.message(ref), caller.dialect));
  }
  out.key("seq").number(receipt.message.n);
  out.key("state").text(receipt.delay.us > 0 ? "queued" : "accepted");
  if (receipt.delay.us > 0) {
    out.key("delay").text(rough_duration(receipt.delay));
  }
  if (receipt.duplicate) {
    out.key("duplicate").boolean(true);
  }
  if (receipt.skipped) {
    out.key("skipped").boolean(true);
  }
  std::string untold;
  if (const auto sent = envelope_at(broker_, caller.workspace, receipt.message)) {
    out.key("thread").text(sent->thread);
    untold = untold_outcome(t, caller, *sent);
  }
  if (receipt.number != 0) {
    out.key("sequence_number").number(receipt.number);
  }
  // A task that was reassigned meanwhile has more of them than it was sent to.
  const uint64_t recipients =
      ref == core::none ? receipt.count : t.messages.message(ref).delivery_count;
  out.key("recipients");
  if (ref != core::none && recipients <= recipients_listed_max) {
    render_deliveries(t, caller, ref, out);
  } else {
    out.array().end_array();
  }
  if (ref != core::none && t.messages.message(ref).to_many()) {
    render_counts(t, ref, out);
  } else {
    out.key("recipient_count").number(recipients);
  }
  out.key("warnings").array();
  for (const std::string& warning : {task_warning(t, receipt), untold, unfit_warning(t, receipt)}) {
    if (!warning.empty()) {
      out.text(warning);
    }
  }
  if (recipients == 1 && ref != core::none) {
    const core::AgentRef receiver =
        t.messages.delivery(t.messages.message(ref).deliveries).receiver;
    if (const auto away = redirected_from(t, ref, receiver); !away.empty()) {
      out.text("\"" + std::string(away) + "\" is away; redirected to \"" + t.agents[receiver].name +
               "\"");
    }
  }
  if (ref != core::none && t.messages.message(ref).dead_letters > 0) {
    if (sees_receivers(t, caller, t.messages.message(ref))) {
      render_unreached(t, ref, out);
    } else {
      out.text("not every subscriber could be reached: see the states");
    }
  }
  const core::Agent& sender = t.agents[caller.ref];
  if (caller.dialect == core::Dialect::inbox &&
      (sender.dialect != core::Dialect::inbox || sender.role.empty())) {
    out.text("you have no role in inbox: you count as a director");
  }
  const auto& pipelines = t.patterns.pipelines();
  const auto pipeline = pipelines.find(receipt.message);
  if (pipeline != pipelines.end() && pipeline->second.waits_to_begin()) {
    out.text("\"" + pipeline->second.stages.front().agent +
             "\" is busy: the pipeline waits before it");
  } else if (receipt.count == 0 && pipeline == pipelines.end()) {
    out.text("nobody subscribes to this topic now; it is kept for late subscribers");
  }
  out.end_array().end_object();
  return text;
}

void Api::inbox(Call& call) {
  const auto limit = call.count("limit", 100, inbox_max);
  const auto wait = call.duration("wait", Duration{}, wait_max);
  const auto dialect = wanted_dialect(call);
  if (!limit || !wait || !dialect) {
    refuse(call.exchange, !limit ? limit.error() : !wait ? wait.error() : dialect.error());
    return;
  }
  Principal reader = call.caller;
  reader.dialect = *dialect;
  if (wait->us == 0 || tables(call).agents[call.caller.ref].inbox.first() != core::none) {
    answer_inbox(call.exchange, reader, *limit);
    return;
  }
  const net::Exchange exchange = call.exchange;
  const auto timer = std::make_shared<Waits::Id>(0);
  const auto answer = [this, exchange, caller = reader, limit = *limit] {
    waiting_.erase(exchange);
    answer_inbox(exchange, caller, limit);
  };
  const node::Broker::Waiter waiter =
      broker_.on_mail(call.caller.workspace, call.caller.ref, [this, timer, answer] {
        waits_.remove(*timer);
        answer();
      });
  *timer = waits_.add(clock_.now() + *wait, [this, waiter, answer] {
    broker_.forget(waiter);
    answer();
  });
  waiting_[exchange] = {reader, [this, waiter, timer] {
                          waits_.remove(*timer);
                          broker_.forget(waiter);
                        }};
  stay_present(exchange, call.caller);
}

void Api::answer_inbox(const net::Exchange& exchange, const Principal& caller, uint64_t limit) {
  if (!is_still_good(exchange, caller)) {
    return;
  }
  const core::Tables& t = broker_.machine().find(caller.workspace)->tables();
  std::vector<base::Seq> listed;
  const uint64_t count = t.agents[caller.ref].inbox.ready(t.messages);
  t.agents[caller.ref].inbox.walk(t.messages, [&](core::DeliveryRef d) {
    listed.push_back(t.messages.message_of(d).seq);
    return listed.size() < limit;
  });
  struct Made {
    uint64_t shown = 0;
    std::string text{};
    JsonWriter out{text};
  };
  const auto made = std::make_shared<Made>();
  made->out.array();
  list(exchange, caller,
       {.records = std::move(listed),
        .each =
            [this, made, caller](base::Seq seq) {
              const core::Tables& now = broker_.machine().find(caller.workspace)->tables();
              const core::MessageRef message = now.messages.find(seq);
              const auto envelope = envelope_at(broker_, caller.workspace, seq);
              if (message != core::none && envelope) {
                ++made->shown;
                render_notification(*envelope, now.messages.message(message), caller.dialect,
                                    redirected_from(now, message, caller.ref), made->out);
              }
              return true;
            },
        .answer =
            [made, count] {
              made->out.end_array();
              std::string text;
              JsonWriter out(text);
              out.object().key("count").number(count).key("shown").number(made->shown);
              out.key("more").boolean(count > made->shown).key("notifications").raw(made->text);
              out.end_object();
              return json_response(200, std::move(text));
            }});
}

void Api::show_message(Call& call) {
  const auto target = target_of(call);
  const auto dialect = wanted_dialect(call);
  if (!target || !dialect) {
    refuse(call.exchange, !target ? target.error() : dialect.error());
    return;
  }
  const core::Tables& t = tables(call);
  core::MessageRef ref = target->seq.n != 0 ? t.messages.find(target->seq)
                                            : t.messages.find_received(call.caller.ref, target->id);
  if (ref == core::none && target->seq.n == 0) {
    ref = t.messages.find_sent(call.caller.ref, target->id);
  }
  const bool received =
      ref != core::none && t.messages.delivery_to(ref, call.caller.ref) != core::none;
  const bool sent = ref != core::none && t.messages.message(ref).sender == call.caller.ref;
  if (!received && !sent) {
    show_old_message(call.exchange, call.caller, *target, call.arguments[0], *dialect);
    return;
  }
  const base::Seq seq = t.messages.message(ref).seq;
  const auto show = [this, exchange = call.exchange, caller = call.caller, seq, dialect] {
    const core::Tables& now = broker_.machine().find(caller.workspace)->tables();
    const core::MessageRef message = now.messages.find(seq);
    dialect::EncodeContext shown = shown_to(caller.name);
    shown.stands_in = message != core::none && !redirected_from(now, message, caller.ref).empty();
    const auto text = message_text(broker_, caller.workspace, seq, *dialect, shown);
    if (!text) {
      refuse(exchange, text.error());
      return;
    }
    net::Response response = json_response(200, *text);
    add_delivery(now, message, caller.ref, response);
    const auto envelope = envelope_at(broker_, caller.workspace, seq);
    if (message != core::none && envelope) {
      add_provenance(*envelope, now.messages.message(message),
                     redirected_from(now, message, caller.ref), response);
    }
    respond(exchange, std::move(response));
  };
  if (!received) {
    show();
    return;
  }
  // `?dialect=` only says how it is written; the header says what its reader speaks.
  const auto codec = codec_for(call);
  broker_.ask(call.caller.workspace, call.caller.name,
              core::Read{.target = {.seq = seq, .id = {}},
                         .as = codec ? codec->dialect : call.caller.dialect},
              [this, show, exchange = call.exchange](const core::Outcome& outcome,
                                                     std::span<const core::Effect>) {
                if (outcome) {
                  show();
                } else {
                  refuse(exchange, outcome.error());
                }
              });
}

void Api::show_delivery(Call& call) {
  const auto target = target_of(call, Names::First::sent);
  if (!target) {
    refuse(call.exchange, target.error());
    return;
  }
  const core::Tables& t = tables(call);
  const core::MessageRef ref = target->seq.n != 0
                                   ? t.messages.find(target->seq)
                                   : t.messages.find_sent(call.caller.ref, target->id);
  if (ref == core::none ||
      (t.messages.message(ref).sender != call.caller.ref && !call.caller.is_maintainer())) {
    show_old_delivery(call.exchange, call.caller, *target, call.arguments[0]);
    return;
  }
  std::string text;
  JsonWriter out(text);
  out.object().key("id").text(
      id_text(broker_, call.caller.workspace, t.messages.message(ref), call.caller.dialect));
  out.key("seq").number(t.messages.message(ref).seq.n);
  // One that was kept for a busy first stage went there as another message.
  const auto pipeline = t.patterns.pipelines().find(t.messages.message(ref).seq);
  const bool is_pipeline = pipeline != t.patterns.pipelines().end();
  const core::MessageRef begun =
      is_pipeline ? t.messages.find(pipeline->second.stages.front().message) : core::none;
  const core::MessageRef shown = begun == core::none ? ref : begun;
  render_counts(t, shown, out);
  out.key("deliveries");
  render_deliveries(t, call.caller, shown, out);
  render_request(t, shown, out);
  if (is_pipeline) {
    out.key("pipeline").plain(core::pipeline_state_name(pipeline->second.state));
  }
  out.end_object();
  respond(call.exchange, json_response(200, std::move(text)));
}

void Api::ack(Call& call) {
  const auto target = target_of(call);
  if (!target) {
    refuse(call.exchange, target.error());
    return;
  }
  broker_.ask(call.caller.workspace, call.caller.name, core::Ack{*target, {}},
              reply_done(call.exchange));
}

void Api::nack(Call& call) {
  settle(call, [](const core::Target& target, Json body) -> std::expected<core::Command, Error> {
    const Json reason = body.find("reason");
    const Json failed = body.find("failed");
    const auto delay = duration_member(body, "retry_after");
    if (!delay || (reason && !reason.as_string()) || (failed && !failed.as_bool())) {
      return std::unexpected(Error{
          Code::bad_request, "reason is a string, retry_after a duration, failed true or false",
          !delay                          ? "/retry_after"
          : reason && !reason.as_string() ? "/reason"
                                          : "/failed"});
    }
    return core::Nack{target, *delay, reason ? *reason.as_string() : std::string_view{},
                      !failed || *failed.as_bool()};
  });
}

void Api::reject(Call& call) {
  settle(call, [](const core::Target& target, Json body) -> std::expected<core::Command, Error> {
    const Json reason = body.find("reason");
    if (reason && !reason.as_string()) {
      return std::unexpected(Error{Code::bad_request, "reason is a string", "/reason"});
    }
    return core::Reject{target, reason ? *reason.as_string() : std::string_view{}};
  });
}

void Api::extend(Call& call) {
  settle(call, [](const core::Target& target, Json body) -> std::expected<core::Command, Error> {
    const auto lease = duration_member(body, "lease");
    if (!lease) {
      return std::unexpected(Error{Code::bad_request, "lease is a duration such as 5m", "/lease"});
    }
    return core::Extend{target, *lease};
  });
}

// Asks for what `command` makes of the message named in the path and of the body.
void Api::settle(Call& call,
                 std::expected<core::Command, Error> (*command)(const core::Target&, Json)) {
  const auto target = target_of(call);
  const auto body = target ? body_object(call) : std::unexpected(target.error());
  auto wanted = body ? command(*target, *body) : std::unexpected(body.error());
  if (!wanted) {
    refuse(call.exchange, wanted.error());
    return;
  }
  broker_.ask(call.caller.workspace, call.caller.name, std::move(*wanted),
              reply_done(call.exchange));
}

}  // namespace parley::edge
