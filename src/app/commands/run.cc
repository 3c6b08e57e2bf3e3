// SPDX-License-Identifier: Apache-2.0
#include <memory>

#include "app/cli.h"
#include "app/client/agent_token.h"
#include "app/commands/commands.h"
#include "app/options.h"
#include "app/run/supervisor.h"

namespace parley::app {

void add_run(Command& app, int& exit_code) {
  const auto options = std::make_shared<SupervisorOptions>();
  Command* command = app.add_subcommand(
      "run",
      "Start a command for each message: exit 0 acknowledges it, 65 rejects it, any other "
      "gives it back");
  command
      ->add_option("--agent", options->agent, "Whose mail; its kept token is used if none is given")
      ->required()
      ->type_name("NAME");
  takes_duration(*command->add_option("--timeout", options->timeout,
                                      "End the command then, and give the message back"));
  takes_duration(
      *command->add_option("--grace", options->grace, "From SIGTERM to SIGKILL; 10s if not given"));
  takes_duration(*command->add_option(
      "--retry-after", options->retry_after,
      "Pause after a failure, doubled with each of one message; 1s if not given"));
  command->add_flag("--file", options->file,
                    "Hand the message over in the file PARLEY_MESSAGE_FILE, not on standard input");
  command->add_flag("--prompt", options->prompt,
                    "Hand it over as a prompt for a model: between marks, and said to be data");
  command->add_flag("--reply", options->reply,
                    "Send what the command prints as the answer, if it was asked");
  command->add_option("--as", options->as, "What the answer is: text, or json for an object")
      ->one_of({"text", "json"});
  command->add_flag("--once", options->once, "Exit after one message: 0 if it was acknowledged");
  command->add_flag("--no-wait", options->no_wait,
                    "Exit if another works for the agent, rather than stand by");
  command
      ->add_option("COMMAND", options->command,
                   "What to run, without a shell; after --. The message is on its standard input, "
                   "as JSON of the agent's dialect; PARLEY_MESSAGE_ID, _FROM, _TYPE, _THREAD and "
                   "_PRIORITY are in its environment")
      ->required();
  command->positionals_at_end();
  add_broker_options(*command, options->client, Speaker::supervisor);
  add_example(*command, "PARLEY_TOKEN=$BO parley run --agent bo --timeout 10m -- ./answer.sh");
  command->callback([=, &exit_code] {
    for (std::string& word : options->command) {
      word.erase(0, word.starts_with(verbatim_mark) ? 1 : 0);
    }
    // The admin's token is never used for an agent. Without any token, name the kept one: then a
    // failure says what is wrong with its file. An empty PARLEY_TOKEN counts as none: --agent says
    // who this is.
    if (options->client.token.empty() && variable("PARLEY_TOKEN").empty()) {
      options->client.token = std::string(agent_token_prefix) + options->agent;
    }
    exit_code = run_supervisor(*options);
  });
}

}  // namespace parley::app
