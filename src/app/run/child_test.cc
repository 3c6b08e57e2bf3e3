// SPDX-License-Identifier: Apache-2.0
// XD-10: how a command is run, and what is known of its end.
#include "app/run/child.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <vector>

namespace parley::app {
namespace {

ChildCommand shell(const std::string& script) {
  ChildCommand command{
      .arguments = {"sh", "-c", script}, .variables = {}, .input = {}, .keep_output = true};
  return command;
}

ChildResult ended(const ChildCommand& command, std::span<const int> stops = {}) {
  testing::internal::CaptureStderr();
  const auto result = run_child(command, stops);
  testing::internal::GetCapturedStderr();
  EXPECT_TRUE(result) << result.error();
  return result.value_or(ChildResult{});
}

TEST(Child, ReadsItsInputAndItsEnvironment) {
  ChildCommand command = shell("cat; echo $PARLEY_MESSAGE_ID");
  command.input = std::string(500'000, 'x');
  command.variables = {{"PARLEY_MESSAGE_ID", "m1"}};
  const ChildResult result = ended(command);
  EXPECT_EQ(result.why, ChildResult::Why::exited);
  EXPECT_EQ(result.status, 0);
  EXPECT_EQ(result.output, command.input + "m1\n");
}

TEST(Child, SaysHowItEndedWithTheEndOfItsErrors) {
  EXPECT_EQ(ended(shell("echo oops >&2; exit 3")).text(), "exit status 3: oops");
  EXPECT_EQ(ended(shell("kill -9 $$")).text(), "killed by signal 9");
  EXPECT_EQ(ended(shell("exit 0")).text(), "exit status 0");
  const ChildResult much = ended(shell("yes error | head -c 100000 >&2; echo last >&2; exit 1"));
  EXPECT_LE(much.errors.size(), errors_bytes_max);
  EXPECT_TRUE(much.text().ends_with("last")) << much.text();
  EXPECT_EQ(ended(shell("printf '\\033[31m' >&2; exit 1")).text(), "exit status 1: \\x1b[31m");
}

TEST(Child, KeepsNoMoreOutputThanItMay) {
  const ChildResult result = ended(shell("head -c 2000000 /dev/zero"));
  EXPECT_EQ(result.output.size(), output_bytes_max);
  EXPECT_TRUE(result.too_much);
}

TEST(Child, IsKilledWithItsGroupWhenItIsTooSlow) {
  ChildCommand command = shell("trap '' TERM; sleep 1000 & sleep 1000; sleep 1000");
  command.timeout = base::milliseconds(50);
  command.grace = base::milliseconds(50);
  const ChildResult result = ended(command);
  EXPECT_EQ(result.why, ChildResult::Why::timed_out);
  EXPECT_EQ(result.status, 9);
}

// Whether the process is there still; one that has ended and that nobody asked for is not.
bool is_alive(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string text{std::istreambuf_iterator<char>(file), {}};
  const size_t name_end = text.rfind(')');
  return name_end != std::string::npos && text[name_end + 2] != 'Z';
}

// A pipe that a command can write to, by number.
struct OpenPipe {
  OpenPipe() { EXPECT_EQ(::pipe(ends.data()), 0); }
  ~OpenPipe() {
    ::close(ends[0]);
    ::close(ends[1]);
  }
  std::string to() const { return std::to_string(ends[1]); }
  std::array<int, 2> ends{};
};

TEST(Child, WhatDoesNotListenIsKilledAlsoWhenTheCommandItselfEnds) {
  const OpenPipe ready;
  ChildCommand command =
      shell("sh -c 'trap \"\" TERM; echo $$; echo >&" + ready.to() + "; exec sleep 1000' & wait");
  command.grace = base::milliseconds(50);
  const ChildResult result = ended(command, {ready.ends.data(), 1});
  EXPECT_EQ(result.why, ChildResult::Why::stopped);
  EXPECT_EQ(result.status, SIGTERM);  // of the shell, which listens
  const pid_t left = std::stoi(result.output);
  EXPECT_FALSE(is_alive(left));
}

TEST(Child, WhatItLeavesRunningEndsWithIt) {
  const ChildResult result = ended(shell("sleep 1000 & echo $!; exit 0"));
  EXPECT_EQ(result.text(), "exit status 0");
  EXPECT_FALSE(is_alive(std::stoi(result.output)));
}

TEST(Child, WhatLeavesItsGroupLivesOn) {
  const OpenPipe ready;
  ChildCommand command =
      shell("setsid sh -c 'echo $$; echo >&" + ready.to() +
            "; exec sleep 1000 2>&-' & read line <&" + std::to_string(ready.ends[0]));
  const ChildResult result = ended(command);
  EXPECT_EQ(result.text(), "exit status 0");
  const pid_t left = std::stoi(result.output);
  EXPECT_TRUE(is_alive(left));
  ::kill(left, SIGKILL);
}

TEST(Child, EndsWithAllThatItStartedWhenItsSupervisorIsKilled) {
  ::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);  // so that all of them come to us in the end
  const OpenPipe started;
  const std::string file = testing::TempDir() + "parley-child-test-" + std::to_string(::getpid());
  std::ofstream(file) << "mail";
  const pid_t supervisor = ::fork();
  ASSERT_GE(supervisor, 0);
  if (supervisor == 0) {
    ChildCommand command =
        shell("trap '' TERM; sleep 1000 & echo $$ $! >&" + started.to() + "; wait; wait");
    command.grace = base::milliseconds(50);
    command.file = file;
    (void)run_child(command, {});
    ::_exit(1);
  }
  std::array<char, 64> text{};
  ASSERT_GT(::read(started.ends[0], text.data(), text.size() - 1), 0);
  std::istringstream words(text.data());
  std::vector<pollfd> processes;
  for (pid_t pid = 0; words >> pid;) {
    EXPECT_TRUE(is_alive(pid));
    processes.push_back({static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)), POLLIN, 0});
  }
  ASSERT_EQ(processes.size(), 2u);
  ::kill(supervisor, SIGKILL);
  for (pollfd& process : processes) {
    ASSERT_EQ(::poll(&process, 1, 10'000), 1) << "it lives on";
    ::close(process.fd);
  }
  while (::waitpid(-1, nullptr, 0) > 0) {  // the reaper last
  }
  EXPECT_FALSE(std::filesystem::exists(file));
}

TEST(Child, IsToldToEndWhenItsSupervisorIs) {
  const int stop = ::eventfd(1, EFD_CLOEXEC);
  const std::array<int, 1> stops = {stop};
  const ChildResult result =
      ended(shell("trap 'echo told; exit 0' TERM; while :; do sleep 0.01; done"), stops);
  EXPECT_EQ(result.why, ChildResult::Why::stopped);
  ::close(stop);
}

TEST(Child, CannotStartWhatIsNotThere) {
  EXPECT_FALSE(can_run("no-such-program-here"));
  EXPECT_FALSE(can_run("/no/such/program"));
  EXPECT_TRUE(can_run("sh"));
  ChildCommand command = shell("");
  command.arguments = {"no-such-program-here"};
  const auto result = run_child(command, {});
  ASSERT_FALSE(result);
  EXPECT_NE(result.error().find("cannot start no-such-program-here"), std::string::npos);
}

}  // namespace
}  // namespace parley::app
