// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/client/wire.h"
#include "sim/edge/run_state.h"

namespace parley::edge_sim {

// What a greedy agent does all the time. The number behind each is that of issue 15.
enum class Attack : uint8_t {
  publishes,          // New ids, each of which is remembered (9).
  threads,            // One for each message, and messages in the threads of others (2, 9).
  topics,             // One for each message (9).
  patterns,           // The same with subscriptions to patterns (9).
  unknown_receivers,  // Names that nobody has, several in a message (8, 9).
  critical,           // Messages that no rate holds up (9).
  escalations,        // Questions that nobody answers, for humans to look into (9).
  scatters,           // And pipelines, which do not end (9).
  bytes,              // Large messages (12).
  waits,              // Long polls in a row, some of which end at once (6).
  lists,              // On many connections, in a row (10, 13).
  questions,          // To the history, in a row (10).
  unread,             // Large answers that it does not read (7, 10).
  stranger,           // The same on new connections all the time, and without a token (7).
  hoard,              // Publishes, many at a time, where there is room for all of them (9).
};

struct AttackInfo {
  Attack attack;
  std::string_view name;
};
std::span<const AttackInfo> all_attacks();

// An agent that takes all it can get, with a token like any other's, or with none.
class GreedyClient {
 public:
  struct Profile {
    std::string name;
    std::string token;
    Attack attack = Attack::publishes;
    std::string silent{};                // An agent that answers nobody.
    std::vector<std::string> threads{};  // Others', in which it speaks too.
  };

  GreedyClient(RunState& run, Profile profile) : run_(run), profile_(std::move(profile)) {}

  const std::string& name() const { return profile_.name; }
  Attack attack() const { return profile_.attack; }
  void act();
  // After each turn of the loop.
  void read();
  void hang_up() { wires_.clear(); }
  // Of what is limited by the minute: how much was accepted.
  uint64_t accepted() const { return accepted_; }

 private:
  void send_batch(size_t count);
  void send_each(size_t count);
  void ask_in_row(size_t connections, size_t requests);
  Ask next_ask();
  std::string next_message();
  CallWire& wire(size_t number);

  RunState& run_;
  const Profile profile_;
  std::vector<std::unique_ptr<CallWire>> wires_;
  uint64_t last_ = 0;
  uint64_t accepted_ = 0;
};

}  // namespace parley::edge_sim
