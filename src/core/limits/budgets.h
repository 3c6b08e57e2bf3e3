// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "core/limits/token_bucket.h"
#include "core/model/envelope.h"
#include "core/state/index.h"
#include "core/state/slots.h"

// What stops an agent that has run away. All dialects are bound; people are not.
namespace parley::core {

// What an agent has used of its day. A day is one of UTC.
struct Budget {
  int64_t day = 0;  // since 1970
  uint64_t messages = 0;
  uint64_t tokens = 0;  // as far as it reported them
  uint64_t bytes = 0;   // of all that it had the broker write down

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
  static Time day_ends(Time now) { return Time{(now.us / day_length.us + 1) * day_length.us}; }

  static constexpr Duration day_length = base::hours(24);

  static void fields(auto& self, auto& field) {
    field("day", self.day);
    field("messages", self.messages);
    field("tokens", self.tokens);
    field("bytes", self.bytes);
  }
};

// An exchange in which the same agents have the word, each in its turn: two that answer each other,
// or a ring in which each passes it on to the next. Names are hashes.
struct Exchange {
  static constexpr size_t ring_max = 8;

  uint64_t key = 0;                         // of the conversation or the pair; 0: none
  std::array<uint64_t, ring_max> agents{};  // each spoke to the next
  uint8_t count = 0;
  uint8_t last = 0;      // who spoke last, by its place
  bool is_ring = false;  // the last of them speaks to the first
  uint64_t turns = 0;    // messages that went round; 1: none did
  Time since;

  static Exchange begin(uint64_t key, uint64_t from, uint64_t to, Time now);
  // One more message. Another way than the ring's begins a new exchange; what was said before, or
  // is said out of turn, counts for nothing.
  void add(uint64_t from, uint64_t to, Time now);
  bool has(uint64_t agent) const;
  bool is_good() const;

  static void fields(auto& self, auto& field) {
    field("key", self.key, Form::fixed);
    field("count", self.count);
    for (size_t n = 0; n < self.count && n < ring_max; ++n) {
      field("agent", self.agents[n], Form::fixed);
    }
    field("last", self.last);
    field("is_ring", self.is_ring);
    field("turns", self.turns);
    field("since", self.since);
  }
  bool operator==(const Exchange&) const = default;

 private:
  bool has_step(uint64_t from, uint64_t to) const;
  void drop_first(size_t number);
};

// What one message is part of: by its conversation, by what links conversations, and by the two who
// speak.
using Exchanged = std::array<Exchange, 3>;

// The exchanges of a workspace, in the order in which they go when there are too many: those in
// which nobody answered before the others, the oldest first.
class Exchanges {
 public:
  // Hashes of a conversation and of a name, never 0.
  static uint64_t key_of(std::string_view conversation);
  static uint64_t name_of(std::string_view agent);
  // The same of two agents, whoever of them is named first.
  static uint64_t key_of_pair(uint64_t one, uint64_t other);

  // What the exchange would be with a message from one to the other. It begins anew when `window`
  // is over, or when a person spoke at `interrupted`.
  Exchange with(uint64_t key, uint64_t from, uint64_t to, Time now, Duration window,
                Time interrupted = {}) const;
  void put(const Exchange& exchange, Time now, Duration window, uint64_t size_max);

  // A person spoke in the conversation; or an admin lets this agent begin anew.
  void end(uint64_t key);
  void end_all_of(uint64_t name);

  size_t size() const { return exchanges_.size(); }
  std::vector<Exchange> in_line() const;

 private:
  struct Link {
    Exchange exchange;
    uint32_t before = none;
    uint32_t after = none;
  };

  uint32_t find(uint64_t key) const;
  void append(uint32_t slot);
  void unlink(uint32_t slot);
  void drop(uint32_t slot);
  void make_room(Time now, Duration window, uint64_t size_max);

  Slots<Link> exchanges_;
  Index by_key_;
  uint32_t first_ = none;
  uint32_t last_ = none;
};

}  // namespace parley::core
