// SPDX-License-Identifier: Apache-2.0
// `parley approvals`: what agents may do only if people say so.
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>

#include <sys/wait.h>
#include <unistd.h>

#include "app/client/client.h"
#include "app/commands/commands.h"
#include "app/files.h"
#include "app/options.h"
#include "app/route_command.h"
#include "app/text/compose.h"
#include "app/text/json.h"
#include "app/text/terminal.h"
#include "lib/json_writer.h"

namespace parley::app {

namespace {

using lib::Json;

Table::Cell state_of(Json approval) {
  const std::string state = text_of(approval, "state");
  return {state, state == "pending" ? Colour::yellow : Colour::plain};
}

// What is asked first, then who and until when: a person reads this and decides.
int show(Json answer, const Given& /*given*/) {
  std::printf("%s\n\n", visible(text_of(answer, "summary")).c_str());
  if (const Json question = answer.find("question")) {
    std::printf("It answers %s, of %s.\n\n", visible(text_of(question, "title")).c_str(),
                visible(text_of(question, "from")).c_str());
  }
  if (const Json proposal = answer.find("proposal")) {
    std::printf("%s\n\n", laid_out(proposal).c_str());
  }
  Table table({"FIELD", "VALUE"});
  for (const std::string_view key :
       {"id", "state", "from", "priority", "created_at", "deadline", "needed", "decided_by",
        "decided_at", "comment", "digest"}) {
    if (const std::string value = text_of(answer, key); !value.empty()) {
      table.add({{std::string(key)}, {visible(value)}});
    }
  }
  for (const std::string_view key : {"approvers", "options", "approved_by"}) {
    if (const std::string names = joined(answer.find(key)); !names.empty()) {
      table.add({{std::string(key)}, {visible(names)}});
    }
  }
  std::printf("%s", table.render(wants_colours()).c_str());
  if (const Json modification = answer.find("modification")) {
    std::printf("\nmay be done instead:\n%s\n", laid_out(modification).c_str());
  }
  if (const Json may = answer.find("may_decide"); may && may.as_bool().value_or(false)) {
    std::string choices;
    for (const Json option : answer.find("options").elements()) {
      choices += choices.empty() ? "" : ", ";
      choices.append(option.as_string().value_or("")).append(" ").append(text_of(answer, "id"));
    }
    std::printf("\nparley approvals %s\n", visible(choices).c_str());
  }
  return 0;
}

struct Modification {
  ClientOptions client;
  std::string id;
  std::string action;  // empty: the editor asks for it
  std::string comment;
};

// Lets the user edit the text in $VISUAL or $EDITOR, in a file that only they can read.
std::expected<std::string, Failure> edited(const std::string& text) {
  const char* editor = std::getenv("VISUAL");
  editor = editor == nullptr || *editor == 0 ? std::getenv("EDITOR") : editor;
  editor = editor == nullptr || *editor == 0 ? "vi" : editor;
  std::error_code ignored;
  std::string path = std::filesystem::temp_directory_path(ignored).string() + "/parley-XXXXXX.json";
  const int made = mkstemps(path.data(), 5);
  if (made < 0) {
    return std::unexpected(file_failure("make", path, errno));
  }
  ::close(made);
  auto written = replace_file(path, text, 0600);
  std::expected<std::string, Failure> result = std::unexpected(Failure{});
  if (!written) {
    result = std::unexpected(written.error());
  } else {
    // The editor may be a command with arguments, so a shell reads it; the path is an argument.
    const std::string command = std::string(editor) + " \"$0\"";
    const pid_t child = fork();
    if (child == 0) {
      execl("/bin/sh", "sh", "-c", command.c_str(), path.c_str(), nullptr);
      _exit(127);
    }
    int status = 0;
    const bool ended = child > 0 && waitpid(child, &status, 0) == child && status == 0;
    if (ended) {
      result = read_settings(path);
    } else {
      result = std::unexpected(Failure{"BAD_REQUEST",
                                       "the editor \"" + std::string(editor) + "\" has failed",
                                       "Set EDITOR, or give --action. Nothing was decided."});
    }
  }
  unlink(path.c_str());
  return result;
}

std::expected<void, Failure> is_json(const std::string& text) {
  lib::JsonDocument document;
  if (const auto json = document.parse(text); !json) {
    return std::unexpected(Failure{"BAD_REQUEST", "the action is no JSON: " + json.error().detail,
                                   "Nothing was decided."});
  }
  return {};
}

int modify(const Modification& options) {
  const std::string path = "/v1/approvals/" + encoded(options.id);
  const auto reply = ask(options.client, {"GET", path});
  if (!reply) {
    return complain(reply.error());
  }
  lib::JsonDocument document;
  const auto approval = document.parse(reply->body);
  if (!approval) {
    return complain(failure_of(approval.error()));
  }
  const Json proposal = approval->find("proposal");
  const Json action = proposal ? proposal.find("action") : Json();
  const std::string before = action ? laid_out(action) + "\n" : "";
  auto after = options.action.empty() ? edited(before) : read_source(options.action);
  if (!after) {
    return complain(after.error());
  }
  if (*after == before) {
    return complain(Failure{"BAD_REQUEST", "the action is as it was proposed",
                            "Nothing was decided. To allow it as it is: parley approvals approve " +
                                options.id});
  }
  if (auto good = is_json(*after); !good) {
    return complain(good.error());
  }
  std::string body;
  lib::JsonWriter out(body);
  out.object().key("decision").plain("modify").key("modification").raw(*after);
  out.key("digest").text(text_of(*approval, "digest"));
  if (!options.comment.empty()) {
    out.key("comment").text(options.comment);
  }
  out.end_object();
  return ask_and_show(options.client, {"POST", path + "/decision", body}, [&options](Json) {
    std::printf("modified approval %s\n", options.id.c_str());
    return 0;
  });
}

void add_modify(Command& group, int& exit_code) {
  const auto options = std::make_shared<Modification>();
  Command* command =
      group.add_subcommand("modify", "Allow something else instead; opens your editor on it");
  command->add_option("ID", options->id, "The approval")->required();
  command->add_option("--action", options->action,
                      "What may be done: JSON, `-` for standard input, or @FILE");
  command->add_option("--comment", options->comment, "Why");
  add_client_options(*command, options->client);
  add_example(*command, "parley approvals modify 3 --action '{\"label\": \"duplicate\"}'");
  command->callback([options, &exit_code] { exit_code = modify(*options); });
}

RouteCommand decision(std::string name, std::string help, std::string done) {
  return {.name = name,
          .help = std::move(help),
          .example = "parley approvals " + name + " 3",
          .arguments = {required("ID", "The approval"),
                        {.name = "--comment", .help = "Why"},
                        {.name = "--digest", .help = "The digest of what you were shown"}},
          .call = "POST /v1/approvals/{ID}/decision",
          .body = Body{{"decision", name}, {"comment", "{--comment}"}, {"digest", "{--digest}"}},
          .show = says(std::move(done))};
}

RouteCommand list_command() {
  constexpr size_t summary_columns = 60;
  return {.name = "list",
          .help = "List them, newest first",
          .example = "parley approvals list --pending --wait 10m",
          .arguments = {{.name = "--pending",
                         .help = "Only those that nobody has decided",
                         .kind = Argument::Kind::flag,
                         .value = "pending"},
                        {.name = "--mine",
                         .help = "Only what you may decide",
                         .kind = Argument::Kind::flag,
                         .value = "me"},
                        {.name = "--wait",
                         .help = "Wait so long for one, if there is none",
                         .kind = Argument::Kind::wait},
                        limit_of(1'000)},
          .call = "GET /v1/approvals?limit={--limit}&state={--pending}&for={--mine}&wait={--wait}",
          .show = lists("items", "no approvals",
                        {{"ID", member("id")},
                         {"STATE", state_of},
                         {"DEADLINE", member("deadline", Colour::dim)},
                         {"FROM", member("from")},
                         {"SUMMARY", member("summary", summary_columns)},
                         {"DECIDED BY", member("decided_by")}})};
}

RouteCommand ask_command() {
  return {.name = "ask",
          .help = "Ask people whether something may be done",
          .example = "parley approvals ask \"close issue 123\" --why \"duplicate of 456\"",
          .arguments = {required("SUMMARY", "What is to be approved"),
                        {.name = "--action",
                         .help = "What is to be done, in all detail; SUMMARY if not given"},
                        {.name = "--why", .help = "The reason"},
                        {.name = "--priority",
                         .help = "normal if not given",
                         .words = {"critical", "high", "normal", "low"}},
                        {.name = "--approver",
                         .help = "The only ones who may decide; all approvers if not given",
                         .kind = Argument::Kind::repeated},
                        {.name = "--timeout",
                         .help = "How long they have; approval_timeout if not given",
                         .kind = Argument::Kind::duration}},
          .call = "POST /v1/approvals",
          .body = Body{{"summary", "{SUMMARY}"},
                       {"action", "{--action}"},
                       {"rationale", "{--why}"},
                       {"priority", "{--priority}"},
                       {"approvers", "{--approver}"},
                       {"timeout", "{--timeout}"}},
          .show = says("{id}")};
}

}  // namespace

void add_approvals(Command& app, int& exit_code) {
  const RouteCommand show_one{.name = "show",
                              .help = "Show what is proposed",
                              .example = "parley approvals show 3",
                              .arguments = {required("ID", "The approval")},
                              .call = "GET /v1/approvals/{ID}",
                              .show = show};
  Command* const group = add_route_command(
      app, exit_code,
      {.name = "approvals",
       .help = "What agents may do only if people say so",
       .subcommands = {
           list_command(), show_one,
           decision("approve", "Allow it, as it was proposed", "approval {ID} is {state}"),
           decision("reject", "Do not allow it", "rejected approval {ID}"),
           decision("withdraw", "Take back what you asked for", "withdrew approval {ID}"),
           ask_command()}});
  add_modify(*group, exit_code);
}

}  // namespace parley::app
