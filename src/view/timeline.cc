// SPDX-License-Identifier: Apache-2.0
#include "view/timeline.h"

#include <utility>

namespace parley::view {

lib::DatabaseResult<Timeline> Timeline::open(lib::Database& database) {
  // Two questions in one: SQLite finds a smallest or a largest key by going to that end of the
  // table, but when both are asked of one SELECT it walks through all of it.
  auto ends =
      database.prepare("SELECT (SELECT min(seq) FROM messages), (SELECT max(seq) FROM messages)");
  if (!ends) {
    return std::unexpected(ends.error());
  }
  auto next = database.prepare("SELECT seq, time FROM messages WHERE seq>=? ORDER BY seq LIMIT 1");
  if (!next) {
    return std::unexpected(next.error());
  }
  Timeline timeline;
  timeline.ends_ = std::move(*ends);
  timeline.next_ = std::move(*next);
  return timeline;
}

std::expected<Timeline::Ends, Error> Timeline::ends() {
  const auto row = ends_.step();
  if (!row) {
    return std::unexpected(row.error().as_error());
  }
  const Ends ends{Seq{static_cast<uint64_t>(ends_.integer(0))},
                  Seq{static_cast<uint64_t>(ends_.integer(1))}};
  ends_.reset();
  return ends;
}

// By halving. There are places without a message, so each step asks for the first one from the
// middle on; when that one is too early, all places before it are, too.
std::expected<Seq, Error> Timeline::first_at(Time time) {
  const auto found_ends = ends();
  if (!found_ends) {
    return std::unexpected(found_ends.error());
  }
  auto low = static_cast<int64_t>(found_ends->first.n);
  auto high = static_cast<int64_t>(found_ends->last.n) + 1;
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    next_.bind(1, middle);
    const auto row = next_.step();
    if (!row) {
      return std::unexpected(row.error().as_error());
    }
    const bool is_before = *row && next_.integer(1) < time.us;
    const int64_t found = *row ? next_.integer(0) : high;
    next_.reset();
    if (is_before) {
      low = found + 1;
    } else {
      high = middle;
    }
  }
  return Seq{static_cast<uint64_t>(low)};
}

}  // namespace parley::view
