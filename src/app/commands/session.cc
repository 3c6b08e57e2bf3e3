// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <utility>
#include <vector>

#include "app/client/client.h"
#include "app/commands/commands.h"
#include "app/route_command.h"
#include "core/conversation/sessions.h"

namespace parley::app {

namespace {

using lib::Json;

Table::Cell status_of(Json session) {
  const std::string status = text_of(session, "status");
  return {status, status == "paused"   ? Colour::yellow
                  : status == "failed" ? Colour::red
                  : status == "active" ? Colour::plain
                                       : Colour::dim};
}

Table::Cell participants_of(Json session) {
  constexpr size_t name_columns = 50;
  return {shortened(printable(joined(session.find("participants"))), name_columns)};
}

// What was written, without what the broker says of it.
std::string body_of(Json entry) {
  std::string text;
  for (const lib::JsonMember member : entry.members()) {
    if (member.key != "version" && member.key != "by" && member.key != "at") {
      text += (text.empty() ? "" : ", ") + std::string(member.key) + ": " +
              std::string(member.value.as_string().value_or(member.value.raw()));
    }
  }
  return text;
}

void print_context(Json context) {
  std::printf("task: %s\n", printable(text_of(context, "task")).c_str());
  Table table({"VERSION", "WHAT", "BY", "AT", "ENTRY"});
  for (const auto& [key, what] :
       {std::pair{"decisions", "decision"}, std::pair{"artifacts", "artifact"},
        std::pair{"findings", "finding"}}) {
    for (const Json entry : context.find(key).elements()) {
      constexpr size_t body_columns = 80;
      table.add({{text_of(entry, "version")},
                 {what},
                 {text_of(entry, "by")},
                 {text_of(entry, "at"), Colour::dim},
                 {shortened(printable(body_of(entry)), body_columns)}});
    }
  }
  if (!table.empty()) {
    std::printf("%s", table.render(wants_colours()).c_str());
  }
}

int show(Json answer, const Given& /*given*/) {
  const std::string ended = text_of(answer, "endedAt");
  const std::string line = "session " + text_of(answer, "id") + ": " + text_of(answer, "status") +
                           ", version " + text_of(answer, "version") + ", " +
                           text_of(answer, "messageCount") + " messages, " +
                           (ended.empty() ? "ends " + text_of(answer, "endsAt")
                                          : "ended " + ended + " by " + text_of(answer, "endedBy"));
  std::printf("%s\nparticipants: %s\n", printable(line).c_str(),
              printable(joined(answer.find("participants"))).c_str());
  if (const std::string summary = text_of(answer, "summary"); !summary.empty()) {
    std::printf("summary: %s\n", printable(summary).c_str());
  }
  print_context(answer.find("context"));
  if (const std::string next = text_of(answer, "next"); !next.empty()) {
    std::fprintf(stderr, "parley: there are more entries; go on with --after %s\n",
                 printable(next).c_str());
  }
  for (const Json message : answer.find("messageLog").elements()) {
    const std::string said = text_of(message, "timestamp") + " " + text_of(message, "from") +
                             " -> " + text_of(message, "to") + " " + text_of(message, "type") +
                             " " + text_of(message, "id");
    std::printf("%s\n", printable(said).c_str());
  }
  return 0;
}

// A row that changes one session: the version that was named, or whichever there is. Prints the new
// version.
RouteCommand change(RouteCommand row) {
  row.arguments.insert(row.arguments.begin(), required("ID", "The session"));
  row.arguments.push_back({.name = "--version",
                           .help = "Only if the session has this version; else whichever",
                           .kind = Argument::Kind::number,
                           .type = "N",
                           .value = "*"});
  row.headers = {{"If-Match", "{--version}"}};
  row.show = says("version {version}");
  return row;
}

RouteCommand status_change(const std::string& name, const std::string& help,
                           const std::string& example, const std::string& status) {
  return change({.name = name,
                 .help = help,
                 .example = example,
                 .call = "POST /v1/sessions/{ID}/status",
                 .body = Body{{"status", status}}});
}

// The session ends, and its participants may be told why.
RouteCommand ending(RouteCommand row) {
  row.arguments.insert(row.arguments.begin() + 1,
                       {.name = "--summary", .help = "What the participants are told"});
  row.body->push_back({"summary", "{--summary}"});
  return row;
}

RouteCommand list_command() {
  return {.name = "list",
          .help = "List them, newest first",
          .example = "parley session list --status active",
          .arguments = {{.name = "--status",
                         .help = "Only those that stand so",
                         .words = words_of(core::session_status_words.all())},
                        limit_of(1'000)},
          .call = "GET /v1/sessions?limit={--limit}&status={--status}",
          .show = lists("sessions", "no sessions",
                        {{"SESSION", member("id")},
                         {"STATUS", status_of},
                         {"VERSION", member("version")},
                         {"COORDINATOR", member("coordinator")},
                         {"LAST ACTIVITY", member("lastActivity", Colour::dim)},
                         {"PARTICIPANTS", participants_of}})};
}

RouteCommand show_command() {
  return {.name = "show",
          .help = "What is shared in it, and was said",
          .example = "parley session show release-42",
          .arguments = {required("ID", "The session"),
                        {.name = "--after",
                         .help = "Only entries after this version",
                         .kind = Argument::Kind::number,
                         .type = "VERSION"}},
          .call = "GET /v1/sessions/{ID}?after={--after}",
          .show = show};
}

RouteCommand start_command() {
  return {.name = "start",
          .help = "Start one, and print its id",
          .example = "parley session start --id release-42 --with bo --task \"Ship it\"",
          .arguments = {{.name = "--id", .help = "Its id; else one is made"},
                        {.name = "--with",
                         .help = "Who takes part; may be repeated",
                         .kind = Argument::Kind::several,
                         .type = "AGENT"},
                        {.name = "--coordinator", .help = "Who leads it, if not the caller"},
                        {.name = "--task", .help = "What it is about"}},
          .call = "POST /v1/sessions",
          .body = Body{{"id", "{--id}"},
                       {"coordinator", "{--coordinator}"},
                       {"participants", "{--with}"},
                       {"task", "{--task}"}},
          .show = says("{id}")};
}

// Who takes part.
std::vector<RouteCommand> people_commands() {
  return {change({.name = "join",
                  .help = "Let an agent take part",
                  .example = "parley session join release-42 cy",
                  .arguments = {required("AGENT", "Who is to take part")},
                  .call = "POST /v1/sessions/{ID}/participants",
                  .body = Body{{"agent", "{AGENT}"}}}),
          change({.name = "leave",
                  .help = "Leave it, or let an agent leave it",
                  .example = "parley session leave release-42 cy",
                  .arguments = {required("AGENT", "Who takes part no longer")},
                  .call = "DELETE /v1/sessions/{ID}/participants/{AGENT}"})};
}

// What is written into its context.
std::vector<RouteCommand> entry_commands() {
  return {
      change({.name = "add-decision",
              .help = "Write down what was decided",
              .example = "parley session add-decision release-42 \"Use YAML\" --rationale "
                         "\"People read it\"",
              .arguments = {required("DECISION", "What was decided"),
                            {.name = "--rationale", .help = "Why"}},
              .call = "POST /v1/sessions/{ID}/decisions",
              .body = Body{{"decision", "{DECISION}"}, {"rationale", "{--rationale}"}}}),
      change({.name = "add-artifact",
              .help = "Write down what was made",
              .example = "parley session add-artifact release-42 plan.md --uri "
                         "file:///srv/plan.md",
              .arguments = {required("NAME", "What it is called"),
                            {.name = "--uri", .help = "Where it is"}},
              .call = "POST /v1/sessions/{ID}/artifacts",
              .body = Body{{"name", "{NAME}"}, {"uri", "{--uri}"}}}),
      change({.name = "add-finding",
              .help = "Write down what was found out",
              .example = "parley session add-finding release-42 \"The build is slow\" --severity "
                         "high",
              .arguments = {required("FINDING", "What was found out"),
                            {.name = "--severity", .help = "How bad it is"}},
              .call = "POST /v1/sessions/{ID}/findings",
              .body = Body{{"description", "{FINDING}"}, {"severity", "{--severity}"}}})};
}

std::vector<RouteCommand> status_commands() {
  return {
      status_change("pause", "Hand out nothing that is said in it",
                    "parley session pause release-42", "paused"),
      status_change("resume", "Hand out what waited, and go on", "parley session resume release-42",
                    "active"),
      ending(status_change("complete", "End it: the task is done",
                           "parley session complete release-42 --summary \"The plan is ready\"",
                           "completed")),
      ending(status_change("fail", "End it: the task is given up",
                           "parley session fail release-42 --summary \"No budget\"", "failed"))};
}

}  // namespace

void add_session(Command& app, int& exit_code) {
  RouteCommand session{.name = "session",
                       .help = "What agents work on together, and share",
                       .subcommands = {list_command(), show_command(), start_command()}};
  for (const auto& commands : {people_commands(), entry_commands(), status_commands()}) {
    session.subcommands.insert(session.subcommands.end(), commands.begin(), commands.end());
  }
  add_route_command(app, exit_code, session);
}

}  // namespace parley::app
