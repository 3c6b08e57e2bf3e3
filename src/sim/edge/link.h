// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

namespace parley::edge_sim {

// One connection as the network has it: bytes on their way in both directions, and who has left.
struct Link {
  std::string up;                 // from the client, not read by the broker yet
  std::string down;               // to the client, not read by it yet
  size_t down_max = 64 * 1'024;   // bytes for the client that the network holds
  std::string unheard{};          // all that the network took since the client had a whole answer
  bool client_ended = false;      // the client has ended its side, behind `up`
  bool client_gone = false;       // it is reset: the broker reads nothing more, and sees that
  bool server_ended = false;      // the broker has ended its side, behind `down`
  bool server_gone = false;       // it has closed the connection, or is gone itself
};

}  // namespace parley::edge_sim
