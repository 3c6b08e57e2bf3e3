// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>

#include "edge/api/api.h"

namespace parley::app {

class Command;

// What a program for tests has beside `parley serve`: a flag by which anyone who can connect may
// act as one agent. The released program has none.
struct TestAccess {
  std::string flag;
  std::string help;
  std::string agent;  // registered at the start, with a token that nobody knows
  std::function<void(edge::Api::Options&)> add;
};

// `parley serve`: runs the broker until SIGTERM or SIGINT.
void add_serve(Command& app, int& exit_code, const TestAccess* access);

}  // namespace parley::app
