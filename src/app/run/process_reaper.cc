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
constexpr int look_ms = 10;  // nobody tells that a group has ended
// When a supervisor dies, at least twice as much is left of its lock's lease: whoever takes over
// finds the group gone.
constexpr base::Duration grace_max = base::seconds(10);

// Waits until the other end of the pipe is closed. Returns the group to end, or `dismissed` when
// none was named. This and what follows calls only what is allowed between fork and exec.
pid_t await_end(int pipe) {
  pid_t group = dismissed;
  while (true) {
    pid_t named = dismissed;
    const ssize_t count = ::read(pipe, &named, sizeof named);
    if (count < 0 && errno == EINTR) {
      continue;
    }
    if (count != sizeof named) {
      return group;
    }
    if (named == dismissed) {
      ::_exit(0);
    }
    group = named;
  }
}

void end_group(pid_t group, int grace_ms) {
  ::kill(-group, SIGTERM);
  for (int waited = 0; waited < grace_ms && ::kill(-group, 0) == 0; waited += look_ms) {
    ::poll(nullptr, 0, look_ms);
  }
  ::kill(-group, SIGKILL);
}

[[noreturn]] void stand_by(int pipe, int grace_ms, const char* file) {
  ::setsid();  // a terminal's signals are for the supervisor alone
  sigset_t all;
  sigfillset(&all);
  ::sigprocmask(SIG_SETMASK, &all, nullptr);
  ::prctl(PR_SET_NAME, "parley-reaper", 0, 0, 0);
  // A descriptor that stayed open here would keep a reader at its other end waiting.
  ::dup2(pipe, STDIN_FILENO);
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

ProcessReaper::ProcessReaper(base::Duration grace, const std::string& file) {
  Pipe pipe;
  if (!pipe.open()) {
    return;
  }
  const int grace_ms = static_cast<int>(std::min(grace, grace_max).us / 1'000);
  pid_ = ::fork();
  if (pid_ == 0) {
    stand_by(pipe.from.get(), grace_ms, file.c_str());
  }
  pipe_ = std::move(pipe.to);
}

ProcessReaper::~ProcessReaper() {
  if (!is_there()) {
    return;
  }
  watch(dismissed);
  pipe_.close();
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

void ProcessReaper::watch(pid_t group) const { (void)!::write(pipe_.get(), &group, sizeof group); }

}  // namespace parley::app
