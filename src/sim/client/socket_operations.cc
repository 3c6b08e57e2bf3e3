// SPDX-License-Identifier: Apache-2.0
#include "sim/client/socket_operations.h"

#include "sim/client/messages.h"

namespace parley::edge_sim {

uint64_t SocketOperations::begin(const Done& done) {
  ++last_;
  if (done) {
    waiting_[last_] = done;
  }
  return last_;
}

void SocketOperations::hear(lib::Json reply) {
  auto found = waiting_.extract(number_of(reply, "ref"));
  if (!found.empty()) {
    found.mapped()(reply);
  }
}

}  // namespace parley::edge_sim
