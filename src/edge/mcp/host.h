// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "edge/principal.h"
#include "net/server.h"

namespace parley::edge::mcp {

// What a Server needs of its surroundings: the API of a broker, or a test.
class Host {
 public:
  virtual ~Host() = default;

  // As in net::Server.
  virtual void respond(const net::Exchange& exchange, net::Response response) = 0;
  virtual void start_stream(const net::Exchange& exchange, const net::Response& head) = 0;
  virtual void send(net::ConnectionId connection, std::string_view bytes,
                    std::vector<net::Report> reports = {}) = 0;
  virtual bool has_room(net::ConnectionId connection) const = 0;
  virtual void close(net::ConnectionId connection) = 0;

  // Does it in a later turn, with others that wait for theirs: the principals take turns.
  virtual void later(const Principal& principal, std::function<void()> act) = 0;
  // Whether the principal's token is still good.
  virtual bool is_current(const Principal& principal) const = 0;
  // The principal waits for an answer, which counts as a sign of life.
  virtual void note_call(const Principal& principal) = 0;
  // For the metrics: how a call of a tool has ended.
  enum class Outcome : uint8_t { done, failed, refused, cancelled };
  virtual void called(std::string_view tool, Outcome outcome) = 0;
};

}  // namespace parley::edge::mcp
