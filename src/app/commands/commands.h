// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "app/client.h"
#include "app/command_line.h"
#include "app/config.h"

namespace parley::app {

// Each adds the subcommands of one file. They run while the arguments are parsed and set the exit
// code: 0 done, 1 refused or failed.
void add_agent(Command& app, int& exit_code);     // agent, human, workspace
void add_message(Command& app, int& exit_code);   // send, request, publish, inbox, read, ack, …
void add_wait(Command& app, int& exit_code);      // wait
void add_run(Command& app, int& exit_code);       // run
void add_dead(Command& app, int& exit_code);      // dead, topics
void add_patterns(Command& app, int& exit_code);  // scatter, pipeline, escalations
void add_thread(Command& app, int& exit_code);    // thread, threads
void add_session(Command& app, int& exit_code);   // session
void add_lock(Command& app, int& exit_code);      // lock
void add_task(Command& app, int& exit_code);      // task
void add_trace(Command& app, int& exit_code);     // trace
void add_config(Command& app, int& exit_code);    // config
void add_journal(Command& app, int& exit_code);   // journal
void add_doctor(Command& app, int& exit_code);    // doctor
void add_bench(Command& app, int& exit_code);     // bench
void add_hook(Command& app, int& exit_code);      // hook
void add_mcp(Command& app, int& exit_code);       // mcp

// --url, --token, --ca and --data. `Speaker` says whose token it is when none is given.
enum class Speaker : uint8_t {
  anyone,  // that of PARLEY_TOKEN, else the local admin's
  agent,   // that kept for --agent, else that of PARLEY_TOKEN; never the admin's
};
void add_broker_options(Command& command, ClientOptions& options,
                        Speaker speaker = Speaker::anyone);
// The same with --json.
void add_client_options(Command& command, ClientOptions& options,
                        Speaker speaker = Speaker::anyone);

// The last part of a command's help.
void add_example(Command& command, std::string_view example, const std::string& details = {});

// Lets an option take no empty text: what a script gives when its variable is empty.
void takes_text(Option& option);

// Lets an option take only what is a duration: `30s`.
void takes_duration(Option& option);

// The flags of the commands that read the whole configuration; they set keys.
struct ConfigFlags {
  std::string file;
  std::string data;
  std::string listen;
  std::string tls_certificate;
  std::string tls_key;
  std::string allowed_hosts;
  std::string log_level;
  std::string otlp_endpoint;
  std::vector<std::string> settings;  // KEY=VALUE
  bool insecure = false;

  void add_to(Command& command);
  // With this process's environment.
  ConfigSources sources() const;
};

}  // namespace parley::app
