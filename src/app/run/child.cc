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
#include "app/terminal.h"

namespace parley::app {

namespace {

using Clock = std::chrono::steady_clock;

// A file in memory: however large, the command reads it when it likes, and nobody has to feed it.
std::expected<Fd, int> memory_with(const std::string& text) {
  Fd file(::memfd_create("message", MFD_CLOEXEC));
  file.leave_standard();
  if (file.get() < 0) {
    return std::unexpected(errno);
  }
  if (const int error = write_all(file.get(), text); error != 0) {
    return std::unexpected(error);  // half a message is none
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

// One command from its start to its end, with all that it started and that did not leave its group.
class Running {
 public:
  explicit Running(const Job& job) : job_(job), guard_(job.grace, job.file) {}

  std::expected<void, std::string> start();
  Ending wait(std::span<const int> stops);

 private:
  enum class Stage : uint8_t { works, told, killed };

  int spawn(int input);
  [[noreturn]] void become(int input, int failure, pid_t parent, char* const* arguments,
                           char* const* variables) const;
  void reap();
  bool is_over();
  void tell_to_end();
  int left_ms() const;
  void on_time();
  void read_errors();
  void read_output();

  const Job& job_;
  const Guard guard_;
  Pipe output_;
  Pipe errors_;
  Fd process_;  // readable when the leader of the group has ended
  pid_t pid_ = 0;
  Ending ending_;
  std::optional<Clock::time_point> due_;  // when it is told to end, is killed, or is given up
  Stage stage_ = Stage::works;
  bool ended_ = false;  // the leader
};

// The new process, up to the command. Only what may be called between fork and exec.
void Running::become(int input, int failure, pid_t parent, char* const* arguments,
                     char* const* variables) const {
  // A group of its own, so that all of it can be ended. It is guarded before it begins; and if the
  // guard is killed together with us, at least the command itself is told.
  ::setpgid(0, 0);
  guard_.watch(::getpid());
  ::prctl(PR_SET_PDEATHSIG, SIGTERM, 0, 0, 0);
  if (::getppid() != parent) {
    ::_exit(1);
  }
  ::dup2(input, STDIN_FILENO);
  if (job_.keep_output) {
    ::dup2(output_.to.get(), STDOUT_FILENO);
  }
  ::dup2(errors_.to.get(), STDERR_FILENO);
  // No signal is held back or ignored as ours are.
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
int Running::spawn(int input) {
  Pipe failure;  // closed by the command's begin
  if (!failure.open()) {
    return errno;
  }
  std::vector<std::string> arguments = job_.command;
  std::vector<std::string> variables = environment_with(job_.variables);
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

std::expected<void, std::string> Running::start() {
  const auto cannot = [](const std::string& what, int error) {
    return std::unexpected("cannot " + what + ": " + std::strerror(error));
  };
  if (!guard_.is_there()) {
    return cannot("have it guarded", errno);
  }
  // What it leaves behind comes to us, and can be seen to end.
  ::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
  const auto input = memory_with(job_.input);
  if (!input) {
    return cannot("hand the message over", input.error());
  }
  if (!errors_.open() || (job_.keep_output && !output_.open())) {
    return cannot("make its pipes", errno);
  }
  for (const Pipe* pipe : {&errors_, &output_}) {
    ::fcntl(pipe->from.get(), F_SETFL, O_NONBLOCK);
  }
  if (const int error = spawn(input->get()); error != 0) {
    return cannot("start " + job_.command.front(), error);
  }
  output_.to.close();
  errors_.to.close();
  // The header of glibc 2.36 has no extern "C", so its function cannot be linked.
  process_ = Fd(static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0)));
  if (job_.timeout.us > 0) {
    due_ = Clock::now() + std::chrono::microseconds(job_.timeout.us);
  }
  return {};
}

void Running::tell_to_end() {
  stage_ = Stage::told;
  ::kill(-pid_, SIGTERM);
  due_ = Clock::now() + std::chrono::microseconds(job_.grace.us);
}

void Running::on_time() {
  // The system takes a moment to end what was killed, and for ever if a disk does not answer it.
  constexpr std::chrono::seconds last_wait(1);
  if (!due_ || Clock::now() < *due_) {
    return;
  }
  switch (stage_) {
    case Stage::works:
      ending_.why = Ending::Why::timed_out;
      tell_to_end();
      break;
    case Stage::told:
      stage_ = Stage::killed;
      ::kill(-pid_, SIGKILL);
      due_ = Clock::now() + last_wait;
      break;
    case Stage::killed:
      due_.reset();
      break;
  }
}

int Running::left_ms() const {
  constexpr int look_ms = 10;  // nobody tells that a group has ended
  constexpr int day_ms = 86'400'000;
  const int max_ms = process_.get() < 0 || ended_ ? look_ms : day_ms;
  if (!due_) {
    return max_ms;
  }
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(*due_ - Clock::now()).count();
  return static_cast<int>(std::clamp<int64_t>(left, 0, max_ms));
}

void Running::read_errors() {
  std::array<char, 16 * 1024> buffer;
  ssize_t count = 0;
  while ((count = ::read(errors_.from.get(), buffer.data(), buffer.size())) > 0) {
    const std::string_view bytes(buffer.data(), static_cast<size_t>(count));
    (void)write_all(STDERR_FILENO, bytes);  // that nobody sees it is no reason to stop
    ending_.errors += bytes;
    if (ending_.errors.size() > errors_bytes_max) {
      ending_.errors.erase(0, ending_.errors.size() - errors_bytes_max);
    }
  }
  if (count == 0) {
    errors_.from.close();
  }
}

void Running::read_output() {
  std::array<char, 16 * 1024> buffer;
  ssize_t count = 0;
  while ((count = ::read(output_.from.get(), buffer.data(), buffer.size())) > 0) {
    const size_t room = output_bytes_max - ending_.output.size();
    ending_.output.append(buffer.data(), std::min(room, static_cast<size_t>(count)));
    ending_.too_much = ending_.too_much || static_cast<size_t>(count) > room;
  }
  if (count == 0) {
    output_.from.close();
  }
}

// All that has ended: the leader, and what came to us because its own parent ended before it.
void Running::reap() {
  while (true) {
    siginfo_t info{};
    if (::waitid(P_ALL, 0, &info, WEXITED | WNOHANG) != 0 || info.si_pid == 0) {
      return;
    }
    if (info.si_pid != pid_ || ended_) {
      continue;
    }
    if (stage_ == Stage::works) {
      ending_.why = info.si_code == CLD_EXITED ? Ending::Why::exited : Ending::Why::killed;
    }
    ending_.status = info.si_status;
    ended_ = true;
  }
}

// The leader has ended, and nobody is left of its group: what it left behind ends with it.
bool Running::is_over() {
  reap();
  if (!ended_) {
    return false;
  }
  if (::kill(-pid_, 0) != 0 && errno == ESRCH) {
    return true;
  }
  if (stage_ == Stage::works) {
    tell_to_end();
  }
  return stage_ == Stage::killed && !due_;
}

Ending Running::wait(std::span<const int> stops) {
  while (!is_over()) {
    const bool told = stage_ != Stage::works;
    // poll(2) leaves out what is negative: a pipe that is closed, and the stops once it was told.
    std::vector<pollfd> wanted = {{ended_ ? -1 : process_.get(), POLLIN, 0},
                                  {errors_.from.get(), POLLIN, 0},
                                  {output_.from.get(), POLLIN, 0}};
    for (const int stop : stops) {
      wanted.push_back({told ? -1 : stop, POLLIN, 0});
    }
    if (::poll(wanted.data(), wanted.size(), left_ms()) < 0 && errno != EINTR) {
      break;
    }
    const bool stop = std::any_of(wanted.begin() + 3, wanted.end(),
                                  [](const pollfd& each) { return each.revents != 0; });
    read_errors();
    read_output();
    reap();
    if (stop && !told && !ended_) {
      ending_.why = Ending::Why::stopped;
      tell_to_end();
    }
    if (!ended_ || stage_ != Stage::works) {
      on_time();
    }
  }
  // What it left in the pipes. Who left its group may hold them open: nobody waits for those.
  read_errors();
  read_output();
  return std::move(ending_);
}

}  // namespace

std::string Ending::text() const {
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

std::expected<Ending, std::string> run_job(const Job& job, std::span<const int> stops) {
  Running running(job);
  if (auto started = running.start(); !started) {
    return std::unexpected(started.error());
  }
  return running.wait(stops);
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
