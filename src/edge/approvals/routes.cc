// SPDX-License-Identifier: Apache-2.0
// What an agent may do only if people say so.
#include <algorithm>
#include <array>
#include <memory>
#include <utility>

#include "base/text.h"
#include "core/humans/approval_acts.h"
#include "core/model/entry.h"
#include "dialect/dialect.h"
#include "edge/api/context.h"
#include "edge/api/listing.h"
#include "edge/api/mail_waits.h"
#include "edge/api/members.h"
#include "edge/api/waiting.h"
#include "edge/approvals/proposal.h"
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
constexpr Duration rest = base::milliseconds(100);  // before a list is made again
constexpr std::array<core::Priority, core::priority_count> priorities = {
    core::Priority::critical, core::Priority::high, core::Priority::normal, core::Priority::low};

void render_names(std::string_view key, const std::vector<std::string>& names, JsonWriter& out) {
  out.key(key).array();
  for (const std::string& name : names) {
    out.text(name);
  }
  out.end_array();
}

void render_approval(const Asker& asker, const Approval& approval, JsonWriter& out) {
  out.key("id").number(approval.id);
  out.key("state").plain(core::approval_state_words[approval.state]);
  out.key("from").text(approval.asker).key("message_id").text(approval.message_name());
  out.key("seq").number(approval.record.n).key("summary").text(approval.summary);
  out.key("priority").plain(core::word_of(approval.priority));
  out.key("created_at").time(approval.since).key("deadline").time(approval.deadline);
  render_names("approvers", approval.approvers, out);
  out.key("needed").number(approval.needed);
  out.key("options").array();
  for (const std::string_view option : core::approval_options) {
    if (approval.offers(*core::approval_decision_words.find(option))) {
      out.plain(option);
    }
  }
  out.end_array();
  render_names("approved_by", approval.approved_by, out);
  out.key("may_decide");
  out.boolean(
      approval.is_pending() && core::may_decide(asker.tables(), asker.caller.ref, approval) &&
      std::ranges::find(approval.approved_by, asker.caller.name) == approval.approved_by.end());
  out.key("digest").text(base::hex(approval.digest));
  if (approval.held.n != 0) {
    out.key("held").number(approval.held.n);
  }
  if (!approval.is_pending()) {
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

// The message that waits, as its sender wrote it: that is what people decide on. One with a key
// that stands twice is shown as text, since readers would take one or the other.
void render_held_message(const core::Envelope& envelope, JsonWriter& out) {
  std::string text;
  dialect::codec_of(envelope.dialect)
      .encode.value(envelope, {.recipient = envelope.receivers.front()}, text);
  lib::JsonDocument document;
  const auto message = document.parse(text);
  std::string shown;
  if (!message || append_proposal(shown, *message, "")) {
    shown.clear();
    lib::append_visible_json_string(shown, text);
  }
  out.key("proposal").object().key("action").raw(shown).end_object();
}

struct Wanted {
  bool pending = true;
  bool decided = true;
  bool mine = false;    // only what the caller may decide now
  uint64_t before = 0;  // an id; 0: from the newest
  uint64_t limit = 0;

  bool has(const Asker& asker, const Approval& approval) const {
    return (approval.is_pending() ? pending : decided) &&
           may_see(asker.tables(), asker.caller, approval) &&
           (!mine || core::may_decide(asker.tables(), asker.caller.ref, approval));
  }
};

// A list that is made in parts, the newest first, however many approvals there are; where there is
// nothing to list, again and again until there is, or until the time is over.
struct ApprovalWalk {
  Asker asker;
  Wanted wanted;
  base::Time until;            // it waits so long for something to list
  base::Time begun;
  uint64_t below = INT64_MAX;  // those with lower ids are not looked at yet
  uint64_t total = 0;          // that are wanted
  uint64_t listed = 0;
  bool has_more = false;          // beyond those that are listed
  uint64_t last = wanted.before;  // of those that are listed
  std::string text{};             // of the items
};
using WalkRef = std::shared_ptr<ApprovalWalk>;

void add_item(ApprovalWalk& walk, const Approval& approval) {
  ++walk.total;
  if (walk.wanted.before != 0 && approval.id >= walk.wanted.before) {
    return;
  }
  if (walk.has_more || walk.listed >= walk.wanted.limit || walk.text.size() >= answer_bytes_max) {
    walk.has_more = true;
    return;
  }
  walk.text += walk.listed++ == 0 ? "" : ",";
  JsonWriter out(walk.text);
  out.object();
  render_approval(walk.asker, approval, out);
  out.end_object();
  walk.last = approval.id;
}

// Looks at some of them. True: at the last.
bool look_on(ApprovalWalk& walk) {
  constexpr size_t looked_at_max = 512;
  constexpr uint64_t listed_max = 64;
  const auto& all = walk.asker.tables().approvals.all();
  const uint64_t listed_before = walk.listed;
  auto at = std::make_reverse_iterator(all.lower_bound(walk.below));
  for (size_t looked_at = 0;
       at != all.rend() && looked_at < looked_at_max && walk.listed - listed_before < listed_max;
       ++at, ++looked_at) {
    walk.below = at->first;
    if (walk.wanted.has(walk.asker, at->second)) {
      add_item(walk, at->second);
    }
  }
  return at == all.rend();
}

void answer_approvals(const ApprovalWalk& walk) {
  std::string text;
  JsonWriter out(text);
  out.object().key("items").raw("[" + walk.text + "]").key("total").number(walk.total);
  if (walk.has_more) {
    out.key("next").text(std::to_string(walk.last));
  }
  out.end_object();
  walk.asker.respond(json_response(200, std::move(text)));
}

// Another one whenever an approval was asked for or has ended: the newest has a higher id, or fewer
// are open.
std::pair<uint64_t, size_t> stamp_of(const core::Approvals& approvals) {
  return {approvals.all().empty() ? 0 : approvals.all().rbegin()->first, approvals.open()};
}

void begin_list(const WalkRef& walk);

// Any change may be what it waits for. Very many may wait, and changes may come one after the
// other: each list rests before it is made again.
void wait_on(const WalkRef& walk) {
  const Asker& asker = walk->asker;
  const auto seen = stamp_of(asker.tables().approvals);
  const bool rests = asker.now() < walk->begun + rest;
  const Duration left = walk->until - asker.now();
  asker.context->mail_waits->add(
      asker, rests ? std::min(rest, left) : left,
      [walk, seen] {
        if (walk->asker.refuse_if_stale()) {
          return;
        }
        if (walk->asker.now() < walk->until && stamp_of(walk->asker.tables().approvals) == seen) {
          wait_on(walk);
          return;
        }
        *walk = {.asker = walk->asker,
                 .wanted = walk->wanted,
                 .until = walk->until,
                 .begun = walk->asker.now()};
        begin_list(walk);
      },
      rests ? std::nullopt : std::optional(uint64_t{0}));
}

// True: the list is answered, or waits for something to list.
bool go_on(const WalkRef& walk) {
  const Asker& asker = walk->asker;
  if (!look_on(*walk)) {
    return false;
  }
  if (walk->total > 0 || asker.now() >= walk->until) {
    answer_approvals(*walk);
  } else if (asker.context->waiting->contains(asker.exchange) ||
             asker.context->waiting->begin(asker)) {
    wait_on(walk);
  }
  return true;
}

void begin_list(const WalkRef& walk) {
  walk->asker.context->listings->add(walk->asker, [walk] { return go_on(walk); });
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
  begin_list(
      std::make_shared<ApprovalWalk>(ApprovalWalk{.asker = call,
                                                  .wanted = wanted,
                                                  .until = call.now() + call.duration("wait"),
                                                  .begun = call.now()}));
}

std::string words_of_priorities() {
  std::vector<std::string_view> words;
  for (const core::Priority each : priorities) {
    words.push_back(core::word_of(each));
  }
  return in_words(words);
}

std::optional<core::Priority> priority_of(std::string_view word) {
  const auto at =
      std::ranges::find(priorities, word, [](core::Priority each) { return core::word_of(each); });
  return at == priorities.end() ? std::nullopt : std::optional(*at);
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

// What those who decide may choose; all where it is left out.
uint64_t read_options(Members& body) {
  const std::vector<std::string_view> words = body.texts("options");
  uint64_t options = 0;
  for (const std::string_view word : words) {
    const auto decision = core::approval_decision_words.find(word);
    if (!decision || (core::option_of(*decision) & core::all_options) == 0) {
      body.blame("options", "options are some of approve, reject and modify");
    } else {
      options |= core::option_of(*decision);
    }
  }
  return words.empty() ? core::all_options : options;
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
  const uint64_t options = read_options(body);
  if (!priority) {
    body.blame("priority", "priority is " + words_of_priorities());
  }
  const auto sure = confidence ? confidence.as_double() : std::optional<double>(1);
  if (!sure || *sure < 0 || *sure > 1) {
    body.blame("confidence", "confidence is a number from 0 to 1");
  }
  if (const auto twice = repeated_key(call.body, "")) {
    body.blame(*twice);
  }
  const auto proposal = proposal_text(
      {.action = action, .summary = summary, .rationale = why, .confidence = confidence},
      call.tables().rules.approval_bytes_max);
  if (!proposal) {
    body.blame(proposal.error());
  }
  if (body.error()) {
    call.refuse(*body.error());
    return;
  }
  const auto uuid = dialect::uuid_of(name);
  const core::AskApproval command{
      .id = uuid           ? *uuid
            : name.empty() ? lib::random_uuid()
                           : dialect::message_id_of(lib::derived_id, call.caller.name, name),
      .summary = summary,
      .text = *proposal,
      .digest = lib::sha256(*proposal),
      .priority = *priority,
      .approvers = approvers,
      .needed = needed.value_or(1),
      .timeout = timeout,
      .native_id = uuid ? std::string_view() : name,
      .options = options};
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

// What the message answers: who decides has to know what was asked.
void render_question(const Asker& asker, const Approval& approval, JsonWriter& out) {
  if (approval.question.n == 0) {
    return;
  }
  (void)with_record<core::Send>(asker, approval.question, [&out](const core::Send& asked) {
    const core::Envelope& e = asked.envelope;
    const dialect::Codec& codec = dialect::codec_of(e.dialect);
    out.key("question").object().key("message_id").text(dialect::id_in(e.dialect, e));
    out.key("from").text(e.sender).key("title");
    out.text(codec.title != nullptr ? codec.title(e) : std::string(e.subject)).end_object();
  });
}

Error no_approval(uint64_t id) {
  return {Code::not_found, "there is no approval " + std::to_string(id), {}};
}

void show(const Asker& asker, const Approval& approval) {
  std::string text;
  JsonWriter out(text);
  out.object();
  render_approval(asker, approval, out);
  auto good = approval.held.n != 0
                  ? with_record<core::Send>(
                        asker, approval.held,
                        [&out](const core::Send& sent) { render_held_message(sent.envelope, out); })
                  : with_record<core::AskApproval>(asker, approval.record,
                                                   [&out](const core::AskApproval& asked) {
                                                     out.key("proposal").raw(asked.text);
                                                   });
  render_question(asker, approval, out);
  if (good && approval.state == core::ApprovalState::modified) {
    const auto modification =
        modification_text(asker.broker(), asker.caller.workspace, approval.decision);
    if (modification) {
      out.key("modification").raw(*modification);
    } else {
      good = std::unexpected(modification.error());
    }
  }
  if (!good) {
    asker.refuse(good.error());
    return;
  }
  out.end_object();
  asker.respond(json_response(200, std::move(text)));
}

// A message that waits may be long, and is written anew each time: in the turn of its caller.
void show_in_turn(const Asker& asker, uint64_t id) {
  const auto step = [asker, id, has_turn = false]() mutable {
    if (!std::exchange(has_turn, true)) {
      return false;
    }
    const Approval* const approval = asker.tables().approvals.find(id);
    if (approval == nullptr || !may_see(asker.tables(), asker.caller, *approval)) {
      asker.refuse(no_approval(id));
    } else {
      show(asker, *approval);
    }
    return true;
  };
  asker.context->listings->add(asker, step);
}

void show_when_decided(const Asker& asker, uint64_t id, base::Time until) {
  if (asker.refuse_if_stale()) {
    return;
  }
  const Approval* const approval = asker.tables().approvals.find(id);
  if (approval == nullptr || !may_see(asker.tables(), asker.caller, *approval)) {
    asker.refuse(no_approval(id));
    return;
  }
  if (!approval->is_pending() || until <= asker.now()) {
    if (approval->held.n != 0) {
      show_in_turn(asker, id);
    } else {
      show(asker, *approval);
    }
    return;
  }
  if (!asker.context->waiting->contains(asker.exchange) && !asker.context->waiting->begin(asker)) {
    return;
  }
  asker.context->mail_waits->add(
      asker, until - asker.now(), [asker, id, until] { show_when_decided(asker, id, until); }, id);
}

void show_approval(Call& call) {
  if (const Approval* const approval = find_approval(call); approval != nullptr) {
    show_when_decided(call, approval->id, call.now() + call.duration("wait"));
  }
}

void decide(Call& call) {
  const Approval* const approval = find_approval(call);
  if (approval == nullptr) {
    return;
  }
  Members body(call.body);
  const auto word =
      body.needed_text("decision", "decision is " + in_words(core::approval_decision_words.all()));
  const std::string_view comment = body.text("comment");
  const lib::Json modification = body.find("modification");
  const std::string_view digest = body.text("digest");
  const auto decision = core::approval_decision_words.find(word);
  if (!decision) {
    body.blame("decision", "decision is " + in_words(core::approval_decision_words.all()));
  }
  // Who says what it was shown decides on that alone. Others decide on what has this number, which
  // never changes.
  const std::string known = base::hex(approval->digest);
  if (!digest.empty() && digest != known) {
    body.blame(Error{Code::conflict,
                     "what is proposed is not what you were shown; look at it again", "/digest"});
  }
  if (const auto twice = repeated_key(call.body, "")) {
    body.blame(*twice);
  }
  std::string instead;
  if (modification && modification.kind() != lib::JsonKind::null) {
    if (const auto error = append_proposal(instead, modification, "/modification",
                                           call.tables().rules.approval_bytes_max)) {
      body.blame(*error);
    }
  }
  if (body.error()) {
    call.refuse(*body.error());
    return;
  }
  const uint64_t id = approval->id;
  call.ask(core::DecideApproval{.id = id,
                                .digest = approval->digest,
                                .decision = decision.value_or(ApprovalDecision::reject),
                                .comment = comment,
                                .modification = instead},
           call.when_done(
               [asker = call.asker(), id](const core::Receipt&) { answer_one(asker, 200, id); }));
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
                        "needed", "options", "timeout", "message_id"}),
       .who = Who::machine},
      {.method = "GET",
       .pattern = "/v1/approvals/{}",
       .handler = show_approval,
       .parameters = {query::duration("wait", wait_max)},
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
