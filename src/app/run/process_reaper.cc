// SPDX-License-Identifier: Apache-2.0
#include "app/run/process_reaper.h"

#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>

namespace parley::app {

namespace {

constexpr pid_t dismissed = 0;
constexpr int look_ms = 10;
// Of a supervisor's lock at least twice as much is left when it dies: whoever takes over finds the
// group gone.
constexpr base::Duration grace_max = base::seconds(10);

// The group to end once the line is cut; `dismissed` when there is nothing to do. From here on only
// what may be called between fork and exec.
pid_t await_end(int line) {
  pid_t group = dismissed;
  while (true) {
    pid_t told = dismissed;
    const ssize_t count = ::read(line, &told, sizeof told);
    if (count < 0 && errno == EINTR) {
      continue;
    }
    if (count != sizeof told) {
      return group;
    }
    if (told == dismissed) {
      ::_exit(0);
    }
    group = told;
  }
}

void end_group(pid_t group, int grace_ms) {
  ::kill(-group, SIGTERM);
  for (int waited = 0; waited < grace_ms && ::kill(-group, 0) == 0; waited += look_ms) {
    ::poll(nullptr, 0, look_ms);
  }
  ::kill(-group, SIGKILL);
}

[[noreturn]] void stand_by(int line, int grace_ms, const char* file) {
  ::setsid();  // what a terminal tells us is not for it
  sigset_t all;
  sigfillset(&all);
  ::sigprocmask(SIG_SETMASK, &all, nullptr);
  ::prctl(PR_SET_NAME, "parley-guard", 0, 0, 0);
  // It keeps nothing open that someone may wait for the end of.
  ::dup2(line, STDIN_FILENO);
  if (::close_range(STDIN_FILENO + 1, UINT_MAX, 0) != 0) {
    for (int fd = STDIN_FILENO + 1; fd < 1024; ++fd) {
      ::close(fd);
    }
  }
  if (const pid_t group = await_end(STDIN_FILENO); group != dismissed) {
    end_group(group, grace_ms);
  }
  if (*file != '\0') {
    ::unlink(file);
  }
  ::_exit(0);
}

}  // namespace

Guard::Guard(base::Duration grace, const std::string& file) {
  Pipe pipe;
  if (!pipe.open()) {
    return;
  }
  const int grace_ms = static_cast<int>(std::min(grace, grace_max).us / 1'000);
  pid_ = ::fork();
  if (pid_ == 0) {
    stand_by(pipe.from.get(), grace_ms, file.c_str());
  }
  line_ = std::move(pipe.to);
}

Guard::~Guard() {
  if (!is_there()) {
    return;
  }
  watch(dismissed);
  line_.close();
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

void Guard::watch(pid_t group) const { (void)!::write(line_.get(), &group, sizeof group); }

}  // namespace parley::app
