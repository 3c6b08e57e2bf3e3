// SPDX-License-Identifier: Apache-2.0
#include "net/client/dial.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <utility>

#include "net/client/resolve.h"

namespace parley::net {

namespace {

using base::Code;
using base::Error;

std::unexpected<Error> refuse(Code code, std::string detail) {
  return std::unexpected(Error{code, std::move(detail), {}});
}

// Waits until a connection that was begun is made. 0, or an errno.
int finish_connect(int fd, const Deadline& deadline) {
  if (!deadline.wait(fd, POLLOUT)) {
    return ETIMEDOUT;
  }
  int error = 0;
  socklen_t size = sizeof error;
  return ::getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) == 0 ? error : errno;
}

// A connected socket, or a negative errno.
int connect_to(const addrinfo& address, const Deadline& deadline) {
  const int fd = ::socket(address.ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) {
    return -errno;
  }
  int error = 0;
  if (::connect(fd, address.ai_addr, address.ai_addrlen) != 0) {
    error = errno == EINPROGRESS ? finish_connect(fd, deadline) : errno;
  }
  if (error != 0) {
    ::close(fd);
    return -error;
  }
  // Without this a small request could wait for the acknowledgement of the one before it.
  const int on = 1;
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  return fd;
}

Error not_connected(const Url& url, int error) {
  if (error == ECONNREFUSED) {
    return {Code::unavailable,
            url.is_broker
                ? fmt::format("no broker answers at {}; start one with `parley serve`", url.text)
                : fmt::format("nobody listens at {}", url.text),
            {}};
  }
  if (error == ETIMEDOUT) {
    return no_answer_in_time(url);
  }
  return {Code::unavailable,
          fmt::format("cannot connect to {}: {}", url.text, std::strerror(error)),
          {}};
}

}  // namespace

Error no_answer_in_time(const Url& url) {
  return {Code::timeout,
          fmt::format("no answer from {} in time{}", url.text,
                      url.is_broker ? "; is the broker busy or the network slow?" : ""),
          {}};
}

Error connection_lost(const Url& url) {
  return {.code = Code::unavailable,
          .detail = fmt::format("the connection to {} was lost before the answer came", url.text),
          .has_lost_connection = true};
}

std::string Url::authority() const {
  const bool is_v6 = host.find(':') != std::string::npos;
  return fmt::format("{}{}{}:{}", is_v6 ? "[" : "", host, is_v6 ? "]" : "", port);
}

std::expected<Url, Error> Url::parse(std::string_view text) {
  const auto bad = [&] {
    return refuse(Code::bad_request,
                  fmt::format("\"{}\" is not a URL such as http://127.0.0.1:7455", text));
  };
  Url url;
  const size_t scheme_end = text.find("://");
  if (scheme_end == std::string_view::npos) {
    return bad();
  }
  const std::string_view scheme = text.substr(0, scheme_end);
  url.is_tls = scheme == "https" || scheme == "wss";
  if (!url.is_tls && scheme != "http" && scheme != "ws") {
    return bad();
  }
  std::string_view rest = text.substr(scheme_end + 3);
  const size_t path_at = rest.find('/');
  std::string_view authority = rest.substr(0, path_at);
  std::string_view prefix =
      path_at == std::string_view::npos ? std::string_view{} : rest.substr(path_at);
  while (prefix.ends_with('/')) {
    prefix.remove_suffix(1);
  }
  const size_t bracket = authority.starts_with('[') ? authority.find(']') : 0;
  if (bracket == std::string_view::npos) {
    return bad();
  }
  const size_t colon = authority.find(':', bracket);
  std::string_view host = authority.substr(0, colon);
  if (bracket > 0) {
    host = host.substr(1, bracket - 1);
  }
  const std::string_view port =
      colon == std::string_view::npos ? (url.is_tls ? "443" : "80") : authority.substr(colon + 1);
  const bool is_number = port.find_first_not_of("0123456789") == std::string_view::npos;
  const bool has_bad_byte =
      std::ranges::any_of(text, [](char c) { return c <= ' ' || c == '\x7f'; });
  if (host.empty() || port.empty() || port.size() > 5 || !is_number || has_bad_byte) {
    return bad();
  }
  url.text = text;
  url.host = host;
  url.port = port;
  url.prefix = prefix;
  return url;
}

Deadline::Deadline(base::Duration timeout, int stop)
    // A year stands for any longer time: adding more to the present could overflow.
    : at_(std::chrono::steady_clock::now() +
          std::chrono::microseconds(std::clamp<int64_t>(timeout.us, 0, base::hours(8760).us))),
      stop_(stop) {}

bool Deadline::wait(int fd, short events) const {
  std::array<pollfd, 2> wanted = {{{fd, events, 0}, {stop_, POLLIN, 0}}};
  int ready = 0;
  do {
    ready = ::poll(wanted.data(), wanted.size(), left_ms());  // ignores a negative descriptor
  } while (ready < 0 && errno == EINTR);
  return ready > 0 && wanted[0].revents != 0;
}

