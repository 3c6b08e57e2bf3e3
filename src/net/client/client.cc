// SPDX-License-Identifier: Apache-2.0
#include "net/client/client.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <iterator>
#include <utility>

#include "net/client/dial.h"
#include "net/http.h"

namespace parley::net {

namespace {

using base::Code;

constexpr size_t header_bytes_max = 64 * 1024;

}  // namespace

std::string_view ClientResponse::header(std::string_view name) const {
  for (const auto& [each, value] : headers) {
    if (each == name) {
      return value;
    }
  }
  return {};
}

std::optional<Duration> ClientResponse::retry_after() const {
  constexpr int64_t longest = 3'600;
  const std::string_view text = header("retry-after");
  int64_t seconds = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  const bool good = error == std::errc{} && end == text.data() + text.size() && seconds >= 0;
  return good ? std::optional(base::seconds(std::min(seconds, longest))) : std::nullopt;
}

class Client::State {
 public:
  explicit State(Place place) : place_(std::move(place)), url_(Url::parse(place_.url)) {
    if (url_) {
      url_->is_broker = place_.is_broker;
    }
  }

  std::expected<ClientResponse, Error> request(std::string_view method, std::string_view path,
                                               std::string_view body, const Headers& headers,
                                               Duration timeout);

 private:
  // How an exchange failed, and whether the broker may have seen the request.
  struct Failure {
    Error error;
    bool is_silent = false;  // no byte came back
  };

  std::string head(std::string_view method, std::string_view path, size_t body_size,
                   const Headers& headers) const;
  std::expected<ClientResponse, Failure> exchange(std::string_view bytes, bool to_head,
                                                  const Deadline& deadline);
  std::expected<ClientResponse, Failure> read_response(bool to_head, const Deadline& deadline);
  // Writes, and stops early when an answer comes before all is written, such as 413.
  std::expected<void, Failure> write(std::string_view bytes, const Deadline& deadline);

