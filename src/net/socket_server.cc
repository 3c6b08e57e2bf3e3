// SPDX-License-Identifier: Apache-2.0
// The only source that includes Asio: it costs several seconds to compile. One thread runs it, so
// it needs no fences, which ThreadSanitizer does not know.
#define BOOST_ASIO_DISABLE_FENCED_BLOCK
#define BOOST_DISABLE_ASSERTS  // as http.cc, which says why: both share Boost's inline code
#include "net/socket_server.h"

#include <fmt/format.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <chrono>
#include <cstring>
#include <ctime>
#include <optional>
#include <unordered_map>

#include "base/check.h"
#include "net/connection/connection.h"
#include "net/socket_stream.h"

namespace parley::net {

namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using AsioError = boost::system::error_code;
using base::seconds;

// What one read takes at most. One buffer for all connections: an idle one has none.
constexpr size_t read_bytes_max = 256 * 1024;
// What a turn reads before it works.
constexpr size_t turn_bytes_max = 1024 * 1024;
// How long one connection is read while others wait to be.
constexpr Duration slice_max = base::microseconds(300);
// After so many connections were read, it is looked who else can be.
constexpr size_t served_before_look = 8;
// Who sends no more meanwhile is read also while the handler is behind.
constexpr size_t little_bytes = 16 * 1024;
// So many events are taken in one look: each only notes what can be done.
constexpr size_t events_max = 256;
// How long a turn reads before it works, and writes before it reads again: with what it applies in
// between (node::Node::Options::apply_max) under 5 ms.
constexpr Duration reading_max = base::microseconds(1'500);
constexpr Duration writing_max = base::microseconds(1'500);
// Connections over the limit that get an answer; further ones are closed without.
constexpr size_t refused_max = 64;
// Descriptors for those and for all that the process opens beside connections.
constexpr rlim_t descriptors_spare = refused_max + 128;
constexpr Duration wait_max = seconds(1);
constexpr Duration stop_max = seconds(2);
// How long no connection is accepted after the system had no descriptor for one.
constexpr Duration accept_pause = seconds(1);

Time monotonic_now() {
  const auto since = std::chrono::steady_clock::now().time_since_epoch();
  return Time{std::chrono::duration_cast<std::chrono::microseconds>(since).count()};
}

// Of this thread.
Duration cpu_time() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return Duration{int64_t{now.tv_sec} * 1'000'000 + now.tv_nsec / 1'000};
}

// As many connections as wanted, or as the system has descriptors for: it is better to answer 503
// than to leave none for the journal's files. Raises the process's limit as far as it may.
size_t affordable_connections(size_t wanted) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) {
    return wanted;
  }
  const rlim_t needed = rlim_t{wanted} + descriptors_spare;
  if (limit.rlim_cur < needed && limit.rlim_cur < limit.rlim_max) {
    const rlimit raised{std::min(needed, limit.rlim_max), limit.rlim_max};
    if (::setrlimit(RLIMIT_NOFILE, &raised) == 0) {
      limit = raised;
    }
  }
  const rlim_t spare = std::min(descriptors_spare, limit.rlim_cur / 4 * 3);
  return std::min<size_t>(wanted, limit.rlim_cur - spare);
}

Server::Limits affordable(Server::Limits limits) {
  limits.connections_max = affordable_connections(limits.connections_max);
  return limits;
}

// What is written leaves at once. A peer that is gone without a word is found out also where
// nothing is written to it, as in a stream of events or a request that waits.
void set_options(int socket, Duration interval) {
  const int on = 1;
  const int seconds = static_cast<int>(std::clamp<int64_t>(interval.us / 1'000'000, 1, 3600));
  const int unanswered_max = 2;
  // Fails only for a peer that is gone already, which reading will tell.
  (void)::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  (void)::setsockopt(socket, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  (void)::setsockopt(socket, IPPROTO_TCP, TCP_KEEPIDLE, &seconds, sizeof seconds);
  (void)::setsockopt(socket, IPPROTO_TCP, TCP_KEEPINTVL, &seconds, sizeof seconds);
  (void)::setsockopt(socket, IPPROTO_TCP, TCP_KEEPCNT, &unanswered_max, sizeof unanswered_max);
}

// The one that there is; apart from its header, which then needs no Asio.
class Loop final : public SocketServer {
 public:
  Loop(const Options& options, Handler& handler)
      : SocketServer(affordable(options.limits), handler),
        acceptor_(context_),
        wake_(context_),
        turn_clock_(options.clock != nullptr ? *options.clock : clock_),
        read_buffer_(
            std::max(read_bytes_max, options.limits.header_bytes_max + read_bytes_max / 2)) {
    around_.turn_is_over = [this] {
      const Time now = monotonic_now();
      return now - began_ > reading_max || (now - slice_began_ > slice_max && peers_.has_ready());
    };
  }

  std::expected<void, Error> start(const Options& options);

  uint16_t port() const override { return port_; }
  void run() override;
  void stop() override;
  void post(std::function<void()> work) override;

 private:
  // A connection and its socket.
  struct SocketPeer final : Peer {
    SocketPeer(ConnectionId id, Surroundings& around, tcp::socket&& accepted, SocketStream&& made)
        : Peer(id, around), socket(std::move(accepted)), stream(std::move(made)) {}

    tcp::socket socket;
    SocketStream stream;
  };
  static SocketPeer& of(Peer& peer) { return static_cast<SocketPeer&>(peer); }

  void write(Peer& peer) override;
  void end(Peer& peer) override;
  void wait_to_read(Peer& peer) override;
  void read_on(Peer& peer) override;
  bool is_too_long(Time began) const override { return monotonic_now() - began > writing_max; }
  Time time_of_work() const override { return monotonic_now(); }
  bool has_left(Peer& peer) override;

  void bind(const tcp::endpoint& endpoint, const Options& options, AsioError& ec);
  void accept();
  void accepted(tcp::socket&& socket);
  void wait_for_wake();
  void wake();
  void turn();
  void read_all();
  // Reads one, or goes on with what was read of it.
  void serve(Peer& peer);
  void look();
  // The first event ends the waiting.
  void note_begin() { began_ = began_.us == 0 ? monotonic_now() : began_; }
  Duration wait_time(Time due);
  void update_time();
  // Notes that there is something to be read.
  void can_read(Peer& peer);
  void read(SocketPeer& peer);
  void wait_to_write(SocketPeer& peer);
  void finish();

  // One thread runs the context, and the others reach it through `wake_` only: no locks.
  asio::io_context context_{BOOST_ASIO_CONCURRENCY_HINT_UNSAFE};
  tcp::acceptor acceptor_;
  asio::posix::stream_descriptor wake_;
  std::optional<lib::TlsContext> tls_;
  uint16_t port_ = 0;

  base::SystemClock clock_;
  base::Clock& turn_clock_;
  std::vector<char> read_buffer_;
  size_t read_bytes_ = 0;  // in this turn
  Time began_;             // of the turn; 0 while it waits
  Time slice_began_;       // of the connection that is read now
  bool is_behind_ = false;
  // Bytes of each line since the handler is behind, and connections of those that have sent much,
  // which can be read.
  std::unordered_map<uint64_t, size_t> behind_;
  std::vector<ConnectionId> put_off_;
  Time due_{};
  int64_t date_second_ = -1;
  bool accepting_ = false;
  Time accept_after_;

  std::atomic<bool> stopping_ = false;
};

std::expected<void, Error> Loop::start(const Options& options) {
  const auto refuse = [&](Code code, std::string detail) {
    return std::unexpected(Error{code, std::move(detail), {}});
  };
  if (options.tls_certificate.empty() != options.tls_key.empty()) {
    return refuse(Code::bad_request, "TLS wants both a certificate and a key file; one is missing");
  }
  if (!options.tls_certificate.empty()) {
    auto context = lib::TlsContext::server(options.tls_certificate, options.tls_key);
    if (!context) {
      return std::unexpected(context.error());
    }
    tls_.emplace(std::move(*context));
  }
  AsioError ec;
  tcp::resolver resolver(context_);
  const auto found = resolver.resolve(options.host, std::to_string(options.port),
                                      tcp::resolver::passive | tcp::resolver::numeric_service, ec);
  if (ec || found.empty()) {
    return refuse(Code::bad_request, fmt::format("cannot listen on \"{}\": no such address ({})",
                                                 options.host, ec.message()));
  }
  bind(found.begin()->endpoint(), options, ec);
  const std::string where = fmt::format("{}:{}", options.host, options.port);
  if (ec == asio::error::address_in_use) {
    return refuse(Code::address_in_use,
                  fmt::format("cannot listen on {}: the port is in use; stop the other program or "
                              "choose another port with --listen",
                              where));
  }
  if (ec == asio::error::access_denied) {
    return refuse(Code::forbidden, fmt::format("cannot listen on {}: ports under 1024 need a "
                                               "privilege; choose a higher one",
                                               where));
  }
  if (ec) {
    return refuse(Code::bad_request, fmt::format("cannot listen on {}: {}", where, ec.message()));
  }
  const int fd = ::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  if (fd < 0) {
    return refuse(Code::overloaded,
                  fmt::format("cannot make an event descriptor: {}", std::strerror(errno)));
  }
  wake_.assign(fd, ec);
  if (ec) {
    ::close(fd);
    return refuse(Code::overloaded, fmt::format("cannot watch a descriptor: {}", ec.message()));
  }
  wait_for_wake();
  update_time();
  accept();
  return {};
}

void Loop::bind(const tcp::endpoint& endpoint, const Options&, AsioError& ec) {
  acceptor_.open(endpoint.protocol(), ec);
  if (!ec) {
    acceptor_.set_option(tcp::acceptor::reuse_address(true), ec);
  }
  if (!ec) {
    acceptor_.bind(endpoint, ec);
  }
  if (!ec) {
    acceptor_.listen(tcp::acceptor::max_listen_connections, ec);
  }
  if (!ec) {
    port_ = acceptor_.local_endpoint(ec).port();
  }
}

void Loop::accept() {
  accepting_ = true;
  acceptor_.async_accept([this](AsioError ec, tcp::socket socket) {
    note_begin();
    accepting_ = false;
    if (ec == asio::error::operation_aborted || stopping_) {
      return;
    }
    if (ec) {
      // Most likely out of descriptors: trying again at once would only spin.
      const bool is_peers = ec == asio::error::connection_aborted;
      accept_after_ = is_peers ? around_.now : around_.now + accept_pause;
    } else {
      accepted(std::move(socket));
    }
    if (accept_after_ <= around_.now) {
      accept();
    }
  });
}

void Loop::accepted(tcp::socket&& socket) {
  const size_t max = around_.limits.connections_max;
  const bool is_over = !make_room();
  if (is_over && (tls_ || connections() >= max + refused_max)) {
    return;  // closes it
  }
  AsioError ec;
  socket.non_blocking(true, ec);
  if (ec) {
    return;
  }
  const int fd = socket.native_handle();
  set_options(fd, around_.limits.ping_interval);
  Peer& peer =
      peers_.add(std::make_unique<SocketPeer>(peers_.next_id(), around_, std::move(socket),
                                              tls_ ? SocketStream(fd, *tls_) : SocketStream(fd)));
  if (is_over) {
    peer.connection.refuse({Code::overloaded,
                            fmt::format("{} connections are open, no more are allowed; close some "
                                        "or raise connections_max",
                                        max),
                            {}});
    peers_.mark_dirty(peer);
  }
  wait_to_read(peer);
}

void Loop::wait_for_wake() {
  wake_.async_wait(asio::posix::stream_descriptor::wait_read, [this](AsioError ec) {
    if (ec) {
      return;
    }
    uint64_t count = 0;
    (void)!::read(wake_.native_handle(), &count, sizeof count);
    wait_for_wake();
  });
}

void Loop::wake() {
  const uint64_t one = 1;
  (void)!::write(wake_.native_handle(), &one, sizeof one);
}

void Loop::stop() {
  // Nothing but what a signal handler may do.
  const int saved = errno;
  stopping_ = true;
  wake();
  errno = saved;
}

void Loop::post(std::function<void()> work) {
  Peers::post(std::move(work));
  wake();
}

void Loop::run() {
  while (!stopping_) {
    turn();
  }
  finish();
}

void Loop::turn() {
  read_bytes_ = 0;
  began_ = Time{};
  const Duration cpu = cpu_time();
  const Duration wait = wait_time(due_);
  if (wait.us > 0) {
    context_.run_one_for(std::chrono::microseconds(wait.us));
  }
  note_begin();
  update_time();
  read_all();
  if (!accepting_ && accept_after_ <= around_.now) {
    accept();
  }
  due_ = work();
  const Turn ended{monotonic_now() - began_, Duration{cpu_time().us - cpu.us}};
  around_.handler->on_turn_ended(ended);
}

// Reads the connections that can be, those of the caller first that has taken least time. While the
// handler is behind with what came in before, who sends much waits, and the others do not.
void Loop::read_all() {
  is_behind_ = around_.handler->is_behind();
  if (!is_behind_) {
    behind_.clear();
  }
  look();
  for (size_t served = 1; peers_.has_ready(); ++served) {
    peers_.take_ready([](size_t taken) { return taken > 0; }, [this](Peer& peer) { serve(peer); });
    if (read_bytes_ >= turn_bytes_max || monotonic_now() - began_ > reading_max) {
      break;
    }
    if (served % served_before_look == 0 || !peers_.has_ready()) {
      look();
    }
  }
  for (const ConnectionId id : std::exchange(put_off_, {})) {
    if (Peer* const peer = peers_.find(id)) {
      peers_.mark_ready(*peer);
    }
  }
}

void Loop::serve(Peer& peer) {
  const uint64_t line = peer.connection.line();
  if (is_behind_ && behind_[line] > little_bytes) {
    put_off_.push_back(peer.connection.id());
    return;
  }
  slice_began_ = monotonic_now();
  const size_t before = read_bytes_;
  const bool goes_on = peer.connection.is_cut_short();
  if (goes_on) {
    resume(peer);
  } else {
    read(of(peer));
  }
  peers_.charge_ready(peer, line, monotonic_now() - slice_began_);
  if (is_behind_) {
    behind_[line] += goes_on ? little_bytes + 1 : read_bytes_ - before;
  }
}

// Takes note of all that has happened to the sockets.
void Loop::look() {
  for (size_t events = 0; events < events_max && context_.poll_one() > 0; ++events) {
  }
}

Duration Loop::wait_time(Time due) {
  if (!is_idle()) {
    return {};
  }
  // Never long: the clock of `due` may be set while we wait.
  const Duration until_due = due - turn_clock_.now();
  const Duration until_sweep = next_sweep() - monotonic_now();
  return std::min({until_due, until_sweep, wait_max});
}

void Loop::update_time() {
  around_.now = monotonic_now();
  const Time now = clock_.now();
  if (now.us / 1'000'000 != date_second_) {
    date_second_ = now.us / 1'000'000;
    around_.date = http_date(now);
  }
}

void Loop::end(Peer& peer) {
  of(peer).stream.end();
  if (stopping_) {
    peer.connection.fail();  // no linger: a stop is not held up by clients that stay
  }
}

void Loop::write(Peer& peer) {
  Connection& connection = peer.connection;
  while (!connection.output().empty() && connection.phase() != Connection::Phase::dead) {
    const lib::IoResult result = of(peer).stream.write(connection.output());
    switch (result.status) {
      case SocketStream::Status::done:
        connection.wrote(result.bytes);
        break;
      case SocketStream::Status::wants_write:
        wait_to_write(of(peer));
        return;
      case SocketStream::Status::wants_read:
        // TLS must read before it can write. Reading goes on by itself, and marks the peer dirty
        // then.
        return;
      case SocketStream::Status::ended:
      case SocketStream::Status::failed:
        connection.fail();
        return;
    }
  }
}

void Loop::wait_to_write(SocketPeer& peer) {
  if (std::exchange(peer.waits_to_write, true)) {
    return;
  }
  peer.socket.async_wait(tcp::socket::wait_write, [this, id = peer.connection.id()](AsioError) {
    Peer* const found = peers_.find(id);
    if (found == nullptr) {
      return;
    }
    note_begin();
    found->waits_to_write = false;
    peers_.mark_dirty(*found);
    if (of(*found).stream.is_tls()) {
      can_read(*found);  // it may be TLS that had to write before it could read
    }
  });
}

void Loop::wait_to_read(Peer& peer) {
  if (std::exchange(peer.waits_to_read, true)) {
    return;
  }
  of(peer).socket.async_wait(tcp::socket::wait_read, [this, id = peer.connection.id()](AsioError) {
    if (Peer* const found = peers_.find(id)) {
      found->waits_to_read = false;
      can_read(*found);
    }
  });
}

// Of TLS a record may be at hand that no event tells of.
void Loop::read_on(Peer& peer) {
  if (!of(peer).stream.is_tls()) {
    wait_to_read(peer);
    return;
  }
  asio::post(context_, [this, id = peer.connection.id()] {
    if (Peer* const found = peers_.find(id); found != nullptr && !found->waits_to_read) {
      can_read(*found);
    }
  });
}

void Loop::can_read(Peer& peer) {
  note_begin();
  peers_.mark_ready(peer);
}

// An end that came behind bytes which were not read yet is told as well.
bool Loop::has_left(Peer& peer) {
  pollfd wanted{of(peer).socket.native_handle(), POLLRDHUP, 0};
  return ::poll(&wanted, 1, 0) == 1;
}

void Loop::read(SocketPeer& peer) {
  Connection& connection = peer.connection;
  if (!connection.wants_input()) {
    peers_.mark_dirty(peer);
    return;
  }
  // TLS gives at most one record at a time, and tells by no event that it has more: so it is read
  // until it has not.
  const std::string& kept = connection.kept();
  size_t size = kept.size();
  lib::IoResult result{SocketStream::Status::done, 0};
  do {
    result = peer.stream.read(read_buffer_.data() + size, read_buffer_.size() - size);
    size += result.bytes;
  } while (peer.stream.is_tls() && result.status == SocketStream::Status::done &&
           size < read_buffer_.size());
  if (size > kept.size()) {
    read_bytes_ += size - kept.size();
    std::ranges::copy(kept, read_buffer_.begin());
    connection.feed(std::span(read_buffer_).first(size));
    peers_.mark_cut(peer);
  }
  switch (result.status) {
    case SocketStream::Status::done:
    case SocketStream::Status::wants_read:
      break;
    case SocketStream::Status::wants_write:
      wait_to_write(peer);
      break;
    case SocketStream::Status::ended:
      connection.input_ended();
      break;
    case SocketStream::Status::failed:
      connection.fail();
      break;
  }
  if (connection.wants_input()) {
    if (peer.stream.is_tls() && result.status == SocketStream::Status::done) {
      asio::post(context_, [this, id = connection.id()] {
        if (Peer* const found = peers_.find(id)) {
          can_read(*found);
        }
      });
    } else {
      wait_to_read(peer);
    }
  }
  if (!connection.output().empty() || !connection.wants_input() ||
      connection.phase() != Connection::Phase::open) {
    peers_.mark_dirty(peer);
  }
}

// Lets what is buffered leave, then closes all.
void Loop::finish() {
  AsioError ignored;
  acceptor_.close(ignored);
  close_all(CloseCode::going_away, "the server stops");
  const Time until = monotonic_now() + stop_max;
  while (connections() > 0 && around_.now < until) {
    flush();
    reap();
    context_.run_one_for(std::chrono::milliseconds(50));
    while (context_.poll_one() > 0) {
    }
    update_time();
  }
  fail_all();
}

}  // namespace

std::expected<std::unique_ptr<SocketServer>, Error> SocketServer::listen(const Options& options,
                                                                         Handler& handler) {
  try {
    auto loop = std::make_unique<Loop>(options, handler);
    if (auto started = loop->start(options); !started) {
      return std::unexpected(started.error());
    }
    return loop;
  } catch (const boost::system::system_error& thrown) {
    return std::unexpected(
        Error{Code::overloaded, fmt::format("cannot start a server: {}", thrown.what()), {}});
  }
}

}  // namespace parley::net
