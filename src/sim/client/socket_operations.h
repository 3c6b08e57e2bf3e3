// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>

#include "lib/json.h"

namespace parley::edge_sim {

// What an agent asked for on its socket and has no reply to. Every operation has a number of its
// own, by which its reply is known, whatever the order of replies; each reply is heard once. A
// number is never used again, also not on the next socket.
class SocketOperations {
 public:
  using Done = std::function<void(lib::Json)>;

  // Returns the number of a new operation. Without `done`, nobody waits for its reply.
  uint64_t begin(const Done& done);
  // Calls what waits for this reply, if anything does.
  void hear(lib::Json reply);
  // The socket is gone, and with it the replies.
  void forget() { waiting_.clear(); }
  bool empty() const { return waiting_.empty(); }

 private:
  std::map<uint64_t, Done> waiting_;  // By number.
  uint64_t last_ = 0;
};

}  // namespace parley::edge_sim
