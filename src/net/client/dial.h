// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/time.h"
#include "net/address.h"
#include "net/socket_stream.h"

namespace parley::net {

// The parts of http://host:port/prefix; also https, ws and wss.
struct Url {
  std::string text;    // as it was given
  std::string host;    // without the brackets of an IPv6 address
  std::string port;    // a number
  std::string prefix;  // of every path; without a slash at its end
  bool is_tls = false;
  bool is_broker = true;  // what is said of failures names one

  // What a Host header says.
  std::string authority() const;
  static std::expected<Url, base::Error> parse(std::string_view text);
};

// When the caller stops to wait: at a time, or as soon as `stop` can be read.
class Deadline {
 public:
  explicit Deadline(base::Duration timeout, int stop = -1);
  // Milliseconds left, rounded up; 0 when it has passed.
  int left_ms() const;
  // Waits for one of the `events` of poll(2); false when the deadline came first.
  bool wait(int fd, short events) const;

 private:
  std::chrono::steady_clock::time_point at_;
  int stop_;
};

// A connected socket whose calls wait, but not beyond a deadline. For clients.
class Dialed {
 public:
  // `admits` is asked for each address that the host has; empty: all are good. FORBIDDEN when it
  // admits none.
  static std::expected<Dialed, base::Error> connect(const Url& url, const std::string& trusted_file,
                                                    const Deadline& deadline,
                                                    const Admits& admits = {});
  Dialed(Dialed&& other) noexcept;
  Dialed& operator=(Dialed&& other) noexcept;
  ~Dialed();

  enum class Outcome : uint8_t { done, nothing, ended };
  // One attempt without waiting; `bytes` says how much was moved.
  Outcome try_read(char* to, size_t size, size_t& bytes);
  Outcome try_write(std::string_view from, size_t& bytes);
  // Waits until it can be read (or written, if asked for); false when the deadline came first.
  bool wait(bool to_write, const Deadline& deadline);
  // The peer has closed or sent what nobody asked for: not good for another request.
  bool is_stale();
  // For a caller that waits for many at once.
  int fd() const { return fd_; }

 private:
  explicit Dialed(int fd);
  std::expected<void, base::Error> handshake(const Url& url, const Deadline& deadline);

  int fd_ = -1;
  std::optional<lib::TlsContext> context_;
  std::optional<SocketStream> stream_;
  bool read_wants_write_ = false;
};

base::Error no_answer_in_time(const Url& url);
base::Error connection_lost(const Url& url);

}  // namespace parley::net
