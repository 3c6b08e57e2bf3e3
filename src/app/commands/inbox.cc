// SPDX-License-Identifier: Apache-2.0
// `parley inbox`, `outbox` and `read`: the commands that list and show messages.
#include <algorithm>
#include <cstdio>
#include <memory>

#include "app/commands/commands.h"
#include "app/options.h"
#include "app/route_command.h"
#include "app/text/notifications.h"

namespace parley::app {

namespace {

using lib::Json;

int show_inbox(Json answer, const Given& /*given*/) {
  const std::string text = notifications_table(answer);
  std::printf("%s", text.empty() ? "no mail\n" : text.c_str());
  return 0;
}

// `acked` of one receiver; of several how many it is settled for.
Table::Cell standing_of(Json message) {
  const Json deliveries = message.find("deliveries");
  const Json count = message.find("recipient_count");
  const Json open = message.find("open");
  const uint64_t all = count ? count.as_uint64().value_or(0) : 0;
  if (all == 1 && deliveries) {
    for (const Json delivery : deliveries.elements()) {
      return {text_of(delivery, "state")};
    }
  }
  const uint64_t settled = all - std::min(all, open ? open.as_uint64().value_or(0) : 0);
  return {std::to_string(settled) + " of " + std::to_string(all) + " settled"};
}

constexpr size_t preview_columns = 40;

Table::Cell receivers_of(Json message) {
  return {shortened(printable(joined(message.find("to"))), preview_columns)};
}

int show_outbox(Json answer, const Given& /*given*/) {
  print_table(answer.find("messages"), "nothing sent",
              {{"ID", member("id")},
               {"TO", receivers_of},
               {"TYPE", member("type")},
               {"SENT", member("timestamp", Colour::dim)},
               {"STATE", standing_of},
               {"PREVIEW", member("preview", preview_columns)}});
  if (const std::string next = text_of(answer, "next"); !next.empty()) {
    std::fprintf(stderr, "parley: there is more; go on with --cursor %s\n",
                 printable(next).c_str());
  }
  return 0;
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

// Shared with the closure, because CLI11 copies it.
struct ReadOptions {
  ClientOptions client;
  std::string id;
  std::string dialect;
};

// For people in flow's words, whatever the caller speaks; for programs in the caller's dialect.
int read(const ReadOptions& options) {
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
  add_route_command(
      app, exit_code,
      {.name = "inbox",
       .help = "List what waits for you, most urgent first; in flow by sender, each in order",
       .example = "parley inbox --wait 30s",
       .arguments = {{.name = "--wait",
                      .help = "Wait so long for mail",
                      .kind = Argument::Kind::wait},
                     limit_of(1'000)},
       .call = "GET /v1/inbox?limit={--limit}&wait={--wait}",
       .show = show_inbox});
  add_route_command(
      app, exit_code,
      {.name = "outbox",
       .help = "List what you sent and how it stands, newest first",
       .example = "parley outbox --since 2026-11-15T08:00:00Z",
       .arguments = {{.name = "--since", .help = "Not older than this", .type = "TIME"},
                     {.name = "--until", .help = "Older than this", .type = "TIME"},
                     limit_of(500),
                     {.name = "--cursor",
                      .help = "Where the list before this one ended",
                      .kind = Argument::Kind::number}},
       .call = "GET /v1/outbox?limit={--limit}&since={--since}&until={--until}&cursor={--cursor}",
       .show = show_outbox});

  const auto options = std::make_shared<ReadOptions>();
  Command* reading = app.add_subcommand("read", "Show a message; marks it read");
  reading->add_option("ID", options->id, "The message")->required();
  reading->add_option("--dialect", options->dialect, "Write it in this protocol's form");
  add_client_options(*reading, options->client);
  add_example(*reading, "parley read 9f0c1f5e-0d1a-4c7e-8a55-0c5a3c9e7b11");
  reading->callback([=, &exit_code] { exit_code = read(*options); });
}

}  // namespace parley::app
