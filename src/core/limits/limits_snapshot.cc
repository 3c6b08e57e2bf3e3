// SPDX-License-Identifier: Apache-2.0
#include "core/limits/limits_snapshot.h"

#include <limits>

#include "core/machine/tables.h"

namespace parley::core {

void encode_limits(const Tables& t, Writer& out) {
  const auto taken = t.buckets.taken(t.now);
  out.varint(taken.size());
  for (const auto& [key, bucket] : taken) {
    out.fixed64(key);
    put(bucket, out);
  }
  const std::vector<Exchange> exchanges = t.exchanges.in_line();
  out.varint(exchanges.size());
  for (const Exchange& exchange : exchanges) {
    put(exchange, out);
  }
  put(t.rebooking, out);
  out.varint(t.pressed.all().size());
  for (const auto& [until, name] : t.pressed.all()) {
    out.time(until);
    out.text(name);
  }
}

void decode_limits(Tables& t, Reader& in) {
  for (size_t left = in.count(9); left > 0; --left) {
    const uint64_t key = in.fixed64();
    get(t.buckets.at(key, t.now), in);
  }
  get_rows<Exchange>(in, [&](const Exchange& exchange) {
    if (!exchange.is_good()) {
      return false;
    }
    // None of them makes room for another.
    t.exchanges.put(exchange, exchange.since, Duration{std::numeric_limits<int64_t>::max()},
                    std::numeric_limits<uint64_t>::max());
    return true;
  });
  get(t.rebooking, in);
  for (size_t left = in.count(2); left > 0; --left) {
    const Time until = in.time();
    t.pressed.add(until, in.text());
  }
}

}  // namespace parley::core
