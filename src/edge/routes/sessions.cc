// SPDX-License-Identifier: Apache-2.0
// Collaboration sessions over HTTP. How they stand is in the machine; what was written into them is
// in the journal.
#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <ranges>
#include <set>

#include "core/model/entry.h"
#include "edge/api/context.h"
#include "edge/api/listing.h"
#include "edge/api/members.h"
#include "edge/gate.h"
#include "edge/render.h"
#include "edge/routes/routes.h"
#include "lib/crypto.h"
#include "lib/json_writer.h"

namespace parley::edge {

namespace {

using base::Code;
using core::Session;
using core::SessionAct;
using lib::Json;
using lib::JsonWriter;

constexpr uint64_t list_max = 1'000;

// One answer has at most this many bytes of entries; the rest is asked for with `after`.
constexpr size_t entries_bytes_max = size_t{1} << 20;

// True for the members of an entry that the broker writes itself. A client's own members of these
// names are dropped, also where they are escaped.
bool is_own_key(std::string_view quoted) {
  constexpr std::array<std::string_view, 3> own = {R"("version")", R"("by")", R"("at")"};
  if (quoted.find('\\') == std::string_view::npos) {
    return std::ranges::find(own, quoted) != own.end();
  }
  lib::JsonDocument document;
  const auto key = document.parse(quoted);
  const std::string plain = key ? "\"" + std::string(key->as_string().value_or("")) + "\"" : "";
  return std::ranges::find(own, plain) != own.end();
}

std::string etag(uint64_t version) { return "\"" + std::to_string(version) + "\""; }

// Which version a change is made to: `"7"`, or 0 for `*`, whichever it is.
std::expected<uint64_t, Error> version_in(const Call& call) {
  std::string_view text = call.request.header("if-match");
  if (text.empty()) {
    return std::unexpected(
        Error{Code::version_required,
              "a change of a session says in If-Match which version it is made to; \"*\" is any",
              {}});
  }
  if (text == "*") {
    return 0;
  }
  if (text.size() > 1 && text.starts_with('"') && text.ends_with('"')) {
    text = text.substr(1, text.size() - 2);
  }
  const std::optional<uint64_t> version = parse_number(text);
  if (!version || *version == 0) {
    return std::unexpected(Error{
        Code::bad_request, "If-Match is one version of the session, such as \"7\", or *", {}});
  }
  return *version;
}

// The command in the record at `seq`; its texts are good until the broker's next record.
std::optional<core::Command> command_at(node::Broker& broker, base::Seq seq) {
  const auto record = broker.records().read(seq);
  auto entry = record ? core::decode_entry(seq, {}, *record) : std::unexpected(record.error());
  return entry ? std::optional(std::move(entry->command)) : std::nullopt;
}

void render_task(node::Broker& broker, const Session& session, JsonWriter& out) {
  const auto command = command_at(broker, session.began);
  const auto* const start = command ? std::get_if<core::StartSession>(&*command) : nullptr;
  out.key("task");
  if (start == nullptr || start->task.empty()) {
    out.null();
  } else {
    out.raw(start->task);
  }
}

// The entries after a version, oldest first, as far as one answer goes. Returns the version of the
// last that is in it, where there are more.
uint64_t end_of_page(node::Broker& broker, const Session& session, uint64_t after) {
  size_t bytes = 0;
  uint64_t last = after;
  for (const core::SessionChange& change : session.entries) {
    if (change.version <= after) {
      continue;
    }
    if (bytes >= entries_bytes_max) {
      return last;
    }
    const auto record = broker.records().read(change.seq);
    bytes += record ? record->size() : 0;
    last = change.version;
  }
  return UINT64_MAX;
}

struct Page {
  uint64_t after = 0;
  uint64_t upto = UINT64_MAX;
};

void render_entries(node::Broker& broker, const Session& session, SessionAct act,
                    std::string_view key, const Page& page, JsonWriter& out) {
  out.key(key).array();
  for (const core::SessionChange& change : session.entries) {
    if (change.act != act || change.version <= page.after || change.version > page.upto) {
      continue;
    }
    out.object().key("version").number(change.version).key("by").text(change.by);
    out.key("at").time(change.at);
    const auto command = command_at(broker, change.seq);
    const auto* const written = command ? std::get_if<core::ChangeSession>(&*command) : nullptr;
    if (written != nullptr) {
      lib::JsonSlices slices(written->body);
      for (lib::JsonSlice slice; slices.next(slice);) {
        if (!is_own_key(slice.key)) {
          out.raw_key(slice.key).raw(slice.value);
        }
      }
    }
    out.end_object();
  }
  out.end_array();
}

void render_head(const core::Tables& t, const Session& session, JsonWriter& out) {
  out.key("id").text(session.id).key("version").number(session.version);
  out.key("status").plain(core::session_status_words[session.status]);
  out.key("coordinator").text(session.coordinator).key("participants").array();
  for (const std::string& name : session.participants) {
    out.text(name);
  }
  out.end_array().key("startedAt").time(session.started);
  out.key("lastActivity").time(session.last_activity);
  out.key("messageCount").number(session.messages);
  if (!session.is_over()) {
    out.key("endsAt").time(session.started + t.rules.session_duration_max);
    return;
  }
  out.key("endedAt").time(session.ended);
  if (!session.changes.empty()) {
    out.key("endedBy").text(core::by_whom(session.changes.back().by));
    out.key("summary").text(session.changes.back().subject);
  }
}

// In the form of the reader's dialect, where that is another and the journal has the message.
using MessageIds = std::map<base::Seq, std::string>;

void render_log(const Session& session, const MessageIds& ids, JsonWriter& out) {
  out.key("messageLog").array();
  for (const core::SessionMessage& message : session.log) {
    const auto id = ids.find(message.seq);
    out.object().key("id").text(id == ids.end() ? base::format_uuid(message.id) : id->second);
    out.key("seq").number(message.seq.n);
    out.key("from").text(message.from).key("to").text(message.to);
    out.key("receivers").number(uint64_t{message.receivers}).key("type").text(message.type);
    if (!message.action.empty()) {
      out.key("action").text(message.action);
    }
    out.key("timestamp").time(message.at).end_object();
  }
  out.end_array();
}

void render_changes(const Session& session, JsonWriter& out) {
  out.key("changes").array();
  for (const core::SessionChange& change : session.changes) {
    out.object().key("version").number(change.version);
    out.key("change").plain(core::session_act_name(change.act));
    out.key("by").text(core::by_whom(change.by)).key("at").time(change.at);
    if (!change.subject.empty()) {
      out.key("subject").text(change.subject);
    }
    out.end_object();
  }
  out.end_array();
}

// What is wrong with an entry's body, if anything is.
std::optional<Error> fault_in(Json body, SessionAct act, const Principal& caller) {
  if (const Json by = body.find("by"); by && by.as_string() != caller.name) {
    return Error{Code::sender_mismatch, "by is who writes it; leave it out, or name yourself",
                 "/by"};
  }
  if (body.empty()) {
    return Error{Code::bad_request, "an entry is an object with something in it", {}};
  }
  if (act == SessionAct::add_decision && body.find("decision").as_string().value_or("").empty()) {
    return Error{Code::bad_request, "decision says what was decided, a string", "/decision"};
  }
  return std::nullopt;
}

void list_sessions(Call& call) {
  const uint64_t limit = call.number("limit", 100);
  const std::string status = call.text("status");
  if (!status.empty() && !core::session_status_words.find(status)) {
    call.refuse(bad_parameter("status", core::session_status_words.all()));
    return;
  }
  const core::Tables& t = call.tables();
  std::vector<const Session*> found;
  const auto look = [&](const Session& session) {
    if (may_see(call.caller, session) &&
        (status.empty() || core::session_status_words[session.status] == status)) {
      found.push_back(&session);
    }
  };
  if (call.caller.is_maintainer()) {
    std::ranges::for_each(t.sessions.all() | std::views::values, look);
  } else if (const std::set<base::Seq>* const own = t.sessions.of(call.caller.name)) {
    for (const base::Seq began : *own) {
      look(t.sessions.all().at(began));
    }
  }
  std::string text;
  JsonWriter out(text);
  out.object().key("count").number(uint64_t{found.size()}).key("sessions").array();
  for (size_t n = 0; n < std::min<size_t>(found.size(), limit); ++n) {
    out.object();
    render_head(t, *found[found.size() - 1 - n], out);
    out.end_object();
  }
  out.end_array().end_object();
  call.respond(json_response(200, std::move(text)));
}

std::expected<const Session*, Error> find_session(const Call& call) {
  const Session* const session = call.tables().sessions.find(call.arguments[0]);
  if (session == nullptr || !may_see(call.caller, *session)) {
    return std::unexpected(
        Error{Code::not_found, "there is no session of this id in which you take part", {}});
  }
  return session;
}

std::expected<net::Response, Error> session_response(const Asker& asker, const std::string& id,
                                                     uint64_t after, const MessageIds& ids) {
  const core::Tables& t = asker.tables();
  const Session* const session = t.sessions.find(id);
  if (session == nullptr || !may_see(asker.caller, *session)) {
    return std::unexpected(Error{Code::not_found, "the session is forgotten", {}});
  }
  const Page page{after, end_of_page(asker.broker(), *session, after)};
  std::string text;
  JsonWriter out(text);
  out.object();
  render_head(t, *session, out);
  out.key("context").object();
  render_task(asker.broker(), *session, out);
  render_entries(asker.broker(), *session, SessionAct::add_decision, "decisions", page, out);
  render_entries(asker.broker(), *session, SessionAct::add_artifact, "artifacts", page, out);
  render_entries(asker.broker(), *session, SessionAct::add_finding, "findings", page, out);
  out.end_object();
  if (page.upto != UINT64_MAX) {
    out.key("next").number(page.upto);
  }
  render_log(*session, ids, out);
  render_changes(*session, out);
  out.end_object();
  net::Response response = json_response(200, std::move(text));
  response.headers.emplace_back("ETag", etag(session->version));
  return response;
}

void show_session(Call& call) {
  const auto found = find_session(call);
  if (!found) {
    call.refuse(found.error());
    return;
  }
  const Session* const session = *found;
  const uint64_t after = call.number("after", 0);
  // The ids of its messages come first: what else is in their records is not needed. Then as many
  // entries as an answer has.
  std::vector<base::Seq> records;
  if (!core::policy_of(call.caller.dialect).ids_are_uuids) {
    std::ranges::transform(session->log, std::back_inserter(records), &core::SessionMessage::seq);
  }
  const size_t messages = records.size();
  records.push_back(session->began);
  for (const core::SessionChange& change : session->entries) {
    if (change.version > after) {
      records.push_back(change.seq);
    }
  }
  struct Read {
    size_t messages_left;
    size_t bytes = 0;
    MessageIds ids{};
  };
  const auto read = std::make_shared<Read>(Read{.messages_left = messages});
  call.context->listings->add(
      call,
      {.records = std::move(records),
       .each =
           [read, asker = call.asker()](base::Seq seq) {
             if (read->messages_left > 0) {
               --read->messages_left;
               if (const auto envelope = envelope_at(asker.broker(), asker.caller.workspace, seq)) {
                 read->ids[seq] = dialect::id_in(asker.caller.dialect, *envelope);
               }
               return true;
             }
             // Twice what an answer has: the first record is the beginning of the session, with
             // its task, and does not count for the page, but may be as large as all of it.
             const auto record = asker.broker().records().read(seq);
             read->bytes += record ? record->size() : 0;
             return read->bytes < 2 * entries_bytes_max;
           },
       .answer = [read, after, id = session->id,
                  asker = call.asker()] { return session_response(asker, id, after, read->ids); }});
}

// Says which version came of a change; of one that was too late, which version there is.
void answer_change(const Asker& asker, const std::string& id, int status,
                   const core::Outcome& outcome) {
  const core::Tables& t = asker.tables();
  const Session* const session = t.sessions.find(id);
  if (!outcome) {
    ProblemExtras extras;
    if (outcome.error().code == Code::version_conflict && session != nullptr) {
      extras.members = [session](JsonWriter& out) { out.key("version").number(session->version); };
      extras.headers.emplace_back("ETag", etag(session->version));
    }
    asker.refuse(outcome.error(), extras);
    return;
  }
  std::string text;
  JsonWriter out(text);
  out.object().key("id").text(id).key("version").number(outcome->session_version);
  if (session != nullptr) {
    out.key("status").plain(core::session_status_words[session->status]);
  }
  out.end_object();
  net::Response response = json_response(status, std::move(text));
  response.headers.emplace_back("ETag", etag(outcome->session_version));
  asker.respond(std::move(response));
}

void start_session(Call& call) {
  Members body(call.body);
  const std::vector<std::string_view> names = body.texts("participants");
  if (std::ranges::find(names, std::string_view()) != names.end()) {
    body.blame("participants", "participants is an array with the names of principals");
  }
  const bool has_id = !body.find("id").is_null() && body.find("id");
  const std::string id =
      has_id ? std::string(body.text("id")) : base::format_uuid(lib::random_uuid());
  core::StartSession command{.id = id,
                             .coordinator = body.text("coordinator"),
                             .participants = {names.begin(), names.end()},
                             .task = body.find("task").raw()};
  if (body.error()) {
    call.refuse(*body.error());
    return;
  }
  call.ask(std::move(command),
           [asker = call.asker(), id](const core::Outcome& outcome, std::span<const core::Effect>) {
             answer_change(asker, id, 201, outcome);
           });
}

void change_session(Call& call, core::ChangeSession command, int status) {
  const auto found = find_session(call);
  const auto version = version_in(call);
  if (!found || !version) {
    call.refuse(!found ? found.error() : version.error());
    return;
  }
  command.id = call.arguments[0];
  command.version = *version;
  call.ask(command, [asker = call.asker(), id = call.arguments[0], status](
                        const core::Outcome& outcome, std::span<const core::Effect>) {
    answer_change(asker, id, status, outcome);
  });
}

void add_entry(Call& call, SessionAct act) {
  if (const auto fault = fault_in(call.body, act, call.caller)) {
    call.refuse(*fault);
    return;
  }
  change_session(call, {.id = {}, .act = act, .body = call.body.raw()}, 201);
}

void add_decision(Call& call) { add_entry(call, SessionAct::add_decision); }
void add_artifact(Call& call) { add_entry(call, SessionAct::add_artifact); }
void add_finding(Call& call) { add_entry(call, SessionAct::add_finding); }

void add_participant(Call& call) {
  Members body(call.body);
  const auto agent = body.needed_text("agent", "agent is who is to take part, a string");
  if (body.error()) {
    call.refuse(*body.error());
    return;
  }
  change_session(call, {.id = {}, .act = SessionAct::add_participant, .subject = agent}, 201);
}

void remove_participant(Call& call) {
  change_session(
      call, {.id = {}, .act = SessionAct::remove_participant, .subject = call.arguments[1]}, 200);
}

// By which a session comes to stand so.
SessionAct act_for(core::SessionStatus status) {
  switch (status) {
    case core::SessionStatus::active:
      return SessionAct::resume;
    case core::SessionStatus::paused:
      return SessionAct::pause;
    case core::SessionStatus::completed:
      return SessionAct::complete;
    case core::SessionStatus::failed:
      return SessionAct::fail;
  }
  return SessionAct::fail;
}

void set_session_status(Call& call) {
  if (const auto found = find_session(call); !found) {
    call.refuse(found.error());
    return;
  }
  Members body(call.body);
  const auto status = core::session_status_words.find(body.text("status"));
  const std::string_view summary = body.text("summary");
  if (!status) {
    body.blame("status", "status is " + in_words(core::session_status_words.all()));
  }
  if (body.error()) {
    call.refuse(*body.error());
    return;
  }
  change_session(call, {.id = {}, .act = act_for(*status), .subject = summary}, 200);
}

}  // namespace

std::span<const Route> session_routes() {
  static const std::vector<Route> routes = {
      {.method = "GET",
       .pattern = "/v1/sessions",
       .handler = list_sessions,
       .parameters = {query::text("status"), query::number("limit", list_max)},
       .who = Who::principal},
      {.method = "POST",
       .pattern = "/v1/sessions",
       .handler = start_session,
       .body = body_of({"id", "coordinator", "participants", "task"}),
       .who = Who::machine},
      {.method = "GET",
       .pattern = "/v1/sessions/{}",
       .handler = show_session,
       .parameters = {query::number("after", UINT64_MAX - 1)},
       .who = Who::principal},
      {.method = "POST",
       .pattern = "/v1/sessions/{}/participants",
       .handler = add_participant,
       .body = body_of({"agent"}),
       .who = Who::machine},
      {.method = "DELETE",
       .pattern = "/v1/sessions/{}/participants/{}",
       .handler = remove_participant,
       .who = Who::machine},
      {.method = "POST",
       .pattern = "/v1/sessions/{}/decisions",
       .handler = add_decision,
       .body = {.kind = Body::Kind::object},
       .who = Who::machine},
      {.method = "POST",
       .pattern = "/v1/sessions/{}/artifacts",
       .handler = add_artifact,
       .body = {.kind = Body::Kind::object},
       .who = Who::machine},
      {.method = "POST",
       .pattern = "/v1/sessions/{}/findings",
       .handler = add_finding,
       .body = {.kind = Body::Kind::object},
       .who = Who::machine},
      {.method = "POST",
       .pattern = "/v1/sessions/{}/status",
       .handler = set_session_status,
       .body = body_of({"status", "summary"}),
       .who = Who::machine},
  };
  return routes;
}

}  // namespace parley::edge