  Place place_;
  std::expected<Url, Error> url_;
  std::optional<Dialed> dialed_;
};

std::string Client::State::head(std::string_view method, std::string_view path, size_t body_size,
                                const Headers& headers) const {
  std::string out = fmt::format("{} {}{} HTTP/1.1\r\nHost: {}\r\n", method, url_->prefix, path,
                                url_->authority());
  if (!place_.token.empty()) {
    fmt::format_to(std::back_inserter(out), "Authorization: Bearer {}\r\n", place_.token);
  }
  bool has_type = false;
  for (const auto& [name, value] : headers) {
    has_type = has_type || equal_ignoring_case(name, "content-type");
    fmt::format_to(std::back_inserter(out), "{}: {}\r\n", name, value);
  }
  if (body_size > 0 && !has_type) {
    out += "Content-Type: application/json\r\n";
  }
  if (body_size > 0 || method == "POST" || method == "PUT" || method == "PATCH") {
    fmt::format_to(std::back_inserter(out), "Content-Length: {}\r\n", body_size);
  }
  out += "\r\n";
  return out;
}

std::expected<ClientResponse, Error> Client::State::request(std::string_view method,
                                                            std::string_view path,
                                                            std::string_view body,
                                                            const Headers& headers,
                                                            Duration timeout) {
  if (!url_) {
    return std::unexpected(url_.error());
  }
  std::string bytes = head(method, path, body.size(), headers);
  if (bytes.find('\0') != std::string::npos ||
      path.find_first_of(" \r\n") != std::string_view::npos) {
    return std::unexpected(
        Error{Code::bad_request, "a path has no spaces or line breaks; percent-encode them", {}});
  }
  bytes += body;
  const Deadline deadline(timeout, place_.stop);
  const bool may_repeat = method == "GET" || method == "HEAD";
  while (true) {
    if (dialed_ && dialed_->is_stale()) {
      dialed_.reset();
    }
    const bool is_kept = dialed_.has_value();
    if (!dialed_) {
      auto made = Dialed::connect(*url_, place_.trusted_file, deadline, place_.admits);
      if (!made) {
        return std::unexpected(made.error());
      }
      dialed_ = std::move(*made);
    }
    auto response = exchange(bytes, method == "HEAD", deadline);
    if (response) {
      return std::move(*response);
    }
    dialed_.reset();
    // The broker may close a kept connection just when a request leaves. Then nobody saw the
    // request, if no byte came back; but only what changes nothing is sent again on that guess.
    if (!is_kept || !may_repeat || !response.error().is_silent ||
        response.error().error.code == Code::timeout) {
      return std::unexpected(response.error().error);
    }
  }
}

std::expected<ClientResponse, Client::State::Failure> Client::State::exchange(
    std::string_view bytes, bool to_head, const Deadline& deadline) {
  auto written = write(bytes, deadline);
  auto response = read_response(to_head, deadline);
  if (!response && !written) {
    return std::unexpected(written.error());
  }
  if (response && !written) {
    dialed_.reset();  // a part of the request never left
  }
  return response;
}

std::expected<void, Client::State::Failure> Client::State::write(std::string_view bytes,
                                                                 const Deadline& deadline) {
  while (!bytes.empty()) {
    size_t count = 0;
    switch (dialed_->try_write(bytes, count)) {
      case Dialed::Outcome::done:
        bytes.remove_prefix(count);
        break;
      case Dialed::Outcome::nothing:
        if (!dialed_->wait(true, deadline)) {
          return std::unexpected(Failure{no_answer_in_time(*url_), true});
        }
        // Bytes come in before the request has left: an early answer, such as 413, or the end. Over
        // TLS they may be something else.
        if (!url_->is_tls && dialed_->is_stale()) {
          return std::unexpected(Failure{connection_lost(*url_), false});
        }
        break;
      case Dialed::Outcome::ended:
        return std::unexpected(Failure{connection_lost(*url_), true});
    }
  }
  return {};
}

std::expected<ClientResponse, Client::State::Failure> Client::State::read_response(
    bool to_head, const Deadline& deadline) {
  std::array<char, 64 * 1024> buffer;
  size_t kept = 0;
  bool is_silent = true;
  const ResponseParser::Limits limits{.header_bytes_max = header_bytes_max,
                                      .body_bytes_max = place_.answer_bytes_max};
  std::optional<ResponseParser> parser(std::in_place, limits, to_head);
  while (parser->state() == RequestParser::State::need_more) {
    size_t count = 0;
    switch (dialed_->try_read(buffer.data() + kept, buffer.size() - kept, count)) {
      case Dialed::Outcome::done: {
        is_silent = false;
        std::string_view bytes(buffer.data(), kept + count);
        bytes.remove_prefix(parser->feed(bytes));
        while (parser->state() == RequestParser::State::complete && parser->status() / 100 == 1) {
          parser.emplace(limits, to_head);  // interim, such as 100 Continue
          bytes.remove_prefix(parser->feed(bytes));
        }
        kept = bytes.size();
        std::copy(bytes.begin(), bytes.end(), buffer.begin());
        if (kept == buffer.size()) {
          return std::unexpected(Failure{{Code::unavailable, "the answer is not HTTP", {}}, false});
        }
        break;
      }
      case Dialed::Outcome::nothing:
        if (!dialed_->wait(false, deadline)) {
          return std::unexpected(Failure{no_answer_in_time(*url_), is_silent});
        }
        break;
      case Dialed::Outcome::ended:
        if (is_silent) {
          return std::unexpected(Failure{connection_lost(*url_), true});
        }
        parser->feed_end();
        break;
    }
  }
  if (parser->state() == RequestParser::State::failed) {
    const Error& error = parser->error();
    return std::unexpected(
        Failure{{Code::unavailable,
                 fmt::format("{} does not answer as HTTP: {}", url_->text, error.detail),
                 {}},
                false});
  }
  ClientResponse response{parser->status(), std::move(parser->headers()),
                          std::move(parser->body())};
  if (!parser->keep_alive()) {
    dialed_.reset();
  }
  return response;
}

Client::Client(std::string url, std::string token)
    : Client(Place{.url = std::move(url), .token = std::move(token), .trusted_file = {}}) {}
Client::Client(Place place) : state_(std::make_unique<State>(std::move(place))) {}
Client::Client(Client&&) noexcept = default;
Client& Client::operator=(Client&&) noexcept = default;
Client::~Client() = default;

std::expected<ClientResponse, Error> Client::request(std::string_view method, std::string_view path,
                                                     std::string_view body, const Headers& headers,
                                                     Duration timeout) {
  return state_->request(method, path, body, headers, timeout);
}

}  // namespace parley::net
