// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "app/client/client.h"

namespace parley::app {

// What `parley run` takes. Durations are texts, which were checked to be durations.
struct SupervisorOptions {
  ClientOptions client;
  std::string agent;
  std::vector<std::string> command;
  std::string timeout;
  std::string grace = "10s";
  std::string retry_after = "1s";
  std::string as = "text";
  bool file = false;
  bool prompt = false;
  bool reply = false;
  bool once = false;
  bool no_wait = false;
};

// Waits for the mail of an agent and runs a command for each message, one at a time; how the
// command ends settles the message. Holds a lock of the broker meanwhile, so that no other
// supervisor works for the agent. Returns the exit code after SIGTERM, SIGINT or SIGHUP, or when it
// cannot go on. Called before any thread starts, because it blocks these signals.
int run_supervisor(const SupervisorOptions& options);

}  // namespace parley::app
