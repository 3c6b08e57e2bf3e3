// SPDX-License-Identifier: Apache-2.0
#include "app/run/child.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <optional>
#include <utility>

#include "app/posix.h"
#include "app/run/process_reaper.h"
#include "app/text/terminal.h"
#include "lib/file.h"

namespace parley::app {

namespace {

using Clock = std::chrono::steady_clock;

// A file in memory. A pipe would have to be fed while the command runs; this can be of any size,
// and the command reads it when it likes.
std::expected<Fd, int> memory_with(const std::string& text) {
  Fd file(::memfd_create("message", MFD_CLOEXEC));
  file.leave_standard();
  if (file.get() < 0) {
    return std::unexpected(errno);
  }
  if (!lib::write_all(file.get(), text)) {
    return std::unexpected(errno);  // the command must not get half a message
  }
  ::lseek(file.get(), 0, SEEK_SET);
  return file;
}

std::vector<std::string> environment_with(const Pairs& variables) {
  std::vector<std::string> all;
  for (const auto& [name, value] : environment()) {
    if (std::ranges::find(variables, name, &Pairs::value_type::first) == variables.end()) {
      all.push_back(name + "=" + value);
    }
  }
  for (const auto& [name, value] : variables) {
    all.push_back(name + "=" + value);
  }
  return all;
}

// One command from its start to its end, with all processes that it started and that did not leave
// its group.
class ChildProcess {
 public:
  explicit ChildProcess(const ChildCommand& command)
      : command_(command), reaper_(command.grace, command.file) {}

  std::expected<void, std::string> start();
  ChildResult wait(std::span<const int> stops);

 private:
  enum class Stage : uint8_t { works, terminating, killed };

  int spawn(int input);
  [[noreturn]] void become(int input, int failure, pid_t parent, char* const* arguments,
                           char* const* variables) const;
  void reap();
  bool is_over();
  void terminate();
  int left_ms() const;
  void on_time();
  void read_errors();
  void read_output();

  const ChildCommand& command_;
  const ProcessReaper reaper_;
  Pipe output_;
  Pipe errors_;
  Fd process_;  // readable when the leader of the group has ended
  pid_t pid_ = 0;
  ChildResult result_;
  std::optional<Clock::time_point> due_;  // when the next stage begins, or the wait ends
  Stage stage_ = Stage::works;
  bool ended_ = false;  // the leader has ended
};

// The new process, up to the command. Only what may be called between fork and exec.
void ChildProcess::become(int input, int failure, pid_t parent, char* const* arguments,
                          char* const* variables) const {
  // A group of its own, so that all of it can be ended. The reaper knows the group before the
  // command begins. If the reaper is killed together with this process, at least the command itself
  // gets a SIGTERM.
  ::setpgid(0, 0);
  reaper_.watch(::getpid());
  ::prctl(PR_SET_PDEATHSIG, SIGTERM, 0, 0, 0);
  if (::getppid() != parent) {
    ::_exit(1);
  }
  ::dup2(input, STDIN_FILENO);
  if (command_.keep_output) {
    ::dup2(output_.to.get(), STDOUT_FILENO);
  }
  ::dup2(errors_.to.get(), STDERR_FILENO);
  // The command starts with no signal blocked or ignored, unlike this process.
  for (int signal = 1; signal < NSIG; ++signal) {
    ::signal(signal, SIG_DFL);
  }
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::execvpe(arguments[0], arguments, variables);
  const int error = errno;
  (void)!::write(failure, &error, sizeof error);
  ::_exit(127);
}

// 0, or the errno of what failed.
int ChildProcess::spawn(int input) {
  Pipe failure;  // closed when exec succeeds
  if (!failure.open()) {
    return errno;
  }
  std::vector<std::string> arguments = command_.arguments;
  std::vector<std::string> variables = environment_with(command_.variables);
  const std::vector<char*> words = pointers(arguments);
  const std::vector<char*> settings = pointers(variables);
  const pid_t parent = ::getpid();
  pid_ = ::fork();
  if (pid_ < 0) {
    return errno;
  }
  if (pid_ == 0) {
    become(input, failure.to.get(), parent, words.data(), settings.data());
  }
  failure.to.close();
  int error = 0;
  ssize_t count = 0;
  do {
    count = ::read(failure.from.get(), &error, sizeof error);
  } while (count < 0 && errno == EINTR);
  if (count == sizeof error) {
    ::waitpid(pid_, nullptr, 0);
    return error;
  }
  return 0;
}

std::expected<void, std::string> ChildProcess::start() {
  const auto cannot = [](const std::string& what, int error) {
    return std::unexpected("cannot " + what + ": " + std::strerror(error));
  };
  if (!reaper_.is_there()) {
    return cannot("have it guarded", errno);
  }
  // Processes whose parent has ended become children of this one, so that it can wait for them.
  ::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
  const auto input = memory_with(command_.input);
  if (!input) {
    return cannot("hand the message over", input.error());
  }
  if (!errors_.open() || (command_.keep_output && !output_.open())) {
    return cannot("make its pipes", errno);
  }
  for (const Pipe* pipe : {&errors_, &output_}) {
    ::fcntl(pipe->from.get(), F_SETFL, O_NONBLOCK);
  }
  if (const int error = spawn(input->get()); error != 0) {
    return cannot("start " + command_.arguments.front(), error);
  }
  output_.to.close();
  errors_.to.close();
  // The header of glibc 2.36 has no extern "C", so its function cannot be linked.
  process_ = Fd(static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0)));
  if (command_.timeout.us > 0) {
    due_ = Clock::now() + std::chrono::microseconds(command_.timeout.us);
  }
  return {};
}

