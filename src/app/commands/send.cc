// SPDX-License-Identifier: Apache-2.0
// `parley send`, `request` and `publish`: the commands that send a message.
#include <cstdio>
#include <memory>

#include "app/commands/commands.h"
#include "app/options.h"
#include "app/text/compose.h"
#include "app/text/terminal.h"
#include "base/time.h"
#include "lib/crypto.h"

namespace parley::app {

namespace {

using lib::Json;

std::string is_ratio(const std::string& text) {
  lib::JsonDocument document;
  const auto number = document.parse(text);
  const auto value = number ? number->as_double() : std::nullopt;
  return value && *value >= 0 && *value <= 1 ? "" : "\"" + text + "\" is no number from 0 to 1";
}

// Shared by the closures of the commands, because CLI11 copies them.
struct Options {
  ClientOptions client;
  Draft draft{.type = {}};
  std::string key;  // of idempotency
  std::string session;
  std::string timeout = "30s";
  std::string on_unavailable;
};

std::vector<std::pair<std::string, std::string>> headers_of(const Options& options) {
  std::vector<std::pair<std::string, std::string>> headers = {
      {"Parley-Dialect", std::string(options.draft.dialect())}};
  if (!options.key.empty()) {
    headers.emplace_back("Idempotency-Key", options.key);
  }
  return headers;
}

std::string path_of(const Options& options) {
  return "/v1/messages?lenient=true" +
         (options.on_unavailable.empty() ? "" : "&on_unavailable=" + options.on_unavailable) +
         (options.session.empty() ? "" : "&session=" + encoded(options.session));
}

std::expected<std::string, Failure> message_of(const Draft& draft) {
  const auto body = read_body(draft);
  if (!body) {
    return std::unexpected(body.error());
  }
  base::SystemClock clock;
  return compose(draft, *body, lib::random_uuid(), clock.now());
}

// The id alone on standard output, for scripts; what needs attention beside it.
int show_receipt(Json answer) {
  std::printf("%s\n", printable(text_of(answer, "id")).c_str());
  const std::string state = text_of(answer, "state");
  if (!state.empty() && state != "accepted") {
    const std::string delay = text_of(answer, "delay");
    std::fprintf(stderr, "parley: %s%s\n", printable(state).c_str(),
                 delay.empty() ? "" : (", delivered in " + printable(delay)).c_str());
  }
  const Json warnings = answer.find("warnings");
  for (const Json warning : warnings ? warnings.elements() : Json::Elements()) {
    std::fprintf(stderr, "parley: warning: %s\n",
                 printable(warning.as_string().value_or(warning.raw())).c_str());
  }
  return 0;
}

int post(const Options& options, const Draft& draft) {
  const auto message = message_of(draft);
  if (!message) {
    return complain(message.error());
  }
  return ask_and_show(options.client, {"POST", path_of(options), *message, headers_of(options)},
                      show_receipt);
}

std::expected<void, Failure> follow(const Options& options, Draft& draft) {
  const auto reply =
      ask(options.client, {"GET", "/v1/messages/" + encoded(draft.in_reply_to) + "?dialect=flow"});
  if (!reply) {
    return std::unexpected(reply.error());
  }
  lib::JsonDocument document;
  const auto original = document.parse(reply->body);
  if (!original) {
    return std::unexpected(failure_of(original.error()));
  }
  follow(*original, draft);
  return {};
}

int send(const Options& options) {
  Draft draft = options.draft;
  if (!draft.in_reply_to.empty()) {
    if (auto done = follow(options, draft); !done) {
      return complain(done.error());
    }
    draft.type = draft.type.empty() ? "response" : draft.type;
    draft.status = draft.status.empty() && draft.type == "response" ? "success" : draft.status;
  }
  draft.type = draft.type.empty() ? "notification" : draft.type;
  return post(options, draft);
}

int publish(const Options& options) {
  Draft draft = options.draft;
  // A broadcast to a name with a dot goes to that topic, whichever agent has the name; else the
  // prefix says what is meant.
  const bool is_domain_event = draft.to.find('.') != draft.to.npos;
  if (draft.type.empty() && draft.action.empty() && (draft.to == "*" || is_domain_event)) {
    draft.type = "broadcast";
  } else if (draft.to != "*" && !draft.to.starts_with("topic:")) {
    draft.to = "topic:" + draft.to;
  }
  draft.type = draft.type.empty() ? "notification" : draft.type;
  return post(options, draft);
}

// What an answer says, in whichever dialect it came.
struct Answer {
  std::string body;
  std::string status;
  std::string from;
};

Answer read_answer(Json response) {
  if (const Json body = response.find("body"); body && response.find("subject")) {
    const std::string result = text_of(body, "result");
    return {body.find("summary") ? text_of(body, "summary") : text_of(response, "body"),
            result == "failed" ? "error" : result, text_of(response, "from")};
  }
  if (response.find("message_type")) {
    const Json body = response.find("body");
    return {body ? text_of(response, "body") : text_of(response, "rationale"),
            text_of(response, "status"), text_of(response, "from_agent")};
  }
  const Json payload = response.find("payload");
  if (!response.find("version")) {
    return {text_of(payload, "body"), text_of(response, "status"), text_of(response, "sender")};
  }
  const Json status = response.find("foreign").find("status");
  const bool is_no = payload.find("success").as_bool() == false;
  return {text_of(response, "payload"),
          status  ? text_of(response.find("foreign"), "status")
          : is_no ? "error"
                  : "success",
          text_of(response, "from")};
}

// The body of an answer; an answer that says no is a failure to the script that asked.
int show_answer(Json answer) {
  const auto [body, status, from] = read_answer(answer.find("response"));
  std::printf("%s\n", printable_lines(body).c_str());
  if (status == "error" || status == "declined" || status == "failure") {
    std::fprintf(stderr, "parley: %s answered with status %s\n", printable(from).c_str(),
                 printable(status).c_str());
    return 1;
  }
  return 0;
}

int request(const Options& options) {
  Draft draft = options.draft;
  draft.type = draft.type.empty() ? "request" : draft.type;
  draft.response_timeout = options.timeout;
  const auto message = message_of(draft);
  if (!message) {
    return complain(message.error());
  }
  HttpCall call{"POST", path_of(options) + "&wait=" + options.timeout, *message,
                headers_of(options)};
  call.patience.us += base::parse_duration(options.timeout).value_or(base::Duration{}).us;
  return ask_and_show(options.client, call, show_answer);
}

std::vector<std::string> with_others(std::vector<std::string> types) {
  types.insert(types.end(), superprompt_types.begin(), superprompt_types.end());
  types.insert(types.end(), squad_types.begin(), squad_types.end());
  return types;
}

// What only a message of squad has; one of these makes it one.
void add_squad_options(Command& command, SquadDraft& squad) {
  command.add_option("--subject", squad.subject, "In squad: a brief description");
  command.add_option("--context", squad.context, "Of a handoff: relevant background");
  command
      .add_option("--constraint", squad.constraints,
                  "Of a handoff: what must hold; may be repeated")
      ->takes_one();
  command.add_option("--deadline", squad.deadline, "Of a handoff: a time in UTC")
      ->type_name("TIME");
  command
      .add_option("--artifact", squad.artifacts, "In squad: a file it is about; may be repeated")
      ->takes_one()
      ->type_name("PATH");
  command.add_option("--claim", squad.claim,
                     "Of a challenge: the statement that is disputed; BODY is the grounds");
  command
      .add_option("--evidence", squad.evidence,
                  "Of a challenge or a defence: what shows it; may be repeated")
      ->takes_one();
  command.add_option("--wants", squad.wanted, "Of a challenge: what its receiver should do")
      ->one_of({"revise", "defend", "escalate"});
  command.add_option("--severity", squad.severity, "Of a challenge: how much is wrong")
      ->one_of({"minor", "moderate", "critical"});
  command.add_option("--result", squad.result,
                     "Of a response in squad: completed, failed, partial or declined; of one to a "
                     "challenge: defend, revise or escalate");
  command.add_option("--external", squad.external,
                     "In squad: what is done outside, such as a payment; people approve it first");
}

// What send, request and publish have in common.
void add_draft_options(Command& command, Options& options, const std::vector<std::string>& types) {
  Draft& draft = options.draft;
  command.add_option("BODY", draft.body, "The text, `-` for standard input, or @FILE")->required();
  command.add_option("--type", draft.type, "What kind of message it is")->one_of(types);
  command.add_option("--priority", draft.priority, "normal if not given")
      ->one_of({"critical", "high", "normal", "low"});
  takes_duration(*command.add_option("--ttl", draft.ttl, "How long it is worth delivering"));
  command.add_option("--thread", draft.thread, "The conversation it belongs to")->type_name("ID");
  command.add_option("--session", options.session, "The session it is said in")->type_name("ID");
  command.add_option("--action", draft.action,
                     "What is to be done: sends it in collab, not in flow");
  command.add_option("--as", draft.as, "What BODY is; text if not given")->one_of({"text", "json"});
  command
      .add_option("--on-unavailable", options.on_unavailable,
                  "When the receiver is away: wait in its inbox, go to one with the same "
                  "capabilities, or fail")
      ->one_of({"queue", "redirect", "fail"});
  command.add_option("--key", options.key, "Sent twice with the same key it is delivered once")
      ->type_name("TEXT");
  add_client_options(command, options.client);
}

}  // namespace

void add_send(Command& app, int& exit_code) {
  const auto options = std::make_shared<Options>();
  Draft& draft = options->draft;
  Command* sending = app.add_subcommand("send", "Send a message; prints its id");
  Command* whom = sending->add_option_group("To whom", "One of these, or both", 1, 2);
  whom->add_option("--to", draft.to, "An agent, human:NAME, a topic, or *")->type_name("ID");
  whom->add_option("--reply-to", draft.in_reply_to, "Answer this message, to its sender")
      ->type_name("ID");
  add_draft_options(*sending, *options,
                    with_others({"broadcast", "notification", "query", "request", "response"}));
  sending->add_option("--status", draft.status, "Of a response; success if not given")
      ->one_of({"success", "partial", "error", "declined", "failure", "partial_success",
                "requires_approval"});
  sending
      ->add_option("--confidence", draft.confidence,
                   "How sure a task_completion is, such as 0.97; needed unless it is a failure. In "
                   "squad: how sure its sender is")
      ->check(is_ratio);
  add_squad_options(*sending, draft.squad);
  sending->add_flag("--requires-ack", draft.requires_ack,
                    "Be told when it is acknowledged, or that it was not in time");
  add_example(*sending, "parley send --to bo --priority high 'the build is red'");
  sending->callback([=, &exit_code] { exit_code = send(*options); });

  Command* asking = app.add_subcommand("request", "Send a request and wait for the answer");
  asking->add_option("--to", draft.to, "Who is asked")->required();
  takes_duration(*asking->add_option("--timeout", options->timeout, "30s if not given"));
  add_draft_options(*asking, *options, {"query", "request", "task_delegation"});
  add_example(*asking, "parley request --to bo --timeout 2m 'which files changed?'");
  asking->callback([=, &exit_code] { exit_code = request(*options); });

  Command* publishing = app.add_subcommand("publish", "Send to all who subscribe to a topic");
  publishing->add_option("TOPIC", draft.to, "Such as task.done, or * for everybody")->required();
  add_draft_options(*publishing, *options, {"broadcast", "notification"});
  publishing->add_flag("--requires-ack", draft.requires_ack,
                       "Call the roll: be told how many acknowledged it");
  add_example(*publishing, "parley publish task.done --as json '{\"task\": 42}'");
  publishing->callback([=, &exit_code] { exit_code = publish(*options); });
}

}  // namespace parley::app
