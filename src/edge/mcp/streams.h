// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <unordered_map>

#include "edge/mcp/records.h"
#include "edge/mcp/tally.h"

namespace parley::edge::mcp {

// The streams of a Server, by number and by what carries them: all that is kept in step when one
// comes, changes its connection or goes.
class Streams {
 public:
  using ByNumber = std::unordered_map<uint64_t, std::unique_ptr<Stream>>;

  Stream& add(Stream stream);  // with its number and its exchange
  Stream* find(uint64_t number) const;
  Stream* find_on(net::ConnectionId connection) const;  // any of those that it carries
  void attach(Stream& stream, const net::Exchange& exchange);
  void detach(Stream& stream);
  // Takes it out: from now on nothing finds it.
  std::unique_ptr<Stream> take(Stream& stream);

  // How many the principal has that listen, rather than answer calls.
  uint64_t listening(const Principal& principal) const { return listening_.of(principal); }
  size_t size() const { return by_number_.size(); }
  const ByNumber& all() const { return by_number_; }

 private:
  ByNumber by_number_;
  std::map<net::Exchange, uint64_t> by_exchange_;
  Tally listening_;
};

}  // namespace parley::edge::mcp
