// SPDX-License-Identifier: Apache-2.0
// What an agent may do only if people say so.
#include <algorithm>
#include <array>

#include "base/text.h"
#include "core/humans/approval_acts.h"
#include "core/model/entry.h"
#include "dialect/dialect.h"
#include "edge/api/context.h"
#include "edge/api/mail_waits.h"
#include "edge/api/members.h"
#include "edge/api/waiting.h"
#include "edge/gate.h"
#include "edge/render.h"
#include "edge/routes/routes.h"
#include "lib/crypto.h"
#include "lib/json_writer.h"

namespace parley::edge {

namespace {

using base::Code;
using core::Approval;
using core::ApprovalDecision;
using lib::JsonWriter;

constexpr uint64_t approvals_listed_max = 1'000;
constexpr Duration wait_max = base::minutes(10);
constexpr std::array<std::string_view, 4> decisions = {"approve", "reject", "modify", "withdraw"};
constexpr std::array<std::string_view, 4> priorities = {"critical", "high", "normal", "low"};

void render_names(std::string_view key, const std::vector<std::string>& names, JsonWriter& out) {
  out.key(key).array();
  for (const std::string& name : names) {
    out.text(name);
  }
  out.end_array();
}

void render_approval(const Asker& asker, const Approval& approval, JsonWriter& out) {
  out.key("id").number(approval.id);
  out.key("state").plain(core::approval_state_name(approval.state));
  out.key("from").text(approval.asker).key("message_id").uuid(approval.message);
  out.key("seq").number(approval.record.n).key("summary").text(approval.summary);
  out.key("priority").plain(core::word_of(approval.priority));
  out.key("created_at").time(approval.since).key("deadline").time(approval.deadline);
  render_names("approvers", approval.approvers, out);
  out.key("needed").number(approval.needed);
  render_names("approved_by", approval.approved_by, out);
  out.key("may_decide");
  out.boolean(approval.is_open() &&
              core::may_decide(asker.tables(), asker.caller.ref, approval) &&
              std::ranges::find(approval.approved_by, asker.caller.name) ==
                  approval.approved_by.end());
  out.key("digest").text(base::hex(approval.digest));
  if (approval.held.n != 0) {
    out.key("held").number(approval.held.n);
  }
  if (!approval.is_open()) {
    out.key("decided_by").text(approval.decided_by);
    out.key("decided_at").time(approval.decided_at);
    if (!approval.comment.empty()) {
      out.key("comment").text(approval.comment);
    }
  }
}

// The command at a place of the journal; nothing where that has another, or cannot be read.
template <class Command, class Use>
std::expected<void, Error> with_record(const Asker& asker, base::Seq record, Use&& use) {
  const auto bytes = asker.broker().records().read(record);
  if (!bytes) {
    return std::unexpected(bytes.error());
  }
  const auto entry = core::decode_entry(record, base::Time{}, *bytes);
  const auto* const command = entry && entry->workspace == asker.caller.workspace
                                  ? std::get_if<Command>(&entry->command)
                                  : nullptr;
  if (command == nullptr) {
    return std::unexpected(Error{Code::not_found, "there is nothing at this place", {}});
  }
  use(*command);
  return {};
}

// The message that waits, as its sender wrote it: that is what people decide on.
void render_held_message(const core::Envelope& envelope, JsonWriter& out) {
  std::string text;
  dialect::codec_of(envelope.dialect)
      .encode.value(envelope, {.recipient = envelope.receivers.front()}, text);
  out.key("proposal").object().key("action").raw(text).end_object();
}

struct Wanted {
  bool pending = true;
  bool decided = true;
  bool mine = false;    // only what the caller may decide now
  uint64_t before = 0;  // an id; 0: from the newest
  uint64_t limit = 0;

