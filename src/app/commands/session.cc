// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <memory>

#include "app/client/client.h"
#include "app/commands/commands.h"
#include "app/options.h"
#include "app/text/terminal.h"
#include "lib/json_writer.h"

namespace parley::app {

namespace {

using lib::Json;
using lib::JsonWriter;

// Shared by the closures of one group, because CLI11 copies them.
struct Options {
  ClientOptions client;
  std::string id;
  uint64_t after = 0;
  std::string status;
  std::string agent;
  std::vector<std::string> with;
  std::string coordinator;
  std::string task;
  std::string text;    // of an entry
  std::string detail;  // its second member
  std::string summary;
  uint64_t version = 0;  // 0: whichever it has
  uint64_t limit = 100;
};

Json::Elements elements(Json object, const char* key) {
  const Json list = object ? object.find(key) : Json();
  return list ? list.elements() : Json::Elements();
}

std::string joined(Json object, const char* key) {
  std::string text;
  for (const Json name : elements(object, key)) {
    text += (text.empty() ? "" : ", ") + std::string(name.as_string().value_or(name.raw()));
  }
  return text;
}

Colour colour_of(const std::string& status) {
  return status == "paused"   ? Colour::yellow
         : status == "failed" ? Colour::red
         : status == "active" ? Colour::plain
                              : Colour::dim;
}

// A change, made to the version that was named or to whichever there is. Prints the new version.
int change(const Options& options, const char* method, const std::string& path, std::string body) {
  const HttpCall call{method,
                      "/v1/sessions/" + encoded(options.id) + path,
                      std::move(body),
                      {{"If-Match", options.version == 0 ? "*" : std::to_string(options.version)}}};
  return ask_and_show(options.client, call, [](Json answer) {
    std::printf("version %s\n", text_of(answer, "version").c_str());
    return 0;
  });
}

int list(const Options& options) {
  const std::string path = "/v1/sessions?limit=" + std::to_string(options.limit) +
                           (options.status.empty() ? "" : "&status=" + options.status);
  return ask_and_show(options.client, {"GET", path}, [](Json answer) {
    Table table({"SESSION", "STATUS", "VERSION", "COORDINATOR", "LAST ACTIVITY", "PARTICIPANTS"});
    for (const Json session : elements(answer, "sessions")) {
      const std::string status = text_of(session, "status");
      constexpr size_t name_columns = 50;
      table.add({{text_of(session, "id")},
                 {status, colour_of(status)},
                 {text_of(session, "version")},
                 {text_of(session, "coordinator")},
                 {text_of(session, "lastActivity"), Colour::dim},
                 {shortened(printable(joined(session, "participants")), name_columns)}});
    }
    std::printf("%s", table.empty() ? "no sessions\n" : table.render(wants_colours()).c_str());
    return 0;
  });
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
    for (const Json entry : elements(context, key)) {
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

int show(const Options& options) {
  const std::string after = options.after == 0 ? "" : "?after=" + std::to_string(options.after);
  return ask_and_show(
      options.client, {"GET", "/v1/sessions/" + encoded(options.id) + after}, [](Json answer) {
        const std::string ended = text_of(answer, "endedAt");
        const std::string line =
            "session " + text_of(answer, "id") + ": " + text_of(answer, "status") + ", version " +
            text_of(answer, "version") + ", " + text_of(answer, "messageCount") + " messages, " +
            (ended.empty() ? "ends " + text_of(answer, "endsAt")
                           : "ended " + ended + " by " + text_of(answer, "endedBy"));
        std::printf("%s\nparticipants: %s\n", printable(line).c_str(),
                    printable(joined(answer, "participants")).c_str());
        if (const std::string summary = text_of(answer, "summary"); !summary.empty()) {
          std::printf("summary: %s\n", printable(summary).c_str());
        }
        print_context(answer.find("context"));
        if (const std::string next = text_of(answer, "next"); !next.empty()) {
          std::fprintf(stderr, "parley: there are more entries; go on with --after %s\n",
                       printable(next).c_str());
        }
        for (const Json message : elements(answer, "messageLog")) {
          const std::string said = text_of(message, "timestamp") + " " + text_of(message, "from") +
                                   " -> " + text_of(message, "to") + " " +
                                   text_of(message, "type") + " " + text_of(message, "id");
          std::printf("%s\n", printable(said).c_str());
        }
        return 0;
      });
}

int start(const Options& options) {
  std::string body;
  JsonWriter out(body);
  out.object();
  if (!options.id.empty()) {
    out.key("id").text(options.id);
  }
  if (!options.coordinator.empty()) {
    out.key("coordinator").text(options.coordinator);
  }
  out.key("participants").array();
  for (const std::string& name : options.with) {
    out.text(name);
  }
  out.end_array();
  if (!options.task.empty()) {
    out.key("task").text(options.task);
  }
  out.end_object();
  return ask_and_show(options.client, {"POST", "/v1/sessions", body, {}}, [](Json answer) {
    std::printf("%s\n", printable(text_of(answer, "id")).c_str());
    return 0;
  });
}

int join(const Options& options) {
  std::string body;
  JsonWriter(body).object().key("agent").text(options.agent).end_object();
  return change(options, "POST", "/participants", std::move(body));
}

int leave(const Options& options) {
  return change(options, "DELETE", "/participants/" + encoded(options.agent), "");
}

// An entry of one or two members.
int add_entry(const Options& options, const std::string& path, const char* key,
              const char* second) {
  std::string body;
  JsonWriter out(body);
  out.object().key(key).text(options.text);
  if (!options.detail.empty()) {
    out.key(second).text(options.detail);
  }
  out.end_object();
  return change(options, "POST", path, std::move(body));
}

int set_status(const Options& options, const char* status) {
  std::string body;
  JsonWriter out(body);
  out.object().key("status").text(status);
  if (!options.summary.empty()) {
    out.key("summary").text(options.summary);
  }
  out.end_object();
  return change(options, "POST", "/status", std::move(body));
}

// A subcommand that is about one session.
Command* about_one(Command& group, const std::shared_ptr<Options>& options, const char* name,
                   const char* help) {
  Command* command = group.add_subcommand(name, help);
  command->add_option("ID", options->id, "The session")->required();
  return command;
}

void finish(Command& command, int& exit_code, const std::shared_ptr<Options>& options,
            const char* example, int (*run)(const Options&)) {
  add_client_options(command, options->client);
  add_example(command, example);
  command.callback([=, &exit_code] { exit_code = run(*options); });
}

void takes_version(Command& command, const std::shared_ptr<Options>& options) {
  command
      .add_option("--version", options->version,
                  "Only if the session has this version; else whichever")
      ->type_name("N");
}

void add_people(Command& group, int& exit_code, const std::shared_ptr<Options>& options) {
  Command* joins = about_one(group, options, "join", "Let an agent take part");
  joins->add_option("AGENT", options->agent, "Who is to take part")->required();
  takes_version(*joins, options);
  finish(*joins, exit_code, options, "parley session join release-42 cy", &join);
  Command* leaves = about_one(group, options, "leave", "Leave it, or let an agent leave it");
  leaves->add_option("AGENT", options->agent, "Who takes part no longer")->required();
  takes_version(*leaves, options);
  finish(*leaves, exit_code, options, "parley session leave release-42 cy", &leave);
}

void add_entries(Command& group, int& exit_code, const std::shared_ptr<Options>& options) {
  Command* decides = about_one(group, options, "add-decision", "Write down what was decided");
  decides->add_option("DECISION", options->text, "What was decided")->required();
  decides->add_option("--rationale", options->detail, "Why");
  takes_version(*decides, options);
  finish(*decides, exit_code, options,
         "parley session add-decision release-42 \"Use YAML\" --rationale \"People read it\"",
         [](const Options& o) { return add_entry(o, "/decisions", "decision", "rationale"); });
  Command* makes = about_one(group, options, "add-artifact", "Write down what was made");
  makes->add_option("NAME", options->text, "What it is called")->required();
  makes->add_option("--uri", options->detail, "Where it is");
  takes_version(*makes, options);
  finish(*makes, exit_code, options,
         "parley session add-artifact release-42 plan.md --uri file:///srv/plan.md",
         [](const Options& o) { return add_entry(o, "/artifacts", "name", "uri"); });
  Command* finds = about_one(group, options, "add-finding", "Write down what was found out");
  finds->add_option("FINDING", options->text, "What was found out")->required();
  finds->add_option("--severity", options->detail, "How bad it is");
  takes_version(*finds, options);
  finish(*finds, exit_code, options,
         "parley session add-finding release-42 \"The build is slow\" --severity high",
         [](const Options& o) { return add_entry(o, "/findings", "description", "severity"); });
}

void add_statuses(Command& group, int& exit_code, const std::shared_ptr<Options>& options) {
  Command* pauses = about_one(group, options, "pause", "Hand out nothing that is said in it");
  takes_version(*pauses, options);
  finish(*pauses, exit_code, options, "parley session pause release-42",
         [](const Options& o) { return set_status(o, "paused"); });
  Command* resumes = about_one(group, options, "resume", "Hand out what waited, and go on");
  takes_version(*resumes, options);
  finish(*resumes, exit_code, options, "parley session resume release-42",
         [](const Options& o) { return set_status(o, "active"); });
  Command* completes = about_one(group, options, "complete", "End it: the task is done");
  completes->add_option("--summary", options->summary, "What the participants are told");
  takes_version(*completes, options);
  finish(*completes, exit_code, options,
         "parley session complete release-42 --summary \"The plan is ready\"",
         [](const Options& o) { return set_status(o, "completed"); });
  Command* fails = about_one(group, options, "fail", "End it: the task is given up");
  fails->add_option("--summary", options->summary, "What the participants are told");
  takes_version(*fails, options);
  finish(*fails, exit_code, options, "parley session fail release-42 --summary \"No budget\"",
         [](const Options& o) { return set_status(o, "failed"); });
}

}  // namespace

void add_session(Command& app, int& exit_code) {
  const auto options = std::make_shared<Options>();
  Command* group = app.add_subcommand("session", "What agents work on together, and share");
  group->require_subcommand(1);
  Command* lists = group->add_subcommand("list", "List them, newest first");
  lists->add_option("--status", options->status, "Only those that stand so")
      ->one_of({"active", "paused", "completed", "failed"});
  lists->add_option("--limit", options->limit, "At most so many; 100 if not given")
      ->in_range(1, 1'000);
  finish(*lists, exit_code, options, "parley session list --status active", &list);
  Command* shows = about_one(*group, options, "show", "What is shared in it, and was said");
  shows->add_option("--after", options->after, "Only entries after this version")
      ->type_name("VERSION");
  finish(*shows, exit_code, options, "parley session show release-42", &show);
  Command* starts = group->add_subcommand("start", "Start one, and print its id");
  starts->add_option("--id", options->id, "Its id; else one is made");
  starts->add_option("--with", options->with, "Who takes part; may be repeated")
      ->type_name("AGENT");
  starts->add_option("--coordinator", options->coordinator, "Who leads it, if not the caller");
  starts->add_option("--task", options->task, "What it is about");
  finish(*starts, exit_code, options,
         "parley session start --id release-42 --with bo --task \"Ship it\"", &start);
  add_people(*group, exit_code, options);
  add_entries(*group, exit_code, options);
  add_statuses(*group, exit_code, options);
}

}  // namespace parley::app
