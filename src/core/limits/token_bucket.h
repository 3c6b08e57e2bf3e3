// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <string_view>
#include <utility>
#include <vector>

#include "core/model/envelope.h"
#include "core/state/index.h"
#include "core/state/slots.h"

namespace parley::core {

// What a delivery waits for. It passes the limits in this order, with its turn before its channel,
// and books at each when it gets there: what one sender has waiting takes nothing from the others.
// What its receiver could not take waits for the next try. Written into snapshots: never renumber.
enum class Gate : uint8_t {
  open = 0,      // before none
  sender = 1,    // what its sender may send, in all and to this receiver
  channel = 2,   // what a topic, or the channel to everyone, may carry
  receiver = 3,  // what its receiver may get
  presence = 4,  // its receiver was away, and it must not wait until that one is back
  room = 5,      // its receiver's inbox was full
  removed = 6,   // its receiver was removed: a tick makes a dead letter of it
  turn = 7,      // its sender's publication before it has still to pass the channel's limit
};
constexpr Gate gate_last = Gate::turn;
// Whether it is not in the inbox meanwhile, and takes no room there.
constexpr bool is_outside(Gate gate) { return gate >= Gate::presence && gate <= Gate::removed; }
// Whether a publication has not passed the limit of its channel there.
constexpr bool is_before_channel(Gate gate) {
  return gate == Gate::sender || gate == Gate::turn || gate == Gate::channel;
}
// Whether it is tried again.
constexpr bool is_tried(Gate gate) { return gate == Gate::presence || gate == Gate::room; }
// Whether a rate limit holds it up.
constexpr bool is_limit(Gate gate) { return gate != Gate::open && !is_outside(gate); }

// A token bucket that holds a minute's worth, as one number: the moment at which it will be full.
// It gives what it does not have yet, too: whoever takes that waits until it is there. So it is
// also the line of those who wait, first come first served.
class Bucket {
 public:
  // Takes tokens that come in within `cost`; from when on they are there: `now`, or later.
  Time take(Time now, Duration cost) {
    full_ = (full_ > now ? full_ : now) + cost;
    const Time there = full_ + Duration{-minute.us};
    return there > now ? there : now;
  }

  // The part of a minute's worth that is taken; more than a minute when someone waits.
  Duration used(Time now) const { return full_ > now ? full_ - now : Duration{}; }

  // When no more than `part` will be taken.
  Time falls_to(Duration part) const { return full_ + Duration{-part.us}; }

  Time full() const { return full_; }

  static void fields(auto& self, auto& field) { field("full", self.full_); }

  static constexpr Duration minute = base::minutes(1);

 private:
  Time full_{};
};

// How a message got through the limits of its sender and of its channel: from when on its
// deliveries may go further, and before which gate they wait until then.
struct Passage {
  bool is_paced = false;
  bool is_answer = false;  // someone waits for it: there is room in any inbox
  Gate gate = Gate::sender;
  Time until;
  Time relief{};  // when the limits that it used fall below the mark: see backpressure_acts.h
};

// What a message of this priority costs of a limit: critical nothing, high half a token, low two.
// 0 a minute means no limit.
Duration cost_of(Priority priority, uint64_t per_min);
// What so many cost of a limit that is one.
Duration cost_of(uint64_t count, uint64_t per_min);

// What an agent's own two limits have left.
struct AgentBuckets {
  Bucket out;
  Bucket in;

  static void fields(auto& self, auto& field) {
    field("out", self.out);
    field("in", self.in);
  }
};

// The limits have changed: what was sent before that, and waits for one, is booked again in the
// order sent, some of it in each entry.
struct Rebooking {
  Seq next;  // from this one on
  Seq end;   // before this one; nothing is to be done where `next` is not before it

  bool is_on() const { return next < end; }
  static void fields(auto& self, auto& field) {
    field("next", self.next);
    field("end", self.end);
  }
};

// The buckets of pairs, of topics, of the channel to everyone and of notices, by the hash of their
// names. One that is full is as good as none, and goes sooner or later.
class Buckets {
 public:
  // By their registrations: who has a name after another begins anew.
  static uint64_t pair(Seq sender, Seq receiver);
  static uint64_t topic(std::string_view name);
  static uint64_t notices(std::string_view agent);       // that it causes in sessions
  static uint64_t redeliveries(std::string_view agent);  // to its streams
  static uint64_t news(std::string_view agent);          // of its availability
  static constexpr uint64_t everyone = 1;

  Bucket& at(uint64_t key, Time now);
  // What is taken of it; nothing of one that is not there.
  Duration used(uint64_t key, Time now) const;
  void clear() { *this = {}; }
  size_t size() const { return entries_.size(); }

  // Those that are not full, by key.
  std::vector<std::pair<uint64_t, Bucket>> taken(Time now) const;

 private:
  struct Entry {
    uint64_t key = 0;
    Bucket bucket;
  };

  uint32_t find(uint64_t key) const;
  void sweep(Time now);

  Slots<Entry> entries_;
  Index by_key_;
  std::deque<uint32_t> line_;  // to be looked at, and dropped when full
};

}  // namespace parley::core