  bool has(const Asker& asker, const Approval& approval) const {
    return (approval.is_open() ? pending : decided) &&
           may_see(asker.tables(), asker.caller, approval) &&
           (!mine || core::may_decide(asker.tables(), asker.caller.ref, approval));
  }
};

void answer_approvals(const Asker& asker, const Wanted& wanted) {
  if (asker.refuse_if_stale()) {
    return;
  }
  std::string text;
  JsonWriter out(text);
  out.object().key("items").array();
  uint64_t total = 0;
  uint64_t shown = 0;
  uint64_t next = 0;
  const auto& all = asker.tables().approvals.all();
  for (auto at = all.rbegin(); at != all.rend(); ++at) {
    const Approval& approval = at->second;
    if (!wanted.has(asker, approval)) {
      continue;
    }
    ++total;
    if (wanted.before != 0 && approval.id >= wanted.before) {
      continue;
    }
    if (shown < wanted.limit) {
      out.object();
      render_approval(asker, approval, out);
      out.end_object();
      next = approval.id;
    }
    ++shown;
  }
  out.end_array().key("total").number(total);
  if (shown > wanted.limit) {
    out.key("next").text(std::to_string(next));
  }
  out.end_object();
  asker.respond(json_response(200, std::move(text)));
}

void list_approvals(Call& call) {
  const std::string state = call.text("state", "all");
  if (state != "all" && state != "pending" && state != "decided") {
    call.refuse(bad_parameter("state", "pending, decided or all"));
    return;
  }
  const std::string whose = call.text("for", "all");
  if (whose != "all" && whose != "me") {
    call.refuse(bad_parameter("for", "me or all"));
    return;
  }
  const Wanted wanted{.pending = state != "decided",
                      .decided = state != "pending",
                      .mine = whose == "me",
                      .before = call.number("cursor", 0),
                      .limit = call.number("limit", 100)};
  const Duration wait = call.duration("wait");
  const Asker reader = call;
  const bool any = std::ranges::any_of(
      call.tables().approvals.all(),
      [&](const auto& each) { return wanted.has(reader, each.second); });
  if (wait.us == 0 || any) {
    answer_approvals(reader, wanted);
    return;
  }
  if (!call.context->waiting->begin(reader)) {
    return;
  }
  // Who may decide, and who asked, is told by a message: mail wakes them.
  call.context->mail_waits->add(reader, wait, [reader, wanted] {
    reader.context->waiting->remove(reader.exchange);
    answer_approvals(reader, wanted);
  });
}

// All that people are shown, in one text: what they decide on is this and nothing else.
std::string proposal_of(lib::Json action, std::string_view summary, std::string_view why,
                        lib::Json confidence) {
  std::string text;
  JsonWriter out(text);
  out.object().key("action");
  if (action && action.kind() != lib::JsonKind::null) {
    out.raw(action.raw());
  } else {
    out.text(summary);
  }
  if (!why.empty()) {
    out.key("rationale").text(why);
  }
  if (confidence) {
    out.key("confidence").raw(confidence.raw());
  }
  out.end_object();
  return text;
}

std::optional<core::Priority> priority_of(std::string_view word) {
  for (const core::Priority each : {core::Priority::critical, core::Priority::high,
                                    core::Priority::normal, core::Priority::low}) {
    if (core::word_of(each) == word) {
      return each;
    }
  }
  return std::nullopt;
}

void answer_one(const Asker& asker, int status, uint64_t id) {
  std::string text;
  JsonWriter out(text);
  out.object();
  if (const Approval* const now = asker.tables().approvals.find(id); now != nullptr) {
    render_approval(asker, *now, out);
  }
  out.end_object();
  asker.respond(json_response(status, std::move(text)));
}

void ask_approval(Call& call) {
  Members body(call.body);
  const lib::Json action = body.find("action");
  const auto summary = body.needed_text("summary", "summary says what is to be approved, a string");
  const std::string_view why = body.text("rationale");
  const lib::Json confidence = body.find("confidence");
  const auto priority = priority_of(body.text("priority", "normal"));
  const std::string_view name = body.text("message_id");
  const std::vector<std::string_view> approvers = body.texts("approvers");
  const auto needed = body.number("needed", "needed is 1 or 2");
  const Duration timeout = body.duration("timeout");
  if (!priority) {
    body.blame("priority", "priority is " + in_words(priorities));
  }
  const auto sure = confidence ? confidence.as_double() : std::optional<double>(1);
  if (!sure || *sure < 0 || *sure > 1) {
    body.blame("confidence", "confidence is a number from 0 to 1");
  }
  if (body.error()) {
    call.refuse(*body.error());
    return;
  }
  const auto uuid = dialect::uuid_of(name);
  const std::string text = proposal_of(action, summary, why, confidence);
  const core::AskApproval command{
      .id = uuid           ? *uuid
            : name.empty() ? lib::random_uuid()
                           : dialect::message_id_of(lib::derived_id, call.caller.name, name),
      .summary = summary,
      .text = text,
      .digest = lib::sha256(text),
      .priority = *priority,
      .approvers = approvers,
      .needed = needed.value_or(1),
      .timeout = timeout};
  call.ask(command, call.when_done([asker = call.asker(), id = command.id](const core::Receipt&) {
    const Approval* const made = asker.tables().approvals.find_sent(asker.caller.name, id);
    answer_one(asker, 202, made == nullptr ? 0 : made->id);
  }));
}

const Approval* find_approval(Call& call) {
  const auto id = parse_number(call.arguments[0]);
  const Approval* const approval = id ? call.tables().approvals.find(*id) : nullptr;
  if (approval == nullptr || !may_see(call.tables(), call.caller, *approval)) {
    call.refuse(Error{Code::not_found,
                      "there is no approval \"" + std::string(base::cut(call.arguments[0], 64)) +
                          "\"; they have numbers, as GET /v1/approvals lists them",
                      {}});
    return nullptr;
  }
  return approval;
}

void show_approval(Call& call) {
  const Approval* const approval = find_approval(call);
  if (approval == nullptr) {
    return;
  }
  std::string text;
  JsonWriter out(text);
  out.object();
  render_approval(call.asker(), *approval, out);
  auto good =
      approval->held.n != 0
          ? with_record<core::Send>(
                call, approval->held,
                [&out](const core::Send& sent) { render_held_message(sent.envelope, out); })
          : with_record<core::AskApproval>(
                call, approval->record,
                [&out](const core::AskApproval& asked) { out.key("proposal").raw(asked.text); });
  if (good && approval->state == core::ApprovalState::modified) {
    good = with_record<core::DecideApproval>(
        call, approval->decision,
        [&out](const core::DecideApproval& made) {
          out.key("modification").raw(made.modification);
        });
  }
  if (!good) {
    call.refuse(good.error());
    return;
  }
  out.end_object();
  call.respond(json_response(200, std::move(text)));
}

void decide(Call& call) {
  const Approval* const approval = find_approval(call);
  if (approval == nullptr) {
    return;
  }
  Members body(call.body);
  const auto word = body.needed_text("decision", "decision is " + in_words(decisions));
  const std::string_view comment = body.text("comment");
  const lib::Json modification = body.find("modification");
  const std::string_view digest = body.text("digest");
  const auto at = std::ranges::find(decisions, word);
  if (at == decisions.end()) {
    body.blame("decision", "decision is " + in_words(decisions));
  }
  // Who says what it was shown decides on that alone. Others decide on what has this number, which
  // never changes.
  const std::string known = base::hex(approval->digest);
  if (!digest.empty() && digest != known) {
    body.blame(Error{Code::conflict,
                     "what is proposed is not what you were shown; look at it again", "/digest"});
  }
  if (body.error()) {
    call.refuse(*body.error());
    return;
  }
  const bool is_given = modification && modification.kind() != lib::JsonKind::null;
  const uint64_t id = approval->id;
  call.ask(core::DecideApproval{.id = id,
                                .digest = approval->digest,
                                .decision = static_cast<ApprovalDecision>(at - decisions.begin()),
                                .comment = comment,
                                .modification = is_given ? modification.raw() : ""},
           call.when_done([asker = call.asker(), id](const core::Receipt&) {
             answer_one(asker, 200, id);
           }));
}

}  // namespace

std::span<const Route> approval_routes() {
  static const std::vector<Route> routes = {
      {.method = "GET",
       .pattern = "/v1/approvals",
       .handler = list_approvals,
       .parameters = {query::text("state"), query::text("for"),
                      query::number("limit", approvals_listed_max),
                      query::number("cursor", INT64_MAX), query::duration("wait", wait_max)},
       .who = Who::principal},
      {.method = "POST",
       .pattern = "/v1/approvals",
       .handler = ask_approval,
       .body = body_of({"action", "summary", "rationale", "confidence", "priority", "approvers",
                        "needed", "timeout", "message_id"}),
       .who = Who::machine},
      {.method = "GET",
       .pattern = "/v1/approvals/{}",
       .handler = show_approval,
       .who = Who::principal},
      {.method = "POST",
       .pattern = "/v1/approvals/{}/decision",
       .handler = decide,
       .body = body_of({"decision", "comment", "modification", "digest"}),
       .who = Who::machine},
  };
  return routes;
}

}  // namespace parley::edge
