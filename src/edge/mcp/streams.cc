// SPDX-License-Identifier: Apache-2.0
#include "edge/mcp/streams.h"

#include <utility>

namespace parley::edge::mcp {

Stream& Streams::add(Stream stream) {
  auto made = std::make_unique<Stream>(std::move(stream));
  Stream& added = *made;
  by_number_.emplace(added.number, std::move(made));
  by_exchange_[*added.exchange] = added.number;
  if (added.kind != Stream::Kind::post) {
    listening_.add(added.principal);
  }
  return added;
}

Stream* Streams::find(uint64_t number) const {
  const auto at = by_number_.find(number);
  return at == by_number_.end() ? nullptr : at->second.get();
}

Stream* Streams::find_on(net::ConnectionId connection) const {
  const auto at = by_exchange_.lower_bound(net::Exchange{connection, 0});
  return at == by_exchange_.end() || at->first.connection != connection ? nullptr
                                                                        : find(at->second);
}

void Streams::attach(Stream& stream, const net::Exchange& exchange) {
  detach(stream);
  stream.exchange = exchange;
  by_exchange_[exchange] = stream.number;
}

void Streams::detach(Stream& stream) {
  if (stream.exchange) {
    by_exchange_.erase(*stream.exchange);
    stream.exchange.reset();
  }
}

std::unique_ptr<Stream> Streams::take(Stream& stream) {
  if (stream.exchange) {
    by_exchange_.erase(*stream.exchange);
  }
  if (stream.kind != Stream::Kind::post) {
    listening_.remove(stream.principal);
  }
  return std::move(by_number_.extract(stream.number).mapped());
}

}  // namespace parley::edge::mcp