void ChildProcess::terminate() {
  stage_ = Stage::terminating;
  ::kill(-pid_, SIGTERM);
  due_ = Clock::now() + std::chrono::microseconds(command_.grace.us);
}

void ChildProcess::on_time() {
  // The system takes a moment to end a killed process, and for ever if a disk does not answer.
  constexpr std::chrono::seconds last_wait(1);
  if (!due_ || Clock::now() < *due_) {
    return;
  }
  switch (stage_) {
    case Stage::works:
      result_.why = ChildResult::Why::timed_out;
      terminate();
      break;
    case Stage::terminating:
      stage_ = Stage::killed;
      ::kill(-pid_, SIGKILL);
      due_ = Clock::now() + last_wait;
      break;
    case Stage::killed:
      due_.reset();
      break;
  }
}

int ChildProcess::left_ms() const {
  constexpr int look_ms = 10;  // nobody tells that a group has ended
  constexpr int day_ms = 86'400'000;
  const int max_ms = process_.get() < 0 || ended_ ? look_ms : day_ms;
  if (!due_) {
    return max_ms;
  }
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(*due_ - Clock::now()).count();
  return static_cast<int>(std::clamp<int64_t>(left, 0, max_ms));
}

void ChildProcess::read_errors() {
  std::array<char, 16 * 1024> buffer;
  ssize_t count = 0;
  while ((count = ::read(errors_.from.get(), buffer.data(), buffer.size())) > 0) {
    const std::string_view bytes(buffer.data(), static_cast<size_t>(count));
    (void)lib::write_all(STDERR_FILENO, bytes);  // the command goes on when nobody reads its errors
    result_.errors += bytes;
    if (result_.errors.size() > errors_bytes_max) {
      result_.errors.erase(0, result_.errors.size() - errors_bytes_max);
    }
  }
  if (count == 0) {
    errors_.from.close();
  }
}

void ChildProcess::read_output() {
  std::array<char, 16 * 1024> buffer;
  ssize_t count = 0;
  while ((count = ::read(output_.from.get(), buffer.data(), buffer.size())) > 0) {
    const size_t room = output_bytes_max - result_.output.size();
    result_.output.append(buffer.data(), std::min(room, static_cast<size_t>(count)));
    result_.too_much = result_.too_much || static_cast<size_t>(count) > room;
  }
  if (count == 0) {
    output_.from.close();
  }
}

