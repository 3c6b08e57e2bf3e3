// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace parley::app {

// Owns a file descriptor, and closes it.
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
  void close();
  // Replaces a descriptor that is one of the three standard ones by another: starting a program
  // overwrites the standard ones.
  void leave_standard();

 private:
  int fd_ = -1;
};

struct Pipe {
  Fd from;
  Fd to;

  // Both ends are closed on exec, and neither is a standard descriptor. False: errno says why.
  bool open();
};

// Makes it durable which files a directory has. False: errno says why.
bool sync_directory(const std::string& path);

// The home directory that the system has for this user; none when it has none.
std::optional<std::string> home_of_user();

// The texts as exec(3) wants them. The pointers are good as long as the texts.
std::vector<char*> pointers(std::vector<std::string>& texts);

}  // namespace parley::app
