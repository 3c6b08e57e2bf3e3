// SPDX-License-Identifier: Apache-2.0
#include "app/serve.h"

#include <cstdio>
#include <memory>

#include "app/commands/commands.h"
#include "app/config.h"
#include "app/options.h"

namespace parley::app {

void add_serve(Command& app, int& exit_code, const TestAccess* access) {
  Command* command = app.add_subcommand("serve", "Run the broker");
  auto flags = std::make_shared<ConfigFlags>();
  flags->add_to(*command);
  const auto open = std::make_shared<bool>(false);
  if (access != nullptr) {
    command->add_flag(access->flag, *open, access->help);
  }
  add_example(*command, "parley serve --data ./data --listen 127.0.0.1:7455");
  command->callback([flags, open, access, &exit_code] {
    const auto config = load_config(flags->sources());
    const auto served = config ? serve(*config, *open ? access : nullptr)
                               : std::expected<void, Error>(std::unexpected(config.error()));
    if (!served) {
      std::fprintf(stderr, "parley: %s\n", served.error().detail.c_str());
      exit_code = 1;
    }
  });
}

}  // namespace parley::app
