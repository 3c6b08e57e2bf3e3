// SPDX-License-Identifier: Apache-2.0
#include "edge/api/submission.h"

#include <algorithm>
#include <cstring>
#include <tuple>

#include "base/hash.h"
#include "base/secrets/secrets.h"
#include "base/text.h"
#include "base/trace.h"
#include "core/dead_letters/dead_letter_acts.h"
#include "core/requests/deadlock.h"
#include "edge/answers/receipt.h"
#include "edge/api/commands.h"
#include "edge/api/context.h"
#include "edge/api/members.h"
#include "edge/approvals/proposal.h"
#include "edge/approvals/terms.h"
#include "edge/gate.h"
#include "edge/private_flags.h"
#include "edge/records.h"
#include "edge/secrets/redact.h"
#include "edge/secrets/screen.h"
#include "lib/crypto.h"

namespace parley::edge {

namespace {

using base::Code;
using lib::Json;

constexpr size_t causes_max = 16;
// Of what is wrong with a message, and of the place where: both may have words of the sender's.
constexpr size_t told_bytes_max = 1'024;

// The trace that its sender names beside the message, where the message names none itself. A state
// with a secret is left out, as the standard allows: nobody reads it but tracers.
void join_trace(std::string_view traceparent, std::string_view tracestate,
                core::Envelope& envelope) {
  if (traceparent.empty() || !envelope.trace_id.is_none()) {
    return;
  }
  if (const auto parent = base::parse_traceparent(traceparent)) {
    envelope.trace_id = parent->trace_id;
    envelope.parent_span_id = parent->span_id;
    envelope.trace_sampled = parent->sampled;
    const bool is_kept = base::is_tracestate(tracestate) && base::find_secrets(tracestate).empty();
    envelope.tracestate = is_kept ? tracestate : std::string_view{};
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

// The sender hears of a field in its own words.
node::Broker::Done in_words_of(const dialect::Codec& codec, node::Broker::Done done) {
  if (codec.has_machine_fields) {
    return done;
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

// What was found in the message comes with its receipt.
node::Broker::Done with_warnings(std::vector<std::string> warnings, node::Broker::Done done) {
  if (warnings.empty()) {
    return done;
  }
  return [warnings = std::move(warnings), done = std::move(done)](
             const core::Outcome& outcome, std::span<const core::Effect> effects) mutable {
    if (!outcome) {
      done(outcome, effects);
      return;
    }
    core::Receipt receipt = *outcome;
    receipt.warnings.insert(receipt.warnings.end(), warnings.begin(), warnings.end());
    done(std::move(receipt), effects);
  };
}

// A message and the flag that was in it. Their sender hears of the message when both are done, and
// is warned where the moderators did not get the flag. Then the same message, sent again, raises
// it.
struct MessageAndFlag {
  node::Broker::Done done;
  std::optional<Error> refused{};  // of the flag
  std::optional<core::Outcome> outcome{};
  std::vector<core::Effect> effects{};
  int left = 2;

  void finish_one() {
    if (--left > 0) {
      return;
    }
    if (refused && outcome->has_value()) {
      (*outcome)->warnings.push_back("the moderators did not get flags.coc_concern: " +
                                     refused->detail + "; send the same message again for that");
    }
    done(*outcome, effects);
  }
};

}  // namespace

std::expected<Submission, Error> submission_of(Call& call) {
  const auto on_unavailable =
      parse_on_unavailable(call.parameter("on_unavailable").value_or(std::string_view{}));
  if (!on_unavailable) {
    return std::unexpected(on_unavailable.error());
  }
  return Submission{.via = call.via,
                    .lenient = call.flag("lenient"),
                    .idempotency_key = call.request.header("idempotency-key"),
                    .session = call.parameter("session").value_or(std::string_view{}),
                    .traceparent = call.request.header("traceparent"),
                    .tracestate = call.request.header("tracestate"),
                    .on_unavailable = *on_unavailable,
                    .allowance = &call.allowance};
}

std::expected<Submission, Error> submission_in(Json operation) {
  Members members(operation);
  const auto on_unavailable = parse_on_unavailable(members.text("on_unavailable"));
  if (!on_unavailable) {
    members.blame(on_unavailable.error());
  }
  Submission submission{.via = core::Via::websocket,
                        .lenient = members.flag("lenient", false),
                        .idempotency_key = members.text("idempotency_key"),
                        .session = members.text("session"),
                        .traceparent = members.text("traceparent"),
                        .tracestate = members.text("tracestate"),
                        .on_unavailable = on_unavailable.value_or(core::OnUnavailable::by_rules)};
  if (members.error()) {
    return std::unexpected(*members.error());
  }
  return submission;
}

void refuse_message(Call& call, const Error& error) {
  node::Broker::Done done = reply_receipt(call, call.caller.dialect);
  if (!call.context->submissions->submit_unreadable(call.caller, call.request.body, error, done)) {
    call.refuse(error);
  }
}

dialect::DecodeContext Submissions::decode_context(const Principal& caller,
                                                   const dialect::Codec& codec, const Names& lookup,
                                                   bool lenient) {
  dialect::DecodeContext context;
  context.sender = caller.name;
  context.received = context_.clock.now();
  // Asking the system for randomness costs more than all the rest, and most messages have an id.
  if (spare_id_.is_none()) {
    spare_id_ = lib::random_uuid();
  }
  context.fallback_id = spare_id_;
  context.lenient = lenient;
  context.derive = &lib::derived_id;
  context.lookup = &lookup;
  const core::Rules& rules = context_.tables(caller.workspace).rules;
  const core::Policy::NumberRule size_max = core::policy_of(codec.dialect).size_max;
  context.bytes_max = size_max == nullptr ? 0 : rules.*size_max;
  return context;
}

// The order matters. The trace that came beside the message counts before that of its cause, and a
// trace begins only where neither names one. The task is named before its conversation is looked
// up, and that is looked up before the message begins one of its own.
std::expected<core::Send, Error> Submissions::decode(const Principal& caller,
                                                     const dialect::Codec& codec, Json message,
                                                     const Submission& submission) {
  const Names lookup(context_.tables(caller.workspace), caller);
  const dialect::DecodeContext context = decode_context(caller, codec, lookup, submission.lenient);
  auto envelope = codec.decode(message, context, context_.texts);
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
  const auto cause = add_causes(caller, submission, *envelope);
  if (!cause) {
    return std::unexpected(cause.error());
  }
  if (envelope->trace_id.is_none()) {
    begin_trace(context.received, *envelope);
  }
  name_task(caller, *envelope);
  if (envelope->thread.empty() && !envelope->task.empty()) {
    envelope->thread = task_thread(caller, *envelope);
  }
  if (envelope->thread.empty()) {
    // A message without a conversation begins one of its own.
    context_.texts.push_back(base::format_uuid(envelope->id));
    envelope->thread = context_.texts.back();
  }
  return core::Send{
      .envelope = std::move(*envelope), .tokens = codec.tokens(message), .cause = *cause};
}

std::expected<core::Envelope, Error> Submissions::read_cause(const Principal& caller,
                                                             const Submission& submission,
                                                             base::Seq seq) {
  const node::Records& records = context_.broker.records();
  size_t* const left = submission.allowance == nullptr || records.is_warm(seq)
                           ? nullptr
                           : &submission.allowance->old_bytes;
  if (left != nullptr && *left == 0) {
    return std::unexpected(Error{Code::overloaded,
                                 "the messages of this request follow from old ones of more than " +
                                     std::to_string(Allowance::old_bytes_max) +
                                     " bytes, which are not in memory; send this one again",
                                 {}});
  }
  const uint64_t before = records.cold_bytes();
  auto cause = envelope_at(context_.broker, caller.workspace, seq);
  if (left != nullptr) {
    *left -= std::min<uint64_t>(*left, records.cold_bytes() - before);
  }
  return cause;
}

// The message that this one answers, or that it names as its cause, has causes of its own: they
// all stand behind this one. Only what the sender received counts, so that no one can lend itself
// another's authority. Says which message it is.
std::expected<base::MessageId, Error> Submissions::add_causes(const Principal& caller,
                                                              const Submission& submission,
                                                              core::Envelope& envelope) {
  const core::Tables& t = context_.tables(caller.workspace);
  base::MessageId cause = envelope.in_reply_to;
  if (cause.is_none() && !envelope.causation.empty()) {
    cause = Names(t, caller).find_received(envelope.causation, {}).value_or(base::MessageId{});
  }
  const core::MessageRef ref =
      cause.is_none() ? core::none : t.messages.find_received(caller.ref, cause);
  if (ref == core::none) {
    return cause;
  }
  const auto before = read_cause(caller, submission, t.messages.message(ref).seq);
  if (!before) {
    if (before.error().code == Code::overloaded) {
      return std::unexpected(before.error());
    }
    return cause;
  }
  take_from_cause(*before, envelope);
  if (!envelope.in_reply_to.is_none()) {
    envelope.question = context_.texts.emplace_back(before->native_id);
  }
  if (envelope.kind == core::Kind::response) {
    follow_question(caller, *before, envelope);
  }
  const auto add = [&](std::string_view name) {
    auto& causes = envelope.on_behalf_of;
    if (causes.size() < causes_max && name != caller.name &&
        std::ranges::find(causes, name) == causes.end()) {
      context_.texts.emplace_back(name);
      causes.push_back(context_.texts.back());
    }
  };
  std::ranges::for_each(before->on_behalf_of, add);
  add(before->sender);
  return cause;
}

// What goes on from one message to those that it causes: the conversation, the trace, and along a
// chain (CO-05) the correlation.
void Submissions::take_from_cause(const core::Envelope& cause, core::Envelope& envelope) {
  const auto keep = [this](std::string_view text) {
    return std::string_view(context_.texts.emplace_back(text));
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

std::expected<core::Send, Error> Submissions::prepare(const Principal& caller,
                                                      const dialect::Codec& codec, Json message,
                                                      const Submission& submission) {
  auto command = decode(caller, codec, message, submission);
  if (!command) {
    return command;
  }
  if (const auto good = check_reply_to(caller, codec, command->envelope); !good) {
    return std::unexpected(good.error());
  }
  if (!submission.receivers.empty()) {
    command->envelope.receivers = submission.receivers;
  }
  command->gathering = submission.gathering;
  command->later_stages = submission.later_stages;
  command->on_unavailable = submission.on_unavailable;
  command->wait = submission.wait;
  return command;
}

void Submissions::submit(const Principal& caller, const dialect::Codec& codec, Json message,
                         const Submission& submission, node::Broker::Done done) {
  if (submit_if_private(caller, codec, message, done)) {
    return;
  }
  for (const dialect::Codec& each : dialect::codecs()) {
    const auto apart = each.set_apart == nullptr
                           ? std::nullopt
                           : each.set_apart.value(message, each.dialect == codec.dialect);
    if (apart) {
      submit_apart(caller, codec, message, *apart, submission, std::move(done));
      return;
    }
  }
  const core::Rules& rules = context_.tables(caller.workspace).rules;
  // The stricter of both: who sends in another dialect is the same sender.
  const core::Dialect own = context_.tables(caller.workspace).agents[caller.ref].dialect;
  Allowance alone;
  base::Looks& looks = (submission.allowance != nullptr ? *submission.allowance : alone).looks;
  auto passed = screened(
      message,
      std::max(core::secrets_policy(rules, codec.dialect), core::secrets_policy(rules, own)),
      looks);
  if (!passed) {
    context_.metrics.messages.refused(passed.error().code, caller.name);
    done(std::unexpected(passed.error()), {});
    return;
  }
  message = passed->value;
  done = with_warnings(std::move(passed->warnings), std::move(done));
  auto command = prepare(caller, codec, message, submission);
  if (command && passed->document != nullptr) {
    if (const auto good = screen_names(command->envelope); !good) {
      context_.metrics.messages.refused(good.error().code, caller.name);
      done(std::unexpected(good.error()), {});
      return;
    }
  }
  if (!command) {
    // What is for moderators alone in another dialect must not be kept as a dead letter, either,
    // wherever in the text it says so.
    if (submit_unreadable(caller, message.raw(), command.error(), done)) {
      return;
    }
    context_.metrics.messages.refused(command.error().code, caller.name);
    refuse(caller, message, command.error(), looks, in_words_of(codec, std::move(done)));
    return;
  }
  done = in_words_of(codec, std::move(done));
  if (command->envelope.kind == core::Kind::approval_request) {
    ask_approval(caller, message, command->envelope, std::move(done));
    return;
  }
  if (asks(command->envelope.kind) && !core::policy_of(codec.dialect).ids_are_uuids) {
    done = in_ids_of(caller, codec.dialect, dialect::id_in(codec.dialect, command->envelope),
                     std::move(done));
  }
  context_.ask(caller, std::move(*command), std::move(done));
}

// People are shown the action that is proposed, why, and the whole message (SP-08). Whom the
// message names as its receiver gets none: those who may decide are told.
void Submissions::ask_approval(const Principal& caller, Json message, const core::Envelope& asked,
                               node::Broker::Done done) {
  const auto text = proposal_text({.action = message.find("proposed_action"),
                                   .summary = asked.subject,
                                   .rationale = message.find("rationale").as_string().value_or(""),
                                   .confidence = message.find("confidence"),
                                   .request = message},
                                  context_.tables(caller.workspace).rules.approval_bytes_max);
  if (!text) {
    done(std::unexpected(text.error()), {});
    return;
  }
  const core::Tables& t = context_.tables(caller.workspace);
  const ApprovalTerms terms = approval_terms(t, caller.name, message);
  core::AskApproval command{.id = asked.id,
                            .summary = asked.subject,
                            .text = *text,
                            .digest = lib::sha256(*text),
                            .priority = asked.priority,
                            .approvers = terms.approvers,
                            .timeout = asked.response_timeout,
                            .native_id = asked.native_id,
                            .options = terms.options};
  // The same message again is the same question, whoever may approve by now.
  const core::Approval* const before = t.approvals.find_sent(caller.name, asked.id);
  if (before != nullptr && before->since >= caller.registered && before->digest == command.digest) {
    command.approvers.assign(before->approvers.begin(), before->approvers.end());
  }
  context_.ask(caller, std::move(command), with_warnings(terms.warnings, std::move(done)));
}

// Whatever is wrong with it, it goes to the moderators and to nobody else: an error would say what
// is in it to whoever reads logs, and a dead letter to whoever looks after those.
void Submissions::submit_private(const Principal& caller, const dialect::Codec& codec, Json message,
                                 std::string summary, node::Broker::Done done) {
  const Names lookup(context_.tables(caller.workspace), caller);
  const auto envelope =
      codec.decode(message, decode_context(caller, codec, lookup, true), context_.texts);
  RaisedFlag flag{
      .id = spare_id_, .text = std::string(message.raw()), .summary = std::move(summary)};
  if (envelope) {
    flag.id = envelope->id;
  } else {
    flag.problem = envelope.error().field.empty()
                       ? envelope.error().detail
                       : envelope.error().field + ": " + envelope.error().detail;
    if (const auto id = message.find("message_id").as_string(); id && !id->empty()) {
      const auto uuid = dialect::uuid_of(*id);
      flag.id = uuid ? *uuid : dialect::message_id_of(lib::derived_id, caller.name, *id);
    }
  }
  if (flag.id == spare_id_) {
    spare_id_ = {};
  }
  raise_flag(context_, caller, std::move(flag), std::move(done));
}

// The moderators get the message as it was sent, before anyone else gets what is left of it.
void Submissions::submit_apart(const Principal& caller, const dialect::Codec& codec, Json message,
                               const dialect::Codec::Apart& apart, const Submission& submission,
                               node::Broker::Done done) {
  const auto id = message.find(codec.field("/id").substr(1)).as_string();
  // Once for each text: one that was refused is sent again in other words, with the same id.
  const std::string name =
      id ? "flag in " + std::string(*id) + " " + std::to_string(base::hash64(message.raw()))
         : "flag in " + base::format_uuid(lib::random_uuid());
  RaisedFlag flag{.id = dialect::message_id_of(lib::derived_id, caller.name, name),
                  .text = std::string(message.raw()),
                  .summary = apart.summary};
  if (apart.rest.empty()) {
    raise_flag(context_, caller, std::move(flag), std::move(done));
    return;
  }
  lib::JsonDocument document;
  const auto rest = document.parse(apart.rest);
  if (!rest) {
    done(std::unexpected(rest.error()), {});
    return;
  }
  if (!apart.is_flag) {
    submit(caller, codec, *rest, submission, std::move(done));
    return;
  }
  flag.summary = "a concern in another message";
  const auto both = std::make_shared<MessageAndFlag>(std::move(done));
  raise_flag(context_, caller, std::move(flag),
             [both](const core::Outcome& outcome, std::span<const core::Effect>) {
               if (!outcome) {
                 both->refused = outcome.error();
               }
               both->finish_one();
             });
  submit(caller, codec, *rest, submission,
         [both](const core::Outcome& outcome, std::span<const core::Effect> effects) {
           both->outcome = outcome;
           both->effects.assign(effects.begin(), effects.end());
           both->finish_one();
         });
}

bool Submissions::submit_if_private(const Principal& caller, const dialect::Codec& codec,
                                    Json message, node::Broker::Done& done) {
  auto summary = codec.private_summary == nullptr
                     ? std::nullopt
                     : codec.private_summary.value(message.raw(), message);
  if (!summary) {
    return false;
  }
  submit_private(caller, codec, message, std::move(*summary), std::move(done));
  return true;
}

bool Submissions::submit_unreadable(const Principal& caller, std::string_view text,
                                    const Error& error, node::Broker::Done& done) {
  for (const dialect::Codec& codec : dialect::codecs()) {
    auto summary =
        codec.private_summary == nullptr ? std::nullopt : codec.private_summary.value(text, Json{});
    if (summary) {
      raise_flag(context_, caller,
                 {.id = lib::random_uuid(),
                  .text = std::string(text),
                  .problem = error.detail,
                  .summary = std::move(*summary)},
                 std::move(done));
      return true;
    }
  }
  return false;
}

// What cannot be read is kept as a dead letter, and its sender hears what is wrong once that is
// there. Not kept is what is no message at all, what its sender had no right to say, and what is
// beyond the limit, so that a flood of nonsense costs no disk. Whatever the policy lets pass, what
// is kept and what is said of it has no secrets: maintainers and logs see them as well.
void Submissions::refuse(const Principal& caller, Json message, Error error, base::Looks& looks,
                         node::Broker::Done done) {
  error.detail = base::without_secrets(error.detail, told_bytes_max, looks);
  error.field = base::without_secrets(error.field, told_bytes_max, looks);
  const core::Tables& t = context_.tables(caller.workspace);
  if (!message.is_object() || error.code == Code::sender_mismatch ||
      !core::keeps_malformed(t, caller.ref, context_.clock.now())) {
    done(std::unexpected(error), {});
    return;
  }
  const uint64_t bytes_max = t.rules.malformed_bytes_max;
  const std::string text = redacted(text_without_secrets(message, bytes_max, looks), bytes_max);
  const std::string kept(base::cut(text, bytes_max));
  std::string what = error.field.empty() ? error.detail : error.field + ": " + error.detail;
  what = base::cut(what, t.rules.reason_bytes_max);  // the field may be named as its sender liked
  context_.ask(
      caller, core::Malformed{.text = kept, .error = what},
      [error, done = std::move(done)](const core::Outcome&, std::span<const core::Effect>) mutable {
        done(std::unexpected(error), {});
      });
}

// A response goes where the question says, else to whoever asked. Receivers that the sender names
// itself are kept; only the asker is replaced by the question's reply_to. It is said in the session
// in which it was asked, as long as those whom it concerns take part. Where the dialect has chains
// of messages, it is a part of the question's.
void Submissions::follow_question(const Principal& caller, const core::Envelope& question,
                                  core::Envelope& response) {
  auto& receivers = response.receivers;
  if (receivers.empty()) {
    receivers.push_back(context_.texts.emplace_back(question.sender));
  }
  if (!question.reply_to.empty() &&
      std::ranges::find(receivers, question.reply_to) == receivers.end()) {
    const std::string_view reply_to = context_.texts.emplace_back(question.reply_to);
    const auto asker = std::ranges::find(receivers, question.sender);
    if (asker != receivers.end()) {
      *asker = reply_to;
    } else {
      receivers.push_back(reply_to);
    }
  }
  // A dialect whose tasks have no other name than the message's id answers by that.
  const bool by_id = response.task == dialect::id_in(response.dialect, question);
  if ((response.task.empty() || by_id) && !question.task.empty()) {
    response.task = context_.texts.emplace_back(question.task);
  }
  if (core::policy_of(response.dialect).answers_join_chain && response.correlation.empty()) {
    response.correlation = context_.texts.emplace_back(question.correlation);
  }
  const core::Session* const session =
      response.session.empty() && !question.session.empty()
          ? context_.tables(caller.workspace).sessions.find(question.session)
          : nullptr;
  const auto takes_part = [session](std::string_view name) { return session->has(name); };
  if (session != nullptr && takes_part(caller.name) && std::ranges::all_of(receivers, takes_part)) {
    response.session = context_.texts.emplace_back(question.session);
  }
}

// An answer to nobody would be lost, and the request would count as answered.
std::expected<void, Error> Submissions::check_reply_to(const Principal& caller,
                                                       const dialect::Codec& codec,
                                                       const core::Envelope& envelope) const {
  const core::Tables& t = context_.tables(caller.workspace);
  const core::AgentRef ref =
      envelope.reply_to.empty() ? caller.ref : t.agents.find(envelope.reply_to);
  if (ref != core::none && t.agents[ref].is_registered()) {
    return {};
  }
  return std::unexpected(Error{Code::receiver_not_found,
                               "answers are to go to \"" +
                                   std::string(base::cut(envelope.reply_to, 256)) +
                                   "\", and no principal has this name",
                               std::string(codec.field("/reply_to"))});
}

// Names the requests of a circle by the ids that the sender's dialect has for them; the one that
// was refused by `own`.
node::Broker::Done Submissions::in_ids_of(const Principal& caller, core::Dialect reader,
                                          std::string own, node::Broker::Done done) {
  return [this, workspace = caller.workspace, reader, own = std::move(own), done = std::move(done)](
             const core::Outcome& outcome, std::span<const core::Effect> effects) mutable {
    if (outcome || outcome.error().code != Code::deadlock) {
      done(outcome, effects);
      return;
    }
    const core::Tables& t = context_.tables(workspace);
    Error error = outcome.error();
    error.detail = core::circle_text(error.cycle, [&](const base::WaitInCycle& each) {
      const core::AgentRef sender = t.agents.find(each.agent);
      const core::MessageRef ref =
          sender == core::none ? core::none : t.messages.find_sent(sender, each.message);
      return ref == core::none
                 ? own
                 : id_text(context_.broker, workspace, t.messages.message(ref), reader);
    });
    done(std::unexpected(std::move(error)), effects);
  };
}

// What is asked of an agent that gets tasks, in a dialect that has none, may name its task in the
// body. The agent reports by that, so the task has that name. A query gives no task.
void Submissions::name_task(const Principal& caller, core::Envelope& envelope) {
  if (!envelope.task.empty() || core::policy_of(envelope.dialect).has_task_roles ||
      !core::asks(envelope.kind) || envelope.kind == core::Kind::query ||
      envelope.receivers.size() != 1) {
    return;
  }
  const core::Agents& agents = context_.tables(caller.workspace).agents;
  const core::AgentRef ref = agents.find(envelope.receivers.front());
  if (ref == core::none || !agents[ref].is_registered()) {
    return;
  }
  if (const auto task_in = dialect::codec_of(agents[ref].dialect).task; task_in != nullptr) {
    envelope.task = context_.texts.emplace_back(task_in(envelope));
  }
}

// IN-06: the conversation of the task that the message names; empty when its sender has none.
std::string_view Submissions::task_thread(const Principal& caller, const core::Envelope& envelope) {
  const core::Tables& t = context_.tables(caller.workspace);
  const core::Task* found =
      core::asks(envelope.kind)
          ? nullptr
          : t.tasks.find(core::TaskReport{envelope.task, caller.name, {}, envelope.receivers});
  if (found == nullptr) {
    std::tuple<bool, bool> best{};
    for (const core::Task* const task : t.tasks.meant({.id = envelope.task}, caller.name)) {
      const auto& to = envelope.receivers;
      const bool between =
          task->director == caller.name || std::ranges::find(to, task->director) != to.end();
      const std::tuple rank(between, task->is_open());
      // The newest of equals.
      if (takes_part(t, caller, *task) && (found == nullptr || rank >= best)) {
        found = task;
        best = rank;
      }
    }
  }
  return found == nullptr ? std::string_view{}
                          : std::string_view(context_.texts.emplace_back(found->thread));
}

}  // namespace parley::edge
