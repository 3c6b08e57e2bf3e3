// SPDX-License-Identifier: Apache-2.0
// Sending messages over HTTP, and looking at one of them.
#include <memory>
#include <optional>

#include "edge/answers/receipt.h"
#include "edge/api/blocked.h"
#include "edge/api/context.h"
#include "edge/api/submission.h"
#include "edge/api/waiting.h"
#include "edge/gate.h"
#include "edge/render.h"
#include "edge/routes/routes.h"
#include "edge/routes/search.h"
#include "lib/json_writer.h"

namespace parley::edge {

namespace {

using base::Code;
using lib::Json;
using lib::JsonWriter;

constexpr uint64_t batch_max = 1'000;
constexpr Duration wait_max = base::minutes(10);

// Of the receipts in one answer that name each recipient; those behind count them.
constexpr size_t listed_bytes_max = 256 * 1024;

// The outcomes of a batch, as they come in; the answer leaves with the last.
struct BatchAnswer {
  std::vector<std::string> results;
  size_t left = 0;
  size_t bytes = 0;

  Recipients recipients() const {
    return bytes < listed_bytes_max ? Recipients::listed : Recipients::counted;
  }
};

std::string joined(const BatchAnswer& batch) {
  std::string text = "{\"results\":[";
  for (size_t n = 0; n < batch.results.size(); ++n) {
    text.append(n == 0 ? "" : ",").append(batch.results[n]);
  }
  return text + "]}";
}

// One who speaks another dialect in this call is answered in it.
Asker speaking(Asker asker, const dialect::Codec& codec) {
  asker.caller.dialect = codec.dialect;
  return asker;
}

// Answers with the answer to the question that was sent.
node::Broker::Done reply_answer(const Asker& asker, Duration wait) {
  return asker.when_done([asker, wait](const core::Receipt& receipt) {
    asker.context->blocked->await_answer(asker, receipt.message, wait);
  });
}

void send_batch(Call& call, const dialect::Codec& codec, const Submission& submission,
                Json messages) {
  if (call.parameter("wait") || !submission.idempotency_key.empty()) {
    refuse_message(call, {Code::bad_request,
                          "wait and Idempotency-Key are for one message; in a batch each has its "
                          "own idempotency_key",
                          {}});
    return;
  }
  const auto batch = std::make_shared<BatchAnswer>();
  batch->left = messages.size();
  if (batch->left == 0 || batch->left > batch_max) {
    refuse_message(
        call,
        {Code::bad_request, "a batch has 1 to " + std::to_string(batch_max) + " messages", {}});
    return;
  }
  batch->results.resize(batch->left);
  size_t at = 0;
  for (const Json message : messages.elements()) {
    call.context->submissions->submit(
        call.caller, codec, message, submission,
        [batch, at, asker = speaking(call, codec)](const core::Outcome& outcome,
                                                   std::span<const core::Effect>) {
          batch->results[at] =
              outcome ? receipt_text(asker.broker(), asker.caller, *outcome, batch->recipients())
                      : asker.context->counted_problem(outcome.error()).body;
          batch->bytes += batch->results[at].size();
          if (--batch->left == 0) {
            asker.respond(json_response(202, joined(*batch)));
          }
        });
    ++at;
  }
}

void send(Call& call) {
  const auto message = call.context->document.parse(call.request.body);
  const auto codec = call.codec();
  auto submission = submission_of(call);
  if (!message || !codec || !submission) {
    refuse_message(call, !message ? message.error() : !codec ? codec.error() : submission.error());
    return;
  }
  if (message->kind() == lib::JsonKind::array) {
    send_batch(call, *codec, *submission, *message);
    return;
  }
  submission->wait = call.duration("wait");
  if (submission->wait.us > 0 && !call.context->waiting->begin(call)) {
    return;
  }
  call.context->submissions->submit(call.caller, *codec, *message, *submission,
                                    submission->wait.us == 0
                                        ? reply_receipt(call, codec->dialect)
                                        : reply_answer(speaking(call, *codec), submission->wait));
}

void show_message(Call& call) {
  const auto target = call.target();
  const auto dialect = call.wanted_dialect();
  if (!target || !dialect) {
    call.refuse(!target ? target.error() : dialect.error());
    return;
  }
  const core::Tables& t = call.tables();
  core::MessageRef ref = target->seq.n != 0 ? t.messages.find(target->seq)
                                            : t.messages.find_received(call.caller.ref, target->id);
  if (ref == core::none && target->seq.n == 0) {
    ref = t.messages.find_sent(call.caller.ref, target->id);
  }
  const bool received = has_received(t, call.caller, ref);
  if (!may_see(t, call.caller, ref)) {
    show_old_message(call, *target, call.arguments[0], *dialect);
    return;
  }
  const base::Seq seq = t.messages.message(ref).seq;
  const auto show = [asker = call.asker(), seq, dialect] {
    const core::Tables& now = asker.tables();
    const core::MessageRef message = now.messages.find(seq);
    dialect::EncodeContext shown = shown_to(asker.caller.name);
    shown.stands_in =
        message != core::none && !redirected_from(now, message, asker.caller.ref).empty();
    const auto text = message_text(asker.broker(), asker.caller.workspace, seq, *dialect, shown);
    if (!text) {
      asker.refuse(text.error());
      return;
    }
    net::Response response = json_response(200, *text);
    add_delivery(now, message, asker.caller.ref, response);
    const auto envelope = envelope_at(asker.broker(), asker.caller.workspace, seq);
    if (message != core::none && envelope) {
      add_provenance(*envelope, now.messages.message(message),
                     redirected_from(now, message, asker.caller.ref), response);
    }
    asker.respond(std::move(response));
  };
  if (!received) {
    show();
    return;
  }
  // `?dialect=` only says how it is written; the header says what its reader speaks.
  const auto codec = call.codec();
  call.ask(core::Read{.target = {.seq = seq, .id = {}},
                      .as = codec ? codec->dialect.value : call.caller.dialect},
           call.when_done([show](const core::Receipt&) { show(); }));
}

// The flag that the caller raised under this id; nullptr when there is none.
const core::Flag* own_flag(const Call& call, const core::Target& target) {
  const core::Flags& flags = call.tables().flags;
  const core::Flag* const flag =
      target.seq.n != 0 ? flags.find(target.seq) : flags.find_sent(call.caller.name, target.id);
  return flag != nullptr && may_see_state(call.caller, *flag) ? flag : nullptr;
}

std::string flag_delivery(const core::Flag& flag) {
  std::string text;
  JsonWriter out(text);
  out.object().key("id").uuid(flag.message).key("seq").number(flag.record.n);
  const std::string_view state =
      core::state_name(flag.is_open() ? core::State::queued : core::State::acked);
  out.key("recipient_count").number(uint64_t{1});
  render_states({{state, 1}}, out);
  out.key("deliveries").array().object();
  out.key("receiver").plain("moderators");
  out.key("state").plain(state);
  out.key("since").time(flag.is_open() ? flag.since : flag.resolved_at);
  out.key("attempts").number(uint64_t{0}).end_object().end_array().end_object();
  return text;
}

void show_delivery(Call& call) {
  const auto target = call.target(Names::First::sent);
  if (!target) {
    call.refuse(target.error());
    return;
  }
  const core::Tables& t = call.tables();
  const core::MessageRef ref = target->seq.n != 0
                                   ? t.messages.find(target->seq)
                                   : t.messages.find_sent(call.caller.ref, target->id);
  if (const core::Flag* const flag = ref == core::none ? own_flag(call, *target) : nullptr;
      flag != nullptr) {
    call.respond(json_response(200, flag_delivery(*flag)));
    return;
  }
  if (!may_see_deliveries(t, call.caller, ref)) {
    show_old_delivery(call, *target, call.arguments[0]);
    return;
  }
  std::string text;
  JsonWriter out(text);
  out.object().key("id").text(
      id_text(call.broker(), call.caller.workspace, t.messages.message(ref), call.caller.dialect));
  out.key("seq").number(t.messages.message(ref).seq.n);
  // One that was kept for a busy first stage went there as another message.
  const auto pipeline = t.pending.pipelines().find(t.messages.message(ref).seq);
  const bool is_pipeline = pipeline != t.pending.pipelines().end();
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
  call.respond(json_response(200, std::move(text)));
}

}  // namespace

std::span<const Route> message_routes() {
  static const std::vector<Route> routes = {
      {.method = "POST",
       .pattern = "/v1/messages",
       .handler = send,
       .parameters = {query::duration("wait", wait_max), query::flag("lenient"),
                      query::text("session"), query::text("on_unavailable")},
       .body = {.kind = Body::Kind::own, .has_message = true},
       .who = Who::machine},
      {.method = "GET",
       .pattern = "/v1/messages/{}",
       .handler = show_message,
       .parameters = {query::text("dialect")},
       .who = Who::machine},
      {.method = "GET",
       .pattern = "/v1/messages/{}/delivery",
       .handler = show_delivery,
       .who = Who::principal},
  };
  return routes;
}

}  // namespace parley::edge
