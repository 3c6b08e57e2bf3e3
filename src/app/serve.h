// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <expected>
#include <functional>
#include <string>

#include "app/config.h"
#include "edge/api/api.h"

namespace parley::app {

// For a program that only tests use: a flag of `parley serve` by which anyone who can connect may
// act as one agent. The released program has no such flag.
struct TestAccess {
  std::string flag;
  std::string help;
  std::string agent;  // registered at the start, with a token that nobody knows
  std::function<void(edge::Api::Options&)> add;
};

// Runs a broker until SIGTERM or SIGINT. Fails when it cannot start: the error says why. `access`
// is null but in that program. Called before any thread starts, because it blocks these signals.
std::expected<void, Error> serve(const Config& config, const TestAccess* access);

}  // namespace parley::app
