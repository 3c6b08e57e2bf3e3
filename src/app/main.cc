// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <cstdint>

#include "app/journal_command.h"

namespace {

using namespace parley;

// Subcommands set the exit code; 2 is a wrong call.
int run(int argc, char** argv) {
  CLI::App app(
      "Parley is a durable message broker for AI agents and the people who supervise them.",
      "parley");
  app.set_version_flag("--version", "parley " PARLEY_VERSION, "Print the version and exit");
  app.require_subcommand(1);
  int exit_code = 0;

  CLI::App* journal = app.add_subcommand("journal", "Look into the journal of a stopped broker");
  journal->require_subcommand(1);
  std::string data;
  uint64_t from = 1;
  uint64_t to = UINT64_MAX;
  CLI::App* verify = journal->add_subcommand(
      "verify", "Check every segment and snapshot\n\nExample: parley journal verify --data DIR");
  verify->add_option("--data", data, "The broker's data directory")->required();
  verify->callback([&] { exit_code = app::verify_journal(data); });
  CLI::App* dump = journal->add_subcommand(
      "dump", "Print the records, one a line\n\nExample: parley journal dump --data DIR --from 10");
  dump->add_option("--data", data, "The broker's data directory")->required();
  dump->add_option("--from", from, "The first record to print");
  dump->add_option("--to", to, "The last record to print");
  dump->callback([&] { exit_code = app::dump_journal(data, from, to); });

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  return exit_code;
}

}  // namespace

int main(int argc, char** argv) { return run(argc, argv); }
