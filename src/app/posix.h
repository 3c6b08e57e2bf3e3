// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace parley::app {

// A file descriptor that is closed with its owner.
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
  // Another one in its place where it is one of the three standard ones: who starts a program moves
  // things to those.
  void leave_standard();

 private:
  int fd_ = -1;
};

struct Pipe {
  Fd from;
  Fd to;

  // Closed on exec, and none of the standard descriptors. False: errno says why.
  bool open();
};

// Writes all of it; 0 or an errno.
int write_all(int fd, std::string_view bytes);

// As exec(3) wants them; good while the texts are.
std::vector<char*> pointers(std::vector<std::string>& texts);

}  // namespace parley::app
