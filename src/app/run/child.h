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

// A command to run, without a shell, in a process group of its own. The group ends with it: what it
// left running there, and all of it when this process is killed.
struct Job {
  std::vector<std::string> command;  // found on PATH
  Pairs variables;                   // beside this process's environment, or in place of it
  std::string input;                 // what it reads from standard input
  std::string file{};                // removed when this process is killed; else by the caller
  bool keep_output = false;          // for the caller; else it goes where ours goes
  base::Duration timeout{};          // zero: none
  base::Duration grace = base::seconds(10);  // from SIGTERM to SIGKILL, for the whole group
};

// How a command ended. One that was told to end did not do its work, whatever its status says.
struct Ending {
  enum class Why : uint8_t { exited, killed, timed_out, stopped };
  Why why = Why::exited;
  int status = 0;         // of `exited`: the exit status; of `killed`: the signal
  std::string output;     // if it was kept
  bool too_much = false;  // there was more output than is kept
  std::string errors;     // the end of what it wrote to standard error, which passes through too

  // `exit status 3`, `killed by signal 9`, …, with the end of its errors.
  std::string text() const;
};

// What is kept of a command's output, and of its errors.
constexpr size_t output_bytes_max = size_t{1} << 20;
constexpr size_t errors_bytes_max = 1'000;

// Runs the command and waits for its end and that of its group. As soon as one of `stops` can be
// read it is told to end. Fails when it cannot be started; what is wrong is in words.
std::expected<Ending, std::string> run_job(const Job& job, std::span<const int> stops);

// Whether there is such a program that this user may run.
bool can_run(const std::string& program);

}  // namespace parley::app
