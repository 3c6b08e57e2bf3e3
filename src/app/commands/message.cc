// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdio>
#include <memory>

#include "app/commands/commands.h"
#include "app/commands/compose.h"
#include "app/mcp/notifications.h"
#include "app/terminal.h"
#include "lib/crypto.h"
#include "lib/json_writer.h"

namespace parley::app {

namespace {

using lib::Json;
using lib::JsonWriter;

// Shared by the closures of the commands, because CLI11 copies them.
struct Options {
  ClientOptions client;
  Draft draft;
  std::string key;  // of idempotency
  std::string session;
  std::string timeout = "30s";
  std::string id;
  std::string reason;
  std::string retry_after;
  bool unfailed = false;
  std::string wait;
  std::string on_unavailable;
  std::string dialect;
  std::string since;
  std::string until;
  uint64_t cursor = 0;
  uint64_t limit = 100;
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

// The body of an answer; an answer that says no is a failure to the script that asked.
int show_answer(Json answer) {
  const Json response = answer.find("response");
  const bool is_flow = response && !response.find("version");
  const Json payload = response ? response.find("payload") : Json();
  const std::string body = is_flow ? text_of(payload, "body") : text_of(response, "payload");
  std::printf("%s\n", printable_lines(body).c_str());
  const Json foreign = response ? response.find("foreign") : Json();
  const Json success = payload ? payload.find("success") : Json();
  const std::string status = is_flow                                 ? text_of(response, "status")
                             : foreign && foreign.find("status")     ? text_of(foreign, "status")
                             : success && success.as_bool() == false ? "error"
                                                                     : "success";
  if (status == "error" || status == "declined") {
    std::fprintf(stderr, "parley: %s answered with status %s\n",
                 printable(text_of(response, is_flow ? "sender" : "from")).c_str(), status.c_str());
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
  Call call{"POST", path_of(options) + "&wait=" + options.timeout, *message, headers_of(options)};
  call.patience.us += base::parse_duration(options.timeout).value_or(base::Duration{}).us;
  return ask_and_show(options.client, call, show_answer);
}

int list_inbox(const Options& options) {
  Call call{"GET", "/v1/inbox?limit=" + std::to_string(options.limit)};
  if (!options.wait.empty()) {
    call.path += "&wait=" + options.wait;
    call.patience.us += base::parse_duration(options.wait).value_or(base::Duration{}).us;
  }
  return ask_and_show(options.client, call, [](Json answer) {
    const std::string text = notifications_table(answer);
    std::printf("%s", text.empty() ? "no mail\n" : text.c_str());
    return 0;
  });
}

// `acked` of one receiver; of several how many it is settled for.
std::string standing_of(Json message) {
  const Json deliveries = message.find("deliveries");
  const Json count = message.find("recipient_count");
  const Json open = message.find("open");
  const uint64_t all = count ? count.as_uint64().value_or(0) : 0;
  if (all == 1 && deliveries) {
    for (const Json delivery : deliveries.elements()) {
      return text_of(delivery, "state");
    }
  }
  const uint64_t settled = all - std::min(all, open ? open.as_uint64().value_or(0) : 0);
  return std::to_string(settled) + " of " + std::to_string(all) + " settled";
}

int show_outbox(Json answer) {
  constexpr size_t preview_columns = 40;
  Table table({"ID", "TO", "TYPE", "SENT", "STATE", "PREVIEW"});
  const Json messages = answer.find("messages");
  for (const Json message : messages ? messages.elements() : Json::Elements()) {
    std::string to;
    const Json receivers = message.find("to");
    for (const Json receiver : receivers ? receivers.elements() : Json::Elements()) {
      to += (to.empty() ? "" : ", ") + std::string(receiver.as_string().value_or(receiver.raw()));
    }
    table.add({{text_of(message, "id")},
               {shortened(printable(to), preview_columns)},
               {text_of(message, "type")},
               {text_of(message, "timestamp"), Colour::dim},
               {standing_of(message)},
               {shortened(printable(text_of(message, "preview")), preview_columns)}});
  }
  std::printf("%s", table.empty() ? "nothing sent\n" : table.render(wants_colours()).c_str());
  if (const std::string next = text_of(answer, "next"); !next.empty()) {
    std::fprintf(stderr, "parley: there is more; go on with --cursor %s\n",
                 printable(next).c_str());
  }
  return 0;
}

int list_outbox(const Options& options) {
  Call call{"GET", "/v1/outbox?limit=" + std::to_string(options.limit)};
  if (!options.since.empty()) {
    call.path += "&since=" + encoded(options.since);
  }
  if (!options.until.empty()) {
    call.path += "&until=" + encoded(options.until);
  }
  if (options.cursor != 0) {
    call.path += "&cursor=" + std::to_string(options.cursor);
  }
  return ask_and_show(options.client, call, show_outbox);
}

void print_field(const char* name, const std::string& value) {
  if (!value.empty()) {
    const std::string label =
        std::string(name) + std::string(10 - std::string_view(name).size(), ' ');
    std::printf("%s%s\n", coloured(label, Colour::dim, wants_colours()).c_str(),
                printable(value).c_str());
  }
}

int show_collab(Json message) {
  print_field("id", text_of(message, "id"));
  print_field("from", text_of(message, "from"));
  print_field("to", text_of(message, "to"));
  print_field("type", text_of(message, "type"));
  print_field("action", text_of(message, "action"));
  print_field("priority", text_of(message, "priority"));
  print_field("sent", text_of(message, "timestamp"));
  print_field("expires", text_of(message, "expiresAt"));
  print_field("session", text_of(message, "sessionId"));
  print_field("answers", text_of(message, "correlationId"));
  std::printf("\n%s\n", printable_lines(text_of(message, "payload")).c_str());
  return 0;
}

int show_message(Json message) {
  if (message.find("version")) {
    return show_collab(message);
  }
  const Json metadata = message.find("metadata");
  const Json payload = message.find("payload");
  print_field("id", text_of(message, "id"));
  print_field("from", text_of(message, "sender"));
  print_field("to", text_of(message, "receiver"));
  print_field("type", text_of(message, "type"));
  print_field("status", text_of(message, "status"));
  print_field("priority", text_of(message, "priority"));
  print_field("sent", text_of(metadata, "timestamp"));
  print_field("thread", text_of(message, "conversation_id"));
  print_field("reply to", text_of(metadata, "in_reply_to"));
  std::printf("\n%s\n",
              printable_lines(payload ? text_of(payload, "body") : message.raw()).c_str());
  return 0;
}

// For people in flow's words, whatever the caller speaks; for programs in the caller's dialect.
int read(const Options& options) {
  std::string path = "/v1/messages/" + encoded(options.id);
  if (!options.dialect.empty()) {
    path += "?dialect=" + encoded(options.dialect);
  } else if (!options.client.json) {
    path += "?dialect=flow";
  }
  const auto reply = ask(options.client, {"GET", path});
  if (!reply) {
    return complain(reply.error());
  }
  if (options.client.json) {
    print_json(reply->body);
    return 0;
  }
  lib::JsonDocument document;
  if (const auto provenance = document.parse(reply->provenance); provenance) {
    print_field("meant for", text_of(*provenance, "redirected_from"));
  }
  const auto message = document.parse(reply->body);
  return message ? show_message(*message)
                 : complain({"BAD_ANSWER", "the answer is no JSON: " + message.error().detail,
                             "Check that --url names a Parley broker."});
}

int settle(const Options& options, const std::string& act, const char* done) {
  std::string body;
  JsonWriter writer(body);
  writer.object();
  if (!options.reason.empty()) {
    writer.key("reason").text(options.reason);
  }
  if (!options.retry_after.empty()) {
    writer.key("retry_after").text(options.retry_after);
  }
  if (options.unfailed) {
    writer.key("failed").boolean(false);
  }
  writer.end_object();
  const Call call{"POST", "/v1/messages/" + encoded(options.id) + "/" + act, body, {}};
  return ask_and_show(options.client, call, [&](Json) {
    std::printf("%s %s\n", done, printable(options.id).c_str());
    return 0;
  });
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

void add_sending(Command& app, int& exit_code, const std::shared_ptr<Options>& options) {
  Draft& draft = options->draft;
  draft.type.clear();

  Command* sending = app.add_subcommand("send", "Send a message; prints its id");
  Command* whom = sending->add_option_group("To whom", "One of these, or both", 1, 2);
  whom->add_option("--to", draft.to, "An agent, human:NAME, a topic, or *")->type_name("ID");
  whom->add_option("--reply-to", draft.in_reply_to, "Answer this message, to its sender")
      ->type_name("ID");
  add_draft_options(*sending, *options,
                    {"broadcast", "notification", "query", "request", "response"});
  sending->add_option("--status", draft.status, "Of a response; success if not given")
      ->one_of({"success", "partial", "error", "declined"});
  sending->add_flag("--requires-ack", draft.requires_ack,
                    "Be told when it is acknowledged, or that it was not in time");
  add_example(*sending, "parley send --to bo --priority high 'the build is red'");
  sending->callback([=, &exit_code] { exit_code = send(*options); });

  Command* asking = app.add_subcommand("request", "Send a request and wait for the answer");
  asking->add_option("--to", draft.to, "Who is asked")->required();
  takes_duration(*asking->add_option("--timeout", options->timeout, "30s if not given"));
  add_draft_options(*asking, *options, {"query", "request"});
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

void add_settling(Command& app, int& exit_code, const std::shared_ptr<Options>& options) {
  Command* acking = app.add_subcommand("ack", "Settle a message: it is done");
  acking->add_option("ID", options->id, "The message")->required();
  add_client_options(*acking, options->client);
  add_example(*acking, "parley ack 9f0c1f5e-0d1a-4c7e-8a55-0c5a3c9e7b11");
  acking->callback([=, &exit_code] { exit_code = settle(*options, "ack", "acked"); });

  Command* nacking = app.add_subcommand("nack", "Give a message back, to be delivered again");
  nacking->add_option("ID", options->id, "The message")->required();
  nacking->add_option("--reason", options->reason, "Why");
  takes_duration(*nacking->add_option("--retry-after", options->retry_after, "Not before then"));
  nacking->add_flag("--unfailed", options->unfailed,
                    "Nobody failed, it was not tried: not one of attempts_max");
  add_client_options(*nacking, options->client);
  add_example(*nacking, "parley nack 9f0c1f5e-0d1a-4c7e-8a55-0c5a3c9e7b11 --retry-after 5s");
  nacking->callback([=, &exit_code] { exit_code = settle(*options, "nack", "gave back"); });

  Command* rejecting = app.add_subcommand("reject", "Refuse a message for good");
  rejecting->add_option("ID", options->id, "The message")->required();
  rejecting->add_option("--reason", options->reason, "Why; the sender reads it")->required();
  add_client_options(*rejecting, options->client);
  add_example(*rejecting,
              "parley reject 9f0c1f5e-0d1a-4c7e-8a55-0c5a3c9e7b11 --reason 'not my task'");
  rejecting->callback([=, &exit_code] { exit_code = settle(*options, "reject", "rejected"); });
}

}  // namespace

void add_message(Command& app, int& exit_code) {
  const auto options = std::make_shared<Options>();
  add_sending(app, exit_code, options);

  Command* listing = app.add_subcommand(
      "inbox", "List what waits for you, most urgent first; in flow by sender, each in order");
  takes_duration(*listing->add_option("--wait", options->wait, "Wait so long for mail"));
  listing->add_option("--limit", options->limit, "At most so many; 100 if not given")
      ->in_range(1, 1'000);
  add_client_options(*listing, options->client);
  add_example(*listing, "parley inbox --wait 30s");
  listing->callback([=, &exit_code] { exit_code = list_inbox(*options); });

  Command* sent =
      app.add_subcommand("outbox", "List what you sent and how it stands, newest first");
  sent->add_option("--since", options->since, "Not older than this")->type_name("TIME");
  sent->add_option("--until", options->until, "Older than this")->type_name("TIME");
  sent->add_option("--limit", options->limit, "At most so many; 100 if not given")
      ->in_range(1, 500);
  sent->add_option("--cursor", options->cursor, "Where the list before this one ended");
  add_client_options(*sent, options->client);
  add_example(*sent, "parley outbox --since 2026-11-15T08:00:00Z");
  sent->callback([=, &exit_code] { exit_code = list_outbox(*options); });

  Command* reading = app.add_subcommand("read", "Show a message; marks it read");
  reading->add_option("ID", options->id, "The message")->required();
  reading->add_option("--dialect", options->dialect, "Write it in this protocol's form");
  add_client_options(*reading, options->client);
  add_example(*reading, "parley read 9f0c1f5e-0d1a-4c7e-8a55-0c5a3c9e7b11");
  reading->callback([=, &exit_code] { exit_code = read(*options); });

  add_settling(app, exit_code, options);
}

}  // namespace parley::app
