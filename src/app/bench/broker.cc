// SPDX-License-Identifier: Apache-2.0
#include "app/bench/broker.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <vector>

#include "app/config.h"
#include "app/posix.h"

namespace parley::app {

namespace {

constexpr int start_ms_max = 30'000;

std::unexpected<Failure> failed(const std::string& what) {
  return std::unexpected(Failure{"UNAVAILABLE",
                                 what + ": " + std::generic_category().message(errno),
                                 "Name a directory that can be written with --dir."});
}

// This environment without what would configure the broker.
std::vector<std::string> plain_environment() {
  std::vector<std::string> kept;
  for (const auto& [name, value] : environment()) {
    if (!name.starts_with("PARLEY_")) {
      kept.push_back(name + "=" + value);
    }
  }
  return kept;
}

// Up to the end of the first line, or what there is of it when it does not come.
std::string read_line(int file) {
  std::string line;
  pollfd wanted{file, POLLIN, 0};
  while (!line.ends_with('\n') && ::poll(&wanted, 1, start_ms_max) > 0) {
    std::array<char, 256> some{};
    const ssize_t got = ::read(file, some.data(), some.size());
    if (got <= 0) {
      break;
    }
    line.append(some.data(), static_cast<size_t>(got));
  }
  return line;
}

}  // namespace

PrivateBroker::~PrivateBroker() {
  if (pid_ > 0) {
    ::kill(pid_, SIGTERM);
    while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
  if (!directory_.empty()) {
    std::error_code ignored;
    std::filesystem::remove_all(directory_, ignored);
  }
}

std::expected<void, Failure> PrivateBroker::start(const std::string& parent) {
  std::string path = parent + "/parley-bench-XXXXXX";
  if (::mkdtemp(path.data()) == nullptr) {
    return failed("cannot make a directory in " + parent);
  }
  directory_ = path;
  return run();
}

std::expected<void, Failure> PrivateBroker::run() {
  std::array<int, 2> pipe{};
  if (::pipe2(pipe.data(), O_CLOEXEC) != 0) {
    return failed("cannot make a pipe");
  }
  std::vector<std::string> arguments = {"parley", "serve", "--data", directory_ + "/data",
                                        "--listen", "127.0.0.1:0",
                                        // All of a load is said in one conversation.
                                        "--set", "thread_messages_max=1000000000"};
  for (const std::string_view limit : bench_limits) {
    arguments.insert(arguments.end(), {"--set", std::string(limit) + "=0"});
  }
  std::vector<std::string> variables = plain_environment();
  const std::vector<char*> argv = pointers(arguments);
  const std::vector<char*> envp = pointers(variables);
  pid_ = ::fork();
  if (pid_ == 0) {
    // Not hit by the terminal's interrupt, which is ours to see to; but it must not outlive us.
    ::setpgid(0, 0);
    ::prctl(PR_SET_PDEATHSIG, SIGTERM);
    ::dup2(pipe[1], STDOUT_FILENO);
    ::execve("/proc/self/exe", argv.data(), envp.data());
    ::_exit(127);
  }
  ::close(pipe[1]);
  if (pid_ < 0) {
    ::close(pipe[0]);
    return failed("cannot start a process");
  }
  const std::string line = read_line(pipe[0]);
  ::close(pipe[0]);
  constexpr std::string_view ready = "ready ";
  if (!line.starts_with(ready) || !line.ends_with('\n')) {
    return std::unexpected(Failure{"UNAVAILABLE", "the private broker did not start",
                                   "What it said is above; try `parley serve --data DIR`."});
  }
  address_.url = line.substr(ready.size(), line.size() - ready.size() - 1);
  std::ifstream token(directory_ + "/data/admin.token");
  token >> address_.token;
  return {};
}

int64_t PrivateBroker::rss_bytes() const {
  std::ifstream file("/proc/" + std::to_string(pid_) + "/statm");
  int64_t total = 0;
  int64_t resident = 0;
  file >> total >> resident;
  return file ? resident * ::sysconf(_SC_PAGESIZE) : 0;
}

int64_t PrivateBroker::cpu_ns() const {
  clockid_t clock{};
  timespec time{};
  if (pid_ <= 0 || ::clock_getcpuclockid(pid_, &clock) != 0 || ::clock_gettime(clock, &time) != 0) {
    return 0;
  }
  return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

}  // namespace parley::app
