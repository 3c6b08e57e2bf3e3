// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <expected>

#include "lib/sqlite.h"
#include "view/facts.h"

namespace parley::view {

// Which places of the history hold messages, and where among them a time is. Time never goes back
// as places go up, so a range of time is a range of places: no index by time is needed, which every
// insert would have to pay for. Asks the database anew each time. Belongs to one thread at a time.
class Timeline {
 public:
  // Good for nothing until one that was opened is moved into it.
  Timeline() = default;

  // Of the table of messages in this database, which outlives it.
  static lib::DatabaseResult<Timeline> open(lib::Database& database);

  // The places of the oldest and the newest message; both 0 when there is none.
  struct Ends {
    Seq first;
    Seq last;
  };
  std::expected<Ends, Error> ends();

  // The place of the first message of this time or later, or a place between it and the one before;
  // the place after the last when there is none.
  std::expected<Seq, Error> first_at(Time time);

 private:
  lib::Statement ends_;
  lib::Statement next_;
};

}  // namespace parley::view
