// SPDX-License-Identifier: Apache-2.0
#include "net/client/fetch.h"

#include <fmt/format.h>
#include <sys/socket.h>

#include <array>
#include <iterator>
#include <limits>
#include <optional>
#include <utility>

#include "net/client/dial.h"
#include "net/http.h"

namespace parley::net {

namespace {

// The body has no limit here: a stream goes on for as long as it is wanted. The caller takes the
// body out part by part, and limits what it keeps.
constexpr ResponseParser::Limits limits{.header_bytes_max = 64 * 1024,
                                        .body_bytes_max = std::numeric_limits<size_t>::max()};
// So much is read before the caller gets to look at it.
constexpr size_t turn_bytes_max = size_t{1} << 20;

bool is_interim(const ResponseParser& parser) {
  return parser.state() == RequestParser::State::complete && parser.status() / 100 == 1;
}

}  // namespace

struct Fetch::Exchange {
  Exchange(Url to, Dialed by, std::string what)
      : url(std::move(to)), dialed(std::move(by)), unsent(std::move(what)) {
    parser.emplace(limits, false);
  }

  void fail(Error why) {
    error = std::move(why);
    state = State::failed;
  }
  void write();
  void read();
  void feed(std::string_view bytes);

  Url url;
  Dialed dialed;
  std::string unsent;
  size_t sent = 0;
  std::optional<ResponseParser> parser;
  std::string kept;  // of a header that is not whole
  State state = State::open;
  bool has_more = false;
  Error error;
};

void Fetch::Exchange::write() {
  while (sent < unsent.size()) {
    size_t count = 0;
    switch (dialed.try_write(std::string_view(unsent).substr(sent), count)) {
      case Dialed::Outcome::done:
        sent += count;
        break;
      case Dialed::Outcome::nothing:
        return;
      case Dialed::Outcome::ended:
        sent = unsent.size();  // an answer that came before, such as 413, is still read
        break;
    }
  }
  unsent.clear();
  sent = 0;
}

void Fetch::Exchange::feed(std::string_view bytes) {
  kept += bytes;
  size_t taken = parser->feed(kept);
  while (is_interim(*parser)) {
    parser.emplace(limits, false);
    taken += parser->feed(std::string_view(kept).substr(taken));
  }
  kept.erase(0, taken);
}

void Fetch::Exchange::read() {
  std::array<char, 64 * 1024> buffer;
  has_more = false;
  for (size_t got = 0; got < turn_bytes_max;) {
    size_t count = 0;
    const Dialed::Outcome outcome = dialed.try_read(buffer.data(), buffer.size(), count);
    if (outcome == Dialed::Outcome::nothing) {
      return;
    }
    if (outcome == Dialed::Outcome::ended) {
      parser->feed_end();
    } else {
      got += count;
      feed({buffer.data(), count});
    }
    if (parser->state() == RequestParser::State::complete) {
      state = State::done;
      return;
    }
    if (parser->state() == RequestParser::State::failed || outcome == Dialed::Outcome::ended) {
      return fail(parser->error().code == Code::unavailable || outcome == Dialed::Outcome::ended
                      ? connection_lost(url)
                      : Error{Code::unavailable,
                              fmt::format("{} does not answer as HTTP: {}", url.text,
                                          parser->error().detail),
                              {}});
      return;
    }
  }
  has_more = true;
}

std::expected<Fetch, Error> Fetch::start(const Place& place, std::string_view method,
                                         std::string_view path, std::string_view body,
                                         const Headers& headers, Duration timeout) {
  auto url = Url::parse(place.url);
  if (!url) {
    return std::unexpected(url.error());
  }
  std::string bytes = fmt::format("{} {}{} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n", method,
                                  url->prefix, path, url->authority());
  if (!place.token.empty()) {
    fmt::format_to(std::back_inserter(bytes), "Authorization: Bearer {}\r\n", place.token);
  }
  for (const auto& [name, value] : headers) {
    fmt::format_to(std::back_inserter(bytes), "{}: {}\r\n", name, value);
  }
  if (!body.empty() || method == "POST") {
    fmt::format_to(std::back_inserter(bytes), "Content-Length: {}\r\n", body.size());
  }
  bytes.append("\r\n").append(body);
  auto dialed = Dialed::connect(*url, place.trusted_file, Deadline(timeout));
  if (!dialed) {
    return std::unexpected(dialed.error());
  }
  // A peer whose machine is gone sends nothing, and a stream would wait for ever. The system asks
  // such a peer now and then, and ends the connection.
  const int on = 1;
  ::setsockopt(dialed->fd(), SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  Fetch fetch(std::make_unique<Exchange>(std::move(*url), std::move(*dialed), std::move(bytes)));
  fetch.exchange_->write();
  return fetch;
}

Fetch::Fetch(std::unique_ptr<Exchange> exchange) : exchange_(std::move(exchange)) {}
Fetch::Fetch(Fetch&&) noexcept = default;
Fetch& Fetch::operator=(Fetch&&) noexcept = default;
Fetch::~Fetch() = default;

int Fetch::fd() const { return exchange_->dialed.fd(); }
bool Fetch::wants_write() const { return !exchange_->unsent.empty(); }

Fetch::State Fetch::advance() {
  if (exchange_->state == State::open) {
    exchange_->write();
    exchange_->read();
  }
  return exchange_->state;
}

bool Fetch::has_more() const { return exchange_->has_more; }

bool Fetch::has_header() const {
  return exchange_->parser->has_header() && !is_interim(*exchange_->parser);
}
int Fetch::status() const { return exchange_->parser->status(); }
std::string_view Fetch::header(std::string_view name) const {
  return exchange_->parser->header(name);
}
std::string Fetch::take_body() { return std::exchange(exchange_->parser->body(), {}); }
const Error& Fetch::error() const { return exchange_->error; }

}  // namespace parley::net
