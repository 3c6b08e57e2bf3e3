// SPDX-License-Identifier: Apache-2.0
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <memory>

#include "app/client/agent_token.h"
#include "app/commands/commands.h"
#include "app/mcp/hook.h"
#include "app/options.h"
#include "app/text/terminal.h"
#include "net/client/dial.h"

namespace parley::app {

namespace {

constexpr size_t event_bytes_max = size_t{16} << 20;

// Shared with the closure, because CLI11 copies it.
struct Options {
  ClientOptions client;
  std::string agent;
  std::string event;
  std::string timeout = "500ms";
  uint64_t limit = 20;
  bool is_quiet = false;
};

// Whether it is a whole object, so that no more of it comes: some clients leave the pipe open.
bool is_whole(std::string_view text) {
  const size_t last = text.find_last_not_of(" \t\r\n");
  lib::JsonDocument document;
  return last != text.npos && text[last] == '}' &&
         document.parse(text, {.bytes_max = event_bytes_max, .depth_max = 128}).has_value();
}

// All of standard input, so that the client that writes it is never left with a broken pipe; but
// only its beginning is kept, and nobody is waited for beyond the deadline, or for a first byte
// beyond `first_ms`. A terminal is not read.
std::string read_event_text(const net::Deadline& deadline, int first_ms) {
  std::string text;
  if (::isatty(STDIN_FILENO) == 1) {
    return text;
  }
  std::array<char, 64 * 1'024> buffer;
  while (!is_whole(text)) {
    pollfd wanted{STDIN_FILENO, POLLIN, 0};
    const int patience = text.empty() ? std::min(first_ms, deadline.left_ms()) : deadline.left_ms();
    if (::poll(&wanted, 1, patience) <= 0) {
      return text;
    }
    const ssize_t got = ::read(STDIN_FILENO, buffer.data(), buffer.size());
    if (got <= 0) {
      return text;
    }
    const auto count = static_cast<size_t>(got);
    text.append(buffer.data(), std::min(count, event_bytes_max - text.size()));
  }
  return text;
}

// The event. Reading it may take half of the time at most; the other half is the broker's. Where
// the command line names an event of which nothing else matters, a silent input is not waited for.
HookEvent next_event(const Options& options, base::Duration patience) {
  constexpr int silence_ms = 50;
  const net::Deadline deadline(base::Duration{patience.us / 2});
  const bool is_known = read_hook_event({}, options.event).form == HookForm::context ||
                        options.event == "sessionStart";
  const int first_ms = is_known ? silence_ms : deadline.left_ms();
  return read_hook_event(read_event_text(deadline, first_ms), options.event);
}

// A broker that is away must not break the client: the person is told, the agent goes on.
int give_up(const Options& options, const HookEvent& event, const Failure& failure) {
  if (options.is_quiet) {
    return 0;
  }
  const std::string what = "parley: no mail was looked for: " + printable(failure.detail);
  const std::string notice = hook_notice(event, what);
  std::fputs(notice.c_str(), stdout);
  if (notice.empty()) {
    std::fprintf(stderr, "%s\n", what.c_str());
  }
  return 0;
}

// For the command lines that the model is told: those of this one, which its shell does not know.
std::string flags_of(const Options& options) {
  std::string flags;
  const auto pass_on = [&](std::string_view flag, const std::string& value) {
    if (!value.empty()) {
      flags.append(flags.empty() ? "" : " ").append(flag).append(" ").append(shell_word(value));
    }
  };
  // A token that was given as such is nothing to show around.
  const bool is_file = options.client.token.starts_with('@');
  const bool is_kept = options.client.token.empty() && !options.agent.empty();
  pass_on("--token", is_file   ? options.client.token
                     : is_kept ? std::string(agent_token_prefix) + options.agent
                               : std::string());
  pass_on("--url", options.client.url);
  pass_on("--ca", options.client.ca);
  pass_on("--data", options.client.data);
  return flags;
}

int hook(const Options& options) {
  const base::Duration patience =
      base::parse_duration(options.timeout).value_or(base::milliseconds(500));
  const net::Deadline deadline(patience);
  const HookEvent event = next_event(options, patience);
  if (event.form == HookForm::nothing) {
    if (!options.is_quiet) {
      std::fprintf(stderr, "parley: the event %s has no place for mail\n",
                   printable(event.name).c_str());
    }
    return 0;
  }
  if (event.is_repeated) {
    return 0;
  }
  const auto address = find_broker_as(options.agent, options.client);
  if (!address) {
    return give_up(options, event, address.error());
  }
  // One more than is shown, to know whether there are more.
  HttpCall call{"GET", "/v1/inbox?limit=" + std::to_string(options.limit + 1)};
  call.patience = base::milliseconds(std::max(deadline.left_ms(), 1));
  const auto reply = exchange(*address, call);
  if (!reply) {
    return give_up(options, event, reply.error());
  }
  if (reply->status == 401 && options.client.token.empty() && !options.agent.empty()) {
    return give_up(options, event, stale_token(options.agent, address->url));
  }
  if (reply->status != 200) {
    return give_up(options, event, refusal(*reply));
  }
  lib::JsonDocument document;
  const auto inbox = document.parse(reply->body);
  if (!inbox || !inbox->is_object()) {
    return give_up(options, event, {"BAD_ANSWER", address->url + " is no Parley broker", {}});
  }
  const std::string text = mail_text(*inbox, options.limit, flags_of(options));
  std::fputs(hook_output(event, text).c_str(), stdout);
  return 0;
}

}  // namespace

void add_hook(Command& app, int& exit_code) {
  const auto options = std::make_shared<Options>();
  Command* command = app.add_subcommand(
      "hook", "Hand waiting mail to a coding agent; run by its hooks, settles nothing");
  takes_text(*command
                  ->add_option("--agent", options->agent,
                               "Whose mail, with the token that is kept for it; else PARLEY_TOKEN")
                  ->type_name("NAME"));
  command
      ->add_option("--event", options->event,
                   "The hook's event; else what standard input says, else plain text is printed")
      ->type_name("NAME");
  command->add_option("--limit", options->limit, "List at most so many; 20 if not given")
      ->in_range(1, 100);
  takes_duration(*command->add_option("--timeout", options->timeout,
                                      "Go without mail after so long; 500ms if not given"));
  command->add_flag("--quiet", options->is_quiet, "Say nothing when there is no broker either");
  add_broker_options(*command, options->client, Speaker::agent);
  add_example(*command, "echo '{\"hook_event_name\": \"SessionStart\"}' | parley hook --agent bo");
  command->callback([=, &exit_code] { exit_code = hook(*options); });
}

}  // namespace parley::app
