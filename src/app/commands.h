// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "app/client.h"
#include "app/config.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace parley::app {

// Each adds the subcommands of one file. They run while the arguments are parsed and set the exit
// code: 0 done, 1 refused or failed.
void add_agent(CLI::App& app, int& exit_code);    // agent, human, workspace
void add_message(CLI::App& app, int& exit_code);  // send, request, publish, inbox, read, ack, …
void add_wait(CLI::App& app, int& exit_code);     // wait
void add_run(CLI::App& app, int& exit_code);      // run
void add_dead(CLI::App& app, int& exit_code);     // dead, topics
void add_patterns(CLI::App& app, int& exit_code);  // scatter, pipeline, escalations
void add_thread(CLI::App& app, int& exit_code);   // thread, threads
void add_session(CLI::App& app, int& exit_code);  // session
void add_lock(CLI::App& app, int& exit_code);     // lock
void add_task(CLI::App& app, int& exit_code);     // task
void add_trace(CLI::App& app, int& exit_code);    // trace
void add_config(CLI::App& app, int& exit_code);   // config
void add_journal(CLI::App& app, int& exit_code);  // journal
void add_doctor(CLI::App& app, int& exit_code);   // doctor
void add_bench(CLI::App& app, int& exit_code);    // bench
void add_hook(CLI::App& app, int& exit_code);     // hook
void add_mcp(CLI::App& app, int& exit_code);      // mcp

// --url, --token, --ca and --data. `Speaker` says whose token it is when none is given.
enum class Speaker : uint8_t {
  anyone,  // that of PARLEY_TOKEN, else the local admin's
  agent,   // that kept for --agent, else that of PARLEY_TOKEN; never the admin's
};
void add_broker_options(CLI::App& command, ClientOptions& options,
                        Speaker speaker = Speaker::anyone);
// The same with --json.
void add_client_options(CLI::App& command, ClientOptions& options,
                        Speaker speaker = Speaker::anyone);

// The last part of a command's help.
void add_example(CLI::App& command, std::string_view example);

// Lets an option take no empty text: what a script gives when its variable is empty.
void takes_text(CLI::Option& option);

// Lets an option take only what is a duration: `30s`.
void takes_duration(CLI::Option& option);

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

  void add_to(CLI::App& command);
  // With this process's environment.
  ConfigSources sources() const;
};

}  // namespace parley::app
