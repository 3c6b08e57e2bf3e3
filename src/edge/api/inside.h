// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "net/server.h"

namespace parley::edge {

// What a request over HTTP asks, asked from within the process for a principal that was
// authenticated.
struct InsideRequest {
  std::string_view method = "GET";
  std::string path{};   // percent-encoded
  std::string query{};  // without the `?`
  std::string body{};
  std::string_view dialect{};  // of the body and of the answer; empty: the principal's own
  std::string if_match{};
  std::string traceparent{};
  std::string tracestate{};

  // The headers that say the same over HTTP, by their names in lower case; empty: it has none.
  std::string_view header(std::string_view name) const {
    return name == "parley-dialect" ? dialect
           : name == "if-match"     ? std::string_view(if_match)
           : name == "traceparent"  ? std::string_view(traceparent)
           : name == "tracestate"   ? std::string_view(tracestate)
                                    : std::string_view{};
  }
};

// The answer to it. The response to what was refused has the error too, with what else is said of
// this one refusal: the version that a session has now.
struct InsideAnswer {
  net::Response response{};
  std::optional<base::Error> error{};
};

// Requests that are asked from within the process: they have an exchange like the others, on a
// connection that no client has, and hear their answer by a function.
class InsideCalls {
 public:
  using Answered = std::function<void(const InsideAnswer&)>;

  // The server's connections begin with 1.
  static constexpr net::ConnectionId connection = 0;

  net::Exchange add(Answered answered) {
    waiting_[++last_] = std::move(answered);
    return {connection, last_};
  }
  bool contains(uint64_t number) const { return waiting_.contains(number); }
  // False when it was answered, or forgotten before.
  bool forget(uint64_t number) { return waiting_.erase(number) != 0; }
  void answer(uint64_t number, const InsideAnswer& answer) {
    if (auto asked = waiting_.extract(number)) {
      asked.mapped()(answer);
    }
  }

 private:
  std::map<uint64_t, Answered> waiting_;  // by number of the exchange
  uint64_t last_ = 0;
};

}  // namespace parley::edge