// Collects the processes that have ended: the leader, and those that became our children because
// their parent ended before them.
void ChildProcess::reap() {
  while (true) {
    siginfo_t info{};
    if (::waitid(P_ALL, 0, &info, WEXITED | WNOHANG) != 0 || info.si_pid == 0) {
      return;
    }
    if (info.si_pid != pid_ || ended_) {
      continue;
    }
    if (stage_ == Stage::works) {
      result_.why =
          info.si_code == CLD_EXITED ? ChildResult::Why::exited : ChildResult::Why::killed;
    }
    result_.status = info.si_status;
    ended_ = true;
  }
}

// True when the leader and all of its group have ended. What the leader left running gets SIGTERM.
bool ChildProcess::is_over() {
  reap();
  if (!ended_) {
    return false;
  }
  if (::kill(-pid_, 0) != 0 && errno == ESRCH) {
    return true;
  }
  if (stage_ == Stage::works) {
    terminate();
  }
  return stage_ == Stage::killed && !due_;
}

ChildResult ChildProcess::wait(std::span<const int> stops) {
  while (!is_over()) {
    const bool is_ending = stage_ != Stage::works;
    // poll(2) ignores negative descriptors: those of closed pipes, and the stops once the command
    // got SIGTERM.
    std::vector<pollfd> wanted = {{ended_ ? -1 : process_.get(), POLLIN, 0},
                                  {errors_.from.get(), POLLIN, 0},
                                  {output_.from.get(), POLLIN, 0}};
    for (const int stop : stops) {
      wanted.push_back({is_ending ? -1 : stop, POLLIN, 0});
    }
    if (::poll(wanted.data(), wanted.size(), left_ms()) < 0 && errno != EINTR) {
      break;
    }
    const bool stop = std::any_of(wanted.begin() + 3, wanted.end(),
                                  [](const pollfd& each) { return each.revents != 0; });
    read_errors();
    read_output();
    reap();
    if (stop && !is_ending && !ended_) {
      result_.why = ChildResult::Why::stopped;
      terminate();
    }
    if (!ended_ || stage_ != Stage::works) {
      on_time();
    }
  }
  // What is left in the pipes. A process that left the group may hold them open; it is not waited
  // for.
  read_errors();
  read_output();
  return std::move(result_);
}

}  // namespace

std::string ChildResult::text() const {
  std::string what;
  switch (why) {
    case Why::exited:
      what = "exit status " + std::to_string(status);
      break;
    case Why::killed:
      what = "killed by signal " + std::to_string(status);
      break;
    case Why::timed_out:
      what = "timed out";
      break;
    case Why::stopped:
      what = "stopped with its supervisor";
      break;
  }
  std::string tail = printable_lines(errors);
  tail.erase(tail.find_last_not_of(" \n\t") + 1);
  return tail.empty() ? what : what + ": " + tail;
}

std::expected<ChildResult, std::string> run_child(const ChildCommand& command,
                                                  std::span<const int> stops) {
  ChildProcess child(command);
  if (auto started = child.start(); !started) {
    return std::unexpected(started.error());
  }
  return child.wait(stops);
}

bool can_run(const std::string& program) {
  if (program.find('/') != std::string::npos) {
    return ::access(program.c_str(), X_OK) == 0;
  }
  const char* const path = ::getenv("PATH");
  std::string_view rest = path == nullptr ? "/bin:/usr/bin" : path;
  while (true) {
    const size_t colon = std::min(rest.find(':'), rest.size());
    const std::string directory(rest.substr(0, colon));
    if (::access((directory.empty() ? program : directory + "/" + program).c_str(), X_OK) == 0) {
      return true;
    }
    if (colon == rest.size()) {
      return false;
    }
    rest.remove_prefix(colon + 1);
  }
}

}  // namespace parley::app
