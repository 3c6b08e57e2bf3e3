// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

namespace parley::core {

// Where a message stands with one receiver. Written into snapshots: never renumber.
enum class State : uint8_t {
  queued = 0,   // waits in the inbox
  delayed = 1,  // waits for its time: given back with a delay. Shown as queued
  offered = 2,  // handed out, with a lease
  read = 3,     // the receiver asked for it by name, with a lease
  acked = 4,    // from here on: final, unless it is answered later or revived (Dispatch::revive)
  answered = 5,
  expired = 6,
  rejected = 7,
  dead = 8,
};
constexpr State state_last = State::dead;

constexpr bool is_final(State state) { return state >= State::acked; }
constexpr bool is_held(State state) { return state == State::offered || state == State::read; }

// `queued`, `offered`, …: the public name.
std::string_view state_name(State state);

}  // namespace parley::core
