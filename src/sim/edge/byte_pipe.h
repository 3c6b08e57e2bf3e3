// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

namespace parley::edge_sim {

// One connection as the network has it: bytes on their way in both directions, and who has left.
struct BytePipe {
  std::string up;                // From the client, not read by the broker yet.
  std::string down;              // To the client, not read by it yet.
  size_t down_max = 64 * 1'024;  // Bytes for the client that the network holds.
  std::string unheard{};         // All that the network took since the client had a whole answer.
  std::string* notebook = nullptr;  // Every byte that its client reads, where one is kept.
  bool client_ended = false;        // The client has ended its side, behind `up`.
  bool client_gone = false;         // It is reset: the broker reads nothing more, and sees that.
  bool server_ended = false;        // The broker has ended its side, behind `down`.
  bool server_gone = false;         // It has closed the connection, or is gone itself.
};

}  // namespace parley::edge_sim
