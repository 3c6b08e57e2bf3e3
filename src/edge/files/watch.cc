// SPDX-License-Identifier: Apache-2.0
#include "edge/files/watch.h"

#include <sys/inotify.h>
#include <unistd.h>

#include <array>
#include <cstring>

namespace parley::edge::files {

namespace {

constexpr uint32_t events = IN_CLOSE_WRITE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE | IN_ONLYDIR;
constexpr size_t buffer_bytes = size_t{64} * 1'024;

}  // namespace

Watch::Watch() : fd_(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC)) {}

Watch::~Watch() {
  if (fd_ >= 0) {
    ::close(fd_);
  }
}

// The path of a descriptor leads to the directory that is open, whatever became of its name.
void Watch::add(const Where& where, const Directory& directory) {
  const std::string path = "/proc/self/fd/" + std::to_string(directory.fd());
  const int number = fd_ < 0 ? -1 : ::inotify_add_watch(fd_, path.c_str(), events);
  if (number >= 0) {
    watched_[number] = where;
  }
}

void Watch::remove(const std::string& box) {
  for (auto at = watched_.begin(); at != watched_.end();) {
    if (at->second.first == box) {
      ::inotify_rm_watch(fd_, at->first);
      at = watched_.erase(at);
    } else {
      ++at;
    }
  }
}

bool Watch::take(const std::function<void(const Where&, const std::string&)>& changed) {
  alignas(inotify_event) std::array<char, buffer_bytes> buffer;
  bool is_whole = true;
  while (fd_ >= 0) {
    const ssize_t count = ::read(fd_, buffer.data(), buffer.size());
    if (count <= 0) {
      break;
    }
    for (size_t at = 0; at < static_cast<size_t>(count);) {
      inotify_event event{};
      std::memcpy(&event, buffer.data() + at, sizeof event);
      const char* const name = buffer.data() + at + sizeof event;
      at += sizeof event + event.len;
      is_whole = is_whole && (event.mask & IN_Q_OVERFLOW) == 0;
      if ((event.mask & IN_IGNORED) != 0) {
        watched_.erase(event.wd);
        continue;
      }
      const auto where = watched_.find(event.wd);
      if (where != watched_.end() && event.len > 0 && (event.mask & IN_ISDIR) == 0) {
        changed(where->second, std::string(name, ::strnlen(name, event.len)));
      }
    }
  }
  return is_whole;
}

}  // namespace parley::edge::files
