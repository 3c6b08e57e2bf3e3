// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace parley::app {

struct TestAccess;

// Stands before a word of `parley run`'s command that must reach the command as it is.
constexpr char verbatim_mark = '\x01';

// Runs the program with these arguments, without its name. Returns the exit code: 0 done, 1 refused
// or failed, 2 a wrong call. `access` is for a program of the tests: see serve.h.
int run(std::vector<std::string> arguments, const TestAccess* access = nullptr);

// The arguments as strings. Overwrites what follows --token in `argv` itself, so that no listing of
// processes shows it.
std::vector<std::string> take_arguments(int argc, char** argv);

}  // namespace parley::app
