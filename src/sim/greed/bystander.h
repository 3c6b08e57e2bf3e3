// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "sim/client/messages.h"
#include "sim/client/wire.h"
#include "sim/edge/run_state.h"

namespace parley::edge_sim {

// What a bystander is told when it asks for what it has: in short, which must be the same whoever
// else is there, and the whole answer for one who looks for a cause.
struct Fact {
  std::string told;
  std::string answer;
};
// By what it asked for.
using Facts = std::map<std::string, Fact>;

// An agent that asks for little. It has one thing of each kind that the broker keeps for an agent,
// and asks its questions one at a time: others must not make the broker forget what it has, refuse
// what it asks for, or keep an answer from it.
class Bystander {
 public:
  // Asks and waits for the answer.
  using Call = std::function<Reply(const Ask& ask, const std::string& token)>;
  struct Profile {
    std::string name;
    std::string token;
    std::string friend_name;
    std::string friend_token;
    std::string admin_token;
  };

  Bystander(RunState& run, Profile profile) : run_(run), profile_(std::move(profile)) {}

  // Makes what it has.
  void prepare(const Call& call);
  // Asks the next of its questions, if it has an answer to the last.
  void act();
  // After each turn of the loop.
  void read();
  void lose_connection() { wire_.reset(); }
  bool is_waiting() const { return wire_ != nullptr && !wire_->is_over() && wire_->waiting() > 0; }
  // By question: the most turns of the loop that an answer took. The first on a connection does not
  // count: until it is read its caller is nobody, and waits with all strangers.
  const std::map<std::string, uint64_t>& turns() const { return longest_; }
  // What became of what it has, and whether there is room for more.
  Facts look(const Call& call) const;

 private:
  Draft draft(std::string receiver) const;
  std::string thread() const { return profile_.name + "-talk"; }
  std::string nobody() const { return "nobody-of-" + profile_.name; }
  // Sends as it is, and returns the id that the answer has.
  std::string make(const Call& call, const Ask& ask);
  void wait_for_escalation(const Call& call);
  Ask group(std::string_view path, std::string_view members) const;
  void look_at_what_it_has(const Call& call, Facts& facts) const;
  void look_for_room(const Call& call, Facts& facts) const;
  void hear(const std::string& question, const Reply& reply);

  RunState& run_;
  const Profile profile_;
  std::unique_ptr<CallWire> wire_;
  std::string order_;  // A message that was settled, as it was sent.
  std::string open_;   // The id of one that nobody reads.
  std::string escalation_;
  std::string scatter_;
  std::string pipeline_;
  bool is_known_ = false;  // An answer came on this connection.
  uint64_t asked_ = 0;
  uint64_t waited_ = 0;  // Turns, for the answer that is not there.
  std::map<std::string, uint64_t> longest_;
};

}  // namespace parley::edge_sim
