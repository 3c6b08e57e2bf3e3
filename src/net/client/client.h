// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/time.h"
#include "net/address.h"

namespace parley::net {

using Headers = std::vector<std::pair<std::string, std::string>>;

struct ClientResponse {
  int status = 0;
  Headers headers;  // names in lower case
  std::string body;

  // The first value of a header by its lower-case name; empty when it is not there.
  std::string_view header(std::string_view name) const;
  // What Retry-After says in seconds, at most an hour; none when it says nothing of the kind.
  std::optional<base::Duration> retry_after() const;
};

// A broker to talk to. `https` and `wss` verify the certificate against `trusted_file` (PEM), or
// against what the system trusts when it is empty.
struct Place {
  std::string url;    // http://127.0.0.1:7455; what is behind the port goes before each path
  std::string token;  // sent as a bearer token unless it is empty
  std::string trusted_file;
  int stop = -1;    // as soon as this can be read, a request ends as if its time were over
  Admits admits{};  // which addresses may be connected to; empty: all
  size_t answer_bytes_max = size_t{256} << 20;
  bool is_broker = true;  // else what is said of failures says nothing of one
};

// HTTP/1.1 for the command line: one request at a time, and the caller waits. Keeps its connection
// and makes a new one when the broker has closed it. Not thread-safe.
class Client {
 public:
  Client(std::string url, std::string token);
  explicit Client(Place place);
  Client(Client&&) noexcept;
  Client& operator=(Client&&) noexcept;
  ~Client();

  // Any answer is a response, also 4xx and 5xx. An error means that there was none, and says what
  // to do: nobody listens, no such host, no answer in time, a certificate that is not trusted.
  // Sends a second time by itself only GET and HEAD, and only when a kept connection turned out
  // closed.
  std::expected<ClientResponse, base::Error> request(std::string_view method, std::string_view path,
                                                     std::string_view body = {},
                                                     const Headers& headers = {},
                                                     base::Duration timeout = base::seconds(30));

 private:
  class State;
  std::unique_ptr<State> state_;
};

// A WebSocket that the caller waits for. Fast enough to load a broker: messages gather until they
// are flushed, and what comes in is not copied. Answers pings by itself, in `flush` and
// `receive`. Not thread-safe.
class WebSocketClient {
 public:
  static std::expected<WebSocketClient, base::Error> connect(
      const Place& place, std::string_view path, base::Duration timeout = base::seconds(10));
  WebSocketClient(WebSocketClient&&) noexcept;
  WebSocketClient& operator=(WebSocketClient&&) noexcept;
  ~WebSocketClient();

  // Adds a text message to those that the next `flush` or `receive` sends.
  void send(std::string_view text);
  // Sends what was added. Reads meanwhile, so that two that send much do not wait for each other.
  std::expected<void, base::Error> flush(base::Duration timeout);
  // Sends what was added, then gives the next message; nothing when none came in time. The view is
  // good until the next call. An error when the peer closed: the detail has the code and the
  // reason.
  std::expected<std::optional<std::string_view>, base::Error> receive(base::Duration timeout);
  // Closes with a code and waits for the peer to do the same; an error when it does not in time.
  std::expected<void, base::Error> close(uint16_t code, std::string_view reason,
                                         base::Duration timeout);

 private:
  class State;
  explicit WebSocketClient(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace parley::net
