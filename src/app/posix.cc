// SPDX-License-Identifier: Apache-2.0
#include "app/posix.h"

#include <fcntl.h>
#include <pwd.h>
#include <unistd.h>

#include <array>

namespace parley::app {

void Fd::close() {
  if (fd_ >= 0) {
    ::close(std::exchange(fd_, -1));
  }
}

void Fd::leave_standard() {
  if (fd_ >= 0 && fd_ <= STDERR_FILENO) {
    const int other = ::fcntl(fd_, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    ::close(std::exchange(fd_, other));
  }
}

bool Pipe::open() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
    return false;
  }
  from = Fd(ends[0]);
  to = Fd(ends[1]);
  from.leave_standard();
  to.leave_standard();
  return from.get() >= 0 && to.get() >= 0;
}

bool sync_directory(const std::string& path) {
  const Fd directory(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  return directory.get() >= 0 && ::fsync(directory.get()) == 0;
}

std::optional<std::string> home_of_user() {
  const passwd* user = ::getpwuid(::getuid());
  return user == nullptr ? std::nullopt : std::optional<std::string>(user->pw_dir);
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> all;
  for (std::string& text : texts) {
    all.push_back(text.data());
  }
  all.push_back(nullptr);
  return all;
}

}  // namespace parley::app
