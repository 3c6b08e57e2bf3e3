// SPDX-License-Identifier: Apache-2.0
#include "app/bench/bare.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

#include "lib/file.h"

namespace parley::app {

namespace {

std::unexpected<Failure> failed(const std::string& what) {
  return std::unexpected(Failure{"STORAGE_FAILED",
                                 what + ": " + std::generic_category().message(errno),
                                 "Name a directory that can be written with --dir."});
}

std::unexpected<Failure> no_echo(const std::string& what) {
  return std::unexpected(Failure{
      "UNAVAILABLE", what + " for the bare echo: " + std::generic_category().message(errno), {}});
}

bool read_all(int file, char* to, size_t size) {
  while (size > 0) {
    const ssize_t got = ::read(file, to, size);
    if (got == 0 || (got < 0 && errno != EINTR)) {
      return false;
    }
    to += std::max<ssize_t>(got, 0);
    size -= static_cast<size_t>(std::max<ssize_t>(got, 0));
  }
  return true;
}

void echo(int socket) {
  std::string buffer(64 * 1024, '\0');
  while (true) {
    const ssize_t got = ::read(socket, buffer.data(), buffer.size());
    if (got <= 0 ||
        !lib::write_all(socket, std::string_view(buffer).substr(0, static_cast<size_t>(got)))) {
      break;
    }
  }
  ::close(socket);
}

}  // namespace

std::expected<void, Failure> measure_log(const std::string& directory, uint32_t batch,
                                         uint32_t bytes, double seconds, Measured& measured) {
  std::string path = directory + "/bare-log-XXXXXX";
  const int file = ::mkstemp(path.data());
  if (file < 0) {
    return failed("cannot make a file in " + directory);
  }
  ::unlink(path.c_str());
  const std::string record(bytes, 'x');
  std::string buffer;
  const int64_t begin = now_ns();
  const int64_t end = begin + static_cast<int64_t>(seconds * 1e9);
  bool good = true;
  int64_t now = begin;
  do {
    buffer.clear();
    for (uint32_t n = 0; n < batch; ++n) {
      buffer.append(record);
    }
    good = lib::write_all(file, buffer) && ::fdatasync(file) == 0;
    const int64_t after = now_ns();
    measured.latencies.add(after - now);
    measured.count += batch;
    now = after;
  } while (good && now < end);
  measured.seconds += static_cast<double>(now - begin) / 1e9;
  ::close(file);
  return good ? std::expected<void, Failure>{} : failed("cannot write a file in " + directory);
}

BareEcho::~BareEcho() {
  if (caller_ >= 0) {
    ::close(caller_);
  }
  if (thread_.joinable()) {
    thread_.join();
  }
}

std::expected<void, Failure> BareEcho::start() {
  const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  auto* const generic = reinterpret_cast<sockaddr*>(&address);
  socklen_t size = sizeof address;
  if (listener < 0 || ::bind(listener, generic, size) != 0 || ::listen(listener, 1) != 0 ||
      ::getsockname(listener, generic, &size) != 0) {
    ::close(listener);
    return no_echo("cannot listen");
  }
  caller_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const bool connected = caller_ >= 0 && ::connect(caller_, generic, size) == 0;
  const int server = connected ? ::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC) : -1;
  ::close(listener);
  if (server < 0) {
    return no_echo("cannot connect");
  }
  const int one = 1;
  ::setsockopt(caller_, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  ::setsockopt(server, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  thread_ = std::thread([server] { echo(server); });
  return {};
}

std::expected<void, Failure> BareEcho::measure(uint32_t bytes, double seconds, Measured& measured) {
  const std::string text(bytes, 'x');
  std::string back(bytes, '\0');
  const int64_t begin = now_ns();
  const int64_t end = begin + static_cast<int64_t>(seconds * 1e9);
  int64_t now = begin;
  do {
    if (!lib::write_all(caller_, text) || !read_all(caller_, back.data(), back.size())) {
      return no_echo("the connection was lost");
    }
    const int64_t after = now_ns();
    measured.latencies.add(after - now);
    ++measured.count;
    now = after;
  } while (now < end);
  measured.seconds += static_cast<double>(now - begin) / 1e9;
  return {};
}

}  // namespace parley::app
