// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <expected>
#include <span>
#include <string>
#include <vector>

#include "app/config.h"
#include "base/time.h"

namespace parley::app {

// A command to run, without a shell, in a process group of its own. What the command leaves running
// in the group ends with it, and the whole group ends when this process is killed.
struct ChildCommand {
  std::vector<std::string> arguments;  // the first is the program, found on PATH
  Pairs variables;                     // beside this process's environment, or in place of it
  std::string input;                   // what it reads from standard input
  std::string file{};                  // removed if this process is killed; else the caller does it
  bool keep_output = false;            // for the caller; else the output goes where ours goes
  base::Duration timeout{};            // zero: none
  base::Duration grace = base::seconds(10);  // from SIGTERM to SIGKILL, for the whole group
};

// How a command ended. A command that was told to end (`timed_out`, `stopped`) did not do its work,
// whatever its status says.
struct ChildResult {
  enum class Why : uint8_t { exited, killed, timed_out, stopped };
  Why why = Why::exited;
  int status = 0;         // of `exited`: the exit status; of `killed`: the signal
  std::string output;     // with `keep_output`
  bool too_much = false;  // there was more output than is kept
  std::string errors;     // the end of its standard error, which is passed on as well

  // `exit status 3`, `killed by signal 9`, …, with the end of its errors.
  std::string text() const;
};

// How much is kept of a command's output, and of its errors.
constexpr size_t output_bytes_max = size_t{1} << 20;
constexpr size_t errors_bytes_max = 1'000;

// Runs the command, and waits for its end and that of its group. As soon as one of the descriptors
// `stops` can be read, the command is told to end. Fails, with a sentence for people, when the
// command cannot be started.
std::expected<ChildResult, std::string> run_child(const ChildCommand& command,
                                                  std::span<const int> stops);

// Whether there is a program of this name, or at this path, that this user may run.
bool can_run(const std::string& program);

}  // namespace parley::app
