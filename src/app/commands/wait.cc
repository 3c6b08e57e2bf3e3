// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <thread>

#include "app/client.h"
#include "app/commands/commands.h"
#include "app/mcp/notifications.h"
#include "app/terminal.h"

namespace parley::app {

namespace {

using base::Duration;
using base::Time;
using lib::Json;

// One long poll; short enough that no proxy between takes the silence for death.
constexpr Duration poll_max = base::seconds(30);
// A broker that restarts is waited for; one that stays away is a failure.
constexpr Duration absence_max = base::minutes(1);
constexpr std::chrono::milliseconds absence_pause(500);

struct Options {
  ClientOptions client;
  std::string timeout;
};

Colour colour_of(std::string_view priority) {
  if (priority == "critical") {
    return Colour::red;
  }
  return priority == "high" ? Colour::yellow : Colour::plain;
}

uint64_t count_of(std::string_view inbox) {
  lib::JsonDocument document;
  const auto json = document.parse(inbox);
  const Json count = json && json->is_object() ? json->find("count") : Json();
  return count ? count.as_uint64().value_or(0) : 0;
}

int show(const Options& options, const std::string& inbox) {
  if (options.client.json) {
    print_json(inbox);
    return 0;
  }
  lib::JsonDocument document;
  const auto json = document.parse(inbox);
  std::printf("%s", json ? notifications_table(*json).c_str() : "");
  return 0;
}

// There was a broker: it went while it was asked. Where there is none at all waiting is no use.
bool was_connected(const Failure& failure) {
  return failure.detail.find("was lost") != std::string::npos;
}

std::expected<Reply, Failure> poll(const Options& options, Duration wait) {
  Call call{"GET", "/v1/inbox?wait=" + base::format_duration(wait)};
  call.patience.us += wait.us;
  return ask(options.client, call);
}

int wait(const Options& options) {
  base::SystemClock clock;
  const auto timeout = base::parse_duration(options.timeout);
  const Time end = timeout ? clock.now() + *timeout : base::time_max;
  Time heard = clock.now();
  bool ever_heard = false;
  while (true) {
    // Whole milliseconds, and at least one question even with no time at all.
    const int64_t left_us = std::max<int64_t>((end - clock.now()).us, 0) / 1'000 * 1'000;
    const auto reply = poll(options, Duration{std::min(left_us, poll_max.us)});
    if (reply) {
      ever_heard = true;
      heard = clock.now();
      if (count_of(reply->body) > 0) {
        return show(options, reply->body);
      }
    } else if (!(ever_heard = ever_heard || was_connected(reply.error())) ||
               reply.error().code != "UNAVAILABLE" || clock.now() - heard > absence_max) {
      return complain(reply.error());
    } else {
      std::this_thread::sleep_for(absence_pause);
    }
    if (clock.now() >= end) {
      std::fprintf(stderr, "parley: no mail within %s\n", options.timeout.c_str());
      return 1;
    }
  }
}

}  // namespace

std::string notifications_table(Json inbox) {
  Table table({"ID", "FROM", "TYPE", "PRIORITY", "SENT", "PREVIEW"});
  const Json notifications = inbox.find("notifications");
  for (const Json item : notifications ? notifications.elements() : Json::Elements()) {
    constexpr size_t preview_columns = 60;
    const std::string priority = text_of(item, "priority");
    const std::string meant_for = text_of(item, "redirected_from");
    table.add({{text_of(item, "id")},
               {text_of(item, "from") + (meant_for.empty() ? "" : " to " + meant_for)},
               {text_of(item, "type")},
               {priority, colour_of(priority)},
               {text_of(item, "timestamp"), Colour::dim},
               {shortened(printable(text_of(item, "preview")), preview_columns)}});
  }
  return table.empty() ? std::string() : table.render(wants_colours());
}

void add_wait(Command& app, int& exit_code) {
  const auto options = std::make_shared<Options>();
  Command* waiting = app.add_subcommand(
      "wait", "Block until there is mail, print what waits and exit; 1 when the time is over");
  takes_duration(
      *waiting->add_option("--timeout", options->timeout, "Give up then; never if not given"));
  add_client_options(*waiting, options->client);
  add_example(*waiting, "parley wait --timeout 10m && wake-my-agent");
  waiting->callback([=, &exit_code] { exit_code = wait(*options); });
}

}  // namespace parley::app
