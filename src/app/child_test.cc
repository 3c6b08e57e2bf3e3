// SPDX-License-Identifier: Apache-2.0
// XD-10: how a command is run, and what is known of its end.
#include "app/child.h"

#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>

namespace parley::app {
namespace {

Job shell(const std::string& script) {
  Job job{.command = {"sh", "-c", script}, .variables = {}, .input = {}, .keep_output = true};
  return job;
}

Ending ended(const Job& job, std::span<const int> stops = {}) {
  testing::internal::CaptureStderr();
  const auto ending = run_job(job, stops);
  testing::internal::GetCapturedStderr();
  EXPECT_TRUE(ending) << ending.error();
  return ending.value_or(Ending{});
}

TEST(Child, ReadsItsInputAndItsEnvironment) {
  Job job = shell("cat; echo $PARLEY_MESSAGE_ID");
  job.input = std::string(500'000, 'x');
  job.variables = {{"PARLEY_MESSAGE_ID", "m1"}};
  const Ending ending = ended(job);
  EXPECT_EQ(ending.why, Ending::Why::exited);
  EXPECT_EQ(ending.status, 0);
  EXPECT_EQ(ending.output, job.input + "m1\n");
}

TEST(Child, SaysHowItEndedWithTheEndOfItsErrors) {
  EXPECT_EQ(ended(shell("echo oops >&2; exit 3")).text(), "exit status 3: oops");
  EXPECT_EQ(ended(shell("kill -9 $$")).text(), "killed by signal 9");
  EXPECT_EQ(ended(shell("exit 0")).text(), "exit status 0");
  const Ending much = ended(shell("yes error | head -c 100000 >&2; echo last >&2; exit 1"));
  EXPECT_LE(much.errors.size(), errors_bytes_max);
  EXPECT_TRUE(much.text().ends_with("last")) << much.text();
  EXPECT_EQ(ended(shell("printf '\\033[31m' >&2; exit 1")).text(), "exit status 1: \\x1b[31m");
}

TEST(Child, KeepsNoMoreOutputThanItMay) {
  const Ending ending = ended(shell("head -c 2000000 /dev/zero"));
  EXPECT_EQ(ending.output.size(), output_bytes_max);
  EXPECT_TRUE(ending.too_much);
}

TEST(Child, IsKilledWithItsGroupWhenItIsTooSlow) {
  Job job = shell("trap '' TERM; sleep 1000 & sleep 1000; sleep 1000");
  job.timeout = base::milliseconds(50);
  job.grace = base::milliseconds(50);
  const Ending ending = ended(job);
  EXPECT_EQ(ending.why, Ending::Why::timed_out);
  EXPECT_EQ(ending.status, 9);
}

TEST(Child, IsToldToEndWhenItsSupervisorIs) {
  const int stop = ::eventfd(1, EFD_CLOEXEC);
  const std::array<int, 1> stops = {stop};
  const Ending ending = ended(shell("trap 'echo told; exit 0' TERM; while :; do sleep 0.01; done"),
                              stops);
  EXPECT_EQ(ending.why, Ending::Why::stopped);
  ::close(stop);
}

TEST(Child, CannotStartWhatIsNotThere) {
  EXPECT_FALSE(can_run("no-such-program-here"));
  EXPECT_FALSE(can_run("/no/such/program"));
  EXPECT_TRUE(can_run("sh"));
  Job job = shell("");
  job.command = {"no-such-program-here"};
  const auto ending = run_job(job, {});
  ASSERT_FALSE(ending);
  EXPECT_NE(ending.error().find("cannot start no-such-program-here"), std::string::npos);
}

}  // namespace
}  // namespace parley::app
