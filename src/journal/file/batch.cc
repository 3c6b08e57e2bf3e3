// SPDX-License-Identifier: Apache-2.0
#include "journal/file/batch.h"

#include "base/check.h"
#include "journal/file/format.h"

namespace parley::journal {

Seq Batch::read(Seq from, const size_t& left,
                const std::function<void(const Record&)>& visit) const {
  // A pending batch may come to count meanwhile, and take the place of this one: then the bytes
  // stay where they are, but the seed is another.
  const uint32_t seed_of_batch = seed;
  for (std::string_view rest = records(); !rest.empty() && left > 0;) {
    const auto head = decode_head(rest, seed_of_batch);
    CHECK(head.has_value());
    if (head->place.seq == from) {
      visit({from, head->place.time, rest.substr(record_header_bytes, head->payload_bytes)});
      from = from.next();
    }
    rest.remove_prefix(static_cast<size_t>(head->bytes()));
  }
  return from;
}

}  // namespace parley::journal
