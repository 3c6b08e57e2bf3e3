// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "core/envelope.h"
#include "core/index.h"
#include "core/pace.h"
#include "core/slots.h"

// What stops an agent that has run away. All dialects are bound; people are not.
namespace parley::core {

// What an agent has used of its day. A day is one of UTC.
struct Budget {
  int64_t day = 0;  // since 1970
  uint64_t messages = 0;
  uint64_t tokens = 0;  // as far as it reported them

  // Begins anew when the day is over.
  void turn(Time now) {
    if (const int64_t today = now.us / day_length.us; today != day) {
      *this = Budget{.day = today};
    }
  }
  // What it holds on that day.
  Budget on(Time now) const {
    Budget budget = *this;
    budget.turn(now);
    return budget;
  }
  static Time day_ends(Time now) {
    return Time{(now.us / day_length.us + 1) * day_length.us};
  }

  static constexpr Duration day_length = base::hours(24);
};

// An exchange in one conversation in which only two agents have the word, in turns.
struct Rally {
  uint64_t key = 0;   // of the conversation; 0: none
  uint64_t from = 0;  // who spoke last, to whom: hashes of names
  uint64_t to = 0;
  uint64_t turns = 0;  // messages in a row that answered the one before, and the first of them
  Time since;          // that first one
};

// The rallies of a workspace, in the order in which they go when there are too many: those in which
// nobody answered before the others, the oldest first.
class Rallies {
 public:
  // Hashes of a conversation and of a name, never 0.
  static uint64_t key_of(std::string_view conversation);
  static uint64_t name_of(std::string_view agent);

  // What the rally would be with a message from one to the other: a new one, if another spoke last
  // or `window` is over.
  Rally with(uint64_t key, uint64_t from, uint64_t to, Time now, Duration window) const;
  void put(const Rally& rally, Time now, Duration window, uint64_t size_max);

  // A person spoke in the conversation; or an admin lets this agent begin anew.
  void end(uint64_t key);
  void end_all_of(uint64_t name);

  size_t size() const { return rallies_.size(); }
  std::vector<Rally> in_line() const;

 private:
  struct Link {
    Rally rally;
    uint32_t before = none;
    uint32_t after = none;
  };

  uint32_t find(uint64_t key) const;
  void append(uint32_t slot);
  void unlink(uint32_t slot);
  void drop(uint32_t slot);
  void make_room(Time now, Duration window, uint64_t size_max);

  Slots<Link> rallies_;
  Index by_key_;
  uint32_t first_ = none;
  uint32_t last_ = none;
};

}  // namespace parley::core