int Deadline::left_ms() const {
  const auto left = at_ - std::chrono::steady_clock::now();
  const int64_t ms = std::chrono::ceil<std::chrono::milliseconds>(left).count();
  return static_cast<int>(std::clamp<int64_t>(ms, 0, std::numeric_limits<int>::max()));
}

Dialed::Dialed(int fd) : fd_(fd) {}

Dialed::Dialed(Dialed&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)),
      context_(std::move(other.context_)),
      stream_(std::move(other.stream_)) {}

Dialed& Dialed::operator=(Dialed&& other) noexcept {
  std::swap(fd_, other.fd_);
  std::swap(context_, other.context_);
  std::swap(stream_, other.stream_);
  return *this;
}

Dialed::~Dialed() {
  stream_.reset();
  if (fd_ >= 0) {
    ::close(fd_);
  }
}

std::expected<Dialed, Error> Dialed::connect(const Url& url, const std::string& trusted_file,
                                             const Deadline& deadline, const Admits& admits) {
  std::optional<lib::TlsContext> context;
  if (url.is_tls) {
    auto made = lib::TlsContext::client(trusted_file);
    if (!made) {
      return std::unexpected(made.error());
    }
    context.emplace(std::move(*made));
  }
  const auto addresses = find_addresses(url, deadline);
  if (!addresses) {
    return std::unexpected(addresses.error());
  }
  int fd = -EADDRNOTAVAIL;
  std::string refused;
  bool was_tried = false;
  // The address that is checked is the one that is connected to, so a name cannot change its
  // address in between (DNS rebinding).
  for (const addrinfo* each = addresses->get(); each != nullptr && fd < 0; each = each->ai_next) {
    const auto address = IpAddress::of(*each->ai_addr);
    if (admits && (!address || !admits(*address))) {
      refused = address ? address->text() : "an address of another kind";
    } else {
      fd = connect_to(*each, deadline);
      was_tried = true;
    }
  }
  if (!was_tried) {
    return refuse(Code::forbidden, fmt::format("{} is at {}, which may not be reached from here",
                                               url.host, refused));
  }
  if (fd < 0) {
    return std::unexpected(not_connected(url, -fd));
  }
  Dialed dialed(fd);
  if (!context) {
    dialed.stream_.emplace(fd);
    return dialed;
  }
  dialed.context_ = std::move(context);
  dialed.stream_.emplace(fd, *dialed.context_, url.host);
  if (auto shaken = dialed.handshake(url, deadline); !shaken) {
    return std::unexpected(shaken.error());
  }
  return dialed;
}

std::expected<void, Error> Dialed::handshake(const Url& url, const Deadline& deadline) {
  while (true) {
    const lib::IoResult result = stream_->tls()->handshake();
    switch (result.status) {
      case SocketStream::Status::done:
        return {};
      case SocketStream::Status::wants_read:
      case SocketStream::Status::wants_write: {
        const bool to_write = result.status == SocketStream::Status::wants_write;
        if (!deadline.wait(fd_, to_write ? POLLOUT : POLLIN)) {
          return std::unexpected(no_answer_in_time(url));
        }
        break;
      }
      case SocketStream::Status::ended:
      case SocketStream::Status::failed:
        return refuse(Code::unavailable,
                      fmt::format("no TLS with {}: {}", url.text, stream_->tls()->failure()));
    }
  }
}

static Dialed::Outcome outcome_of(SocketStream::Status status) {
  switch (status) {
    case SocketStream::Status::done:
      return Dialed::Outcome::done;
    case SocketStream::Status::wants_read:
    case SocketStream::Status::wants_write:
      return Dialed::Outcome::nothing;
    case SocketStream::Status::ended:
    case SocketStream::Status::failed:
      break;
  }
  return Dialed::Outcome::ended;
}

Dialed::Outcome Dialed::try_read(char* to, size_t size, size_t& bytes) {
  const lib::IoResult result = stream_->read(to, size);
  bytes = result.bytes;
  read_wants_write_ = result.status == SocketStream::Status::wants_write;
  return outcome_of(result.status);
}

Dialed::Outcome Dialed::try_write(std::string_view from, size_t& bytes) {
  const lib::IoResult result = stream_->write(from);
  bytes = result.bytes;
  return outcome_of(result.status);
}

// TLS may have to write, such as for new keys, before it can read.
bool Dialed::wait(bool to_write, const Deadline& deadline) {
  return deadline.wait(fd_, to_write || read_wants_write_ ? POLLIN | POLLOUT : POLLIN);
}

bool Dialed::is_stale() {
  pollfd wanted{fd_, POLLIN, 0};
  return ::poll(&wanted, 1, 0) != 0;
}

}  // namespace parley::net
