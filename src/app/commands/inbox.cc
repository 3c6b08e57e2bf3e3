// SPDX-License-Identifier: Apache-2.0
// `parley inbox`, `outbox` and `read`: the commands that list and show messages.
#include <algorithm>
#include <cstdio>
#include <memory>

#include "app/commands/commands.h"
#include "app/options.h"
#include "app/text/notifications.h"
#include "app/text/terminal.h"

namespace parley::app {

namespace {

using lib::Json;

// Shared by the closures of the commands, because CLI11 copies them.
struct Options {
  ClientOptions client;
  std::string id;
  std::string wait;
  std::string dialect;
  std::string since;
  std::string until;
  uint64_t cursor = 0;
  uint64_t limit = 100;
};

int list_inbox(const Options& options) {
  HttpCall call{"GET", "/v1/inbox?limit=" + std::to_string(options.limit)};
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
  HttpCall call{"GET", "/v1/outbox?limit=" + std::to_string(options.limit)};
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

}  // namespace

void add_inbox(Command& app, int& exit_code) {
  const auto options = std::make_shared<Options>();
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
}

}  // namespace parley::app
