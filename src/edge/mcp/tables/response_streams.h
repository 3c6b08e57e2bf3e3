// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <unordered_map>

#include "edge/mcp/tables/principal_counts.h"
#include "edge/mcp/tables/records.h"

namespace parley::edge::mcp {

// The open streams of a Server, by their number and by the exchange that carries them.
class ResponseStreams {
 public:
  using ByNumber = std::unordered_map<uint64_t, std::unique_ptr<ResponseStream>>;

  // The stream has its number and its exchange.
  ResponseStream& add(ResponseStream stream);
  ResponseStream* find(uint64_t number) const;
  // Any of the streams that the connection carries.
  ResponseStream* find_on(net::ConnectionId connection) const;
  // The client is on this exchange now; or, detached, on none.
  void attach(ResponseStream& stream, const net::Exchange& exchange);
  void detach(ResponseStream& stream);
  // Takes the stream out of the table: from now on nothing finds it.
  std::unique_ptr<ResponseStream> take(ResponseStream& stream);

  // The number of streams of the principal that listen, rather than answer calls.
  uint64_t listening(const Principal& principal) const { return listening_.of(principal); }
  size_t size() const { return by_number_.size(); }
  const ByNumber& all() const { return by_number_; }

 private:
  ByNumber by_number_;
  std::map<net::Exchange, uint64_t> by_exchange_;
  PrincipalCounts listening_;
};

}  // namespace parley::edge::mcp
