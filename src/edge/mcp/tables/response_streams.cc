// SPDX-License-Identifier: Apache-2.0
#include "edge/mcp/tables/response_streams.h"

#include <utility>

namespace parley::edge::mcp {

ResponseStream& ResponseStreams::add(ResponseStream stream) {
  auto made = std::make_unique<ResponseStream>(std::move(stream));
  ResponseStream& added = *made;
  by_number_.emplace(added.number, std::move(made));
  by_exchange_[*added.exchange] = added.number;
  if (added.kind != ResponseStream::Kind::post) {
    listening_.add(added.principal);
  }
  return added;
}

ResponseStream* ResponseStreams::find(uint64_t number) const {
  const auto at = by_number_.find(number);
  return at == by_number_.end() ? nullptr : at->second.get();
}

ResponseStream* ResponseStreams::find_on(net::ConnectionId connection) const {
  // Exchanges are ordered by connection, and their numbers begin with 1.
  const auto at = by_exchange_.lower_bound(net::Exchange{connection, 0});
  return at == by_exchange_.end() || at->first.connection != connection ? nullptr
                                                                        : find(at->second);
}

void ResponseStreams::attach(ResponseStream& stream, const net::Exchange& exchange) {
  detach(stream);
  stream.exchange = exchange;
  by_exchange_[exchange] = stream.number;
}

void ResponseStreams::detach(ResponseStream& stream) {
  if (stream.exchange) {
    by_exchange_.erase(*stream.exchange);
    stream.exchange.reset();
  }
}

std::unique_ptr<ResponseStream> ResponseStreams::take(ResponseStream& stream) {
  if (stream.exchange) {
    by_exchange_.erase(*stream.exchange);
  }
  if (stream.kind != ResponseStream::Kind::post) {
    listening_.remove(stream.principal);
  }
  return std::move(by_number_.extract(stream.number).mapped());
}

}  // namespace parley::edge::mcp
