// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/socket.h>

#include <cerrno>
#include <cstddef>
#include <optional>
#include <string_view>

#include "lib/tls.h"

namespace parley::net {

// Bytes over a non-blocking socket, which it does not own, plain or with TLS.
class SocketStream {
 public:
  using Status = lib::IoResult::Status;

  explicit SocketStream(int socket) : socket_(socket) {}
  SocketStream(int socket, const lib::TlsContext& context) : socket_(socket) {
    tls_.emplace(context, socket);
  }
  SocketStream(int socket, const lib::TlsContext& context, const std::string& host)
      : socket_(socket) {
    tls_.emplace(context, socket, host);
  }

  lib::IoResult read(char* to, size_t size) {
    if (tls_) {
      return tls_->read(to, size);
    }
    const ssize_t got = ::recv(socket_, to, size, 0);
    if (got == 0) {
      return {Status::ended};
    }
    return got > 0 ? done(got) : not_done(Status::wants_read);
  }

  lib::IoResult write(std::string_view bytes) {
    if (tls_) {
      return tls_->write(bytes);
    }
    const ssize_t sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    return sent >= 0 ? done(sent) : not_done(Status::wants_write);
  }

  // Ends our side; the peer's may go on.
  void end() {
    if (tls_) {
      tls_->end();
    }
    ::shutdown(socket_, SHUT_WR);
  }

  bool is_tls() const { return tls_.has_value(); }
  lib::TlsStream* tls() { return tls_ ? &*tls_ : nullptr; }

 private:
  static lib::IoResult done(ssize_t bytes) { return {Status::done, static_cast<size_t>(bytes)}; }
  static lib::IoResult not_done(Status wants) {
    const bool again = errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
    return {again ? wants : Status::failed};
  }

  int socket_;
  std::optional<lib::TlsStream> tls_;
};

}  // namespace parley::net
