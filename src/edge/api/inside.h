// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <utility>

#include "net/server.h"

namespace parley::edge {

// Requests that are asked from within the process: they have an exchange like the others, on a
// connection that no client has, and hear their answer by a function.
class InsideCalls {
 public:
  using Answered = std::function<void(net::Response)>;

  // The server's connections begin with 1.
  static constexpr net::ConnectionId connection = 0;

  net::Exchange add(Answered answered) {
    waiting_[++last_] = std::move(answered);
    return {connection, last_};
  }
  bool contains(uint64_t number) const { return waiting_.contains(number); }
  // False when it was answered, or forgotten before.
  bool forget(uint64_t number) { return waiting_.erase(number) != 0; }
  void answer(uint64_t number, net::Response response) {
    if (auto asked = waiting_.extract(number)) {
      asked.mapped()(std::move(response));
    }
  }

 private:
  std::map<uint64_t, Answered> waiting_;  // by number of the exchange
  uint64_t last_ = 0;
};

}  // namespace parley::edge
