// SPDX-License-Identifier: Apache-2.0
#include "app/child.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <optional>
#include <utility>

#include "app/terminal.h"

namespace parley::app {

namespace {

using Clock = std::chrono::steady_clock;

class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Fd() { close(); }
  int get() const { return fd_; }
  void close() {
    if (fd_ >= 0) {
      ::close(std::exchange(fd_, -1));
    }
  }

 private:
  int fd_ = -1;
};

struct Pipe {
  Fd from;
  Fd to;

  // The end that is read does not wait.
  bool open() {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
      return false;
    }
    from = Fd(ends[0]);
    to = Fd(ends[1]);
    return ::fcntl(from.get(), F_SETFL, O_NONBLOCK) == 0;
  }
};

void write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(fd, bytes.data(), bytes.size());
    if (count < 0 && errno != EINTR) {
      return;  // nobody sees it; that is no reason to stop the command
    }
    bytes.remove_prefix(static_cast<size_t>(std::max<ssize_t>(count, 0)));
  }
}

// A file in memory: however large, the command reads it when it likes, and nobody has to feed it.
Fd memory_with(const std::string& text) {
  Fd file(::memfd_create("message", MFD_CLOEXEC));
  if (file.get() >= 0) {
    write_all(file.get(), text);
    ::lseek(file.get(), 0, SEEK_SET);
  }
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

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> all;
  for (std::string& text : texts) {
    all.push_back(text.data());
  }
  all.push_back(nullptr);
  return all;
}

// One command from its start to its end.
class Running {
 public:
  explicit Running(const Job& job) : job_(job) {}

  std::expected<void, std::string> start();
  Ending wait(std::span<const int> stops);

 private:
  int spawn(int input);
  bool has_ended();
  void tell_to_end(Ending::Why why);
  int left_ms() const;
  void on_time();
  void read_errors();
  void read_output();

  const Job& job_;
  Pipe output_;
  Pipe errors_;
  Fd process_;  // readable when it has ended
  pid_t pid_ = 0;
  Ending ending_;
  std::optional<Clock::time_point> due_;  // when it is told to end, or is killed
  bool told_ = false;
  bool ended_ = false;
};

int Running::spawn(int input) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
  if (job_.keep_output) {
    posix_spawn_file_actions_adddup2(&actions, output_.to.get(), STDOUT_FILENO);
  }
  posix_spawn_file_actions_adddup2(&actions, errors_.to.get(), STDERR_FILENO);
  // A group of its own, so that all of it can be ended; and no signal held back as ours are.
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none;
  sigset_t all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK |
                                            POSIX_SPAWN_SETSIGDEF);
  std::vector<std::string> arguments = job_.command;
  std::vector<std::string> variables = environment_with(job_.variables);
  const int error = ::posix_spawnp(&pid_, arguments.front().c_str(), &actions, &attributes,
                                   pointers(arguments).data(), pointers(variables).data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  return error;
}

std::expected<void, std::string> Running::start() {
  const Fd input = memory_with(job_.input);
  if (input.get() < 0 || !errors_.open() || (job_.keep_output && !output_.open())) {
    return std::unexpected(std::string("cannot make its pipes: ") + std::strerror(errno));
  }
  if (const int error = spawn(input.get()); error != 0) {
    return std::unexpected("cannot start " + job_.command.front() + ": " + std::strerror(error));
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

void Running::tell_to_end(Ending::Why why) {
  told_ = true;
  ending_.why = why;
  ::kill(-pid_, SIGTERM);
  due_ = Clock::now() + std::chrono::microseconds(job_.grace.us);
}

void Running::on_time() {
  if (!due_ || Clock::now() < *due_) {
    return;
  }
  if (told_) {
    ::kill(-pid_, SIGKILL);
    due_.reset();
  } else {
    tell_to_end(Ending::Why::timed_out);
  }
}

int Running::left_ms() const {
  constexpr int look_ms = 50;  // where the system does not tell that a process has ended
  const int max_ms = process_.get() < 0 ? look_ms : 86'400'000;
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
    write_all(STDERR_FILENO, bytes);
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

bool Running::has_ended() {
  siginfo_t info{};
  if (ended_) {
    return true;
  }
  if (::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG) != 0 ||
      info.si_pid == 0) {
    return false;
  }
  if (!told_) {
    ending_.why = info.si_code == CLD_EXITED ? Ending::Why::exited : Ending::Why::killed;
  }
  ending_.status = info.si_status;
  ended_ = true;
  return true;
}

Ending Running::wait(std::span<const int> stops) {
  while (!has_ended()) {
    // poll(2) leaves out what is negative: a pipe that is closed, and the stops once it was told.
    std::vector<pollfd> wanted = {{process_.get(), POLLIN, 0},
                                  {errors_.from.get(), POLLIN, 0},
                                  {output_.from.get(), POLLIN, 0}};
    for (const int stop : stops) {
      wanted.push_back({told_ ? -1 : stop, POLLIN, 0});
    }
    if (::poll(wanted.data(), wanted.size(), left_ms()) < 0 && errno != EINTR) {
      break;
    }
    const bool stop = std::any_of(wanted.begin() + 3, wanted.end(),
                                  [](const pollfd& each) { return each.revents != 0; });
    read_errors();
    read_output();
    if (stop && !told_ && !has_ended()) {
      tell_to_end(Ending::Why::stopped);
    }
    on_time();
  }
  // What it left in the pipes. Others of its group may hold them open: nobody waits for those.
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
