// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <thread>

#include "app/client/client.h"
#include "app/commands/commands.h"
#include "app/options.h"
#include "app/text/notifications.h"
#include "app/text/terminal.h"

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

std::expected<HttpReply, Failure> poll(const Options& options, Duration wait) {
  HttpCall call{"GET", "/v1/inbox?wait=" + base::format_duration(wait)};
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
    } else if (!(ever_heard = ever_heard || reply.error().has_lost_connection) ||
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
