// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <span>
#include <string_view>
#include <unordered_map>

#include "base/hash.h"
#include "node/node.h"
#include "node/outlet.h"

namespace parley::node {

// Those who asked a node for a command and were not told the outcome yet, by ticket. Belongs to the
// node's thread.
class Askers {
 public:
  // Hears the outcome.
  using Done = std::move_only_function<void(const core::Outcome&, std::span<const core::Effect>)>;

  // An actor in its workspace, hashed. Two that share a number are taken for one.
  using Actor = uint64_t;
  static Actor actor_of(core::WorkspaceId workspace, std::string_view name) {
    return base::hash64(name, static_cast<uint32_t>(workspace));
  }

  // What the actor asked before and was not told of.
  Node::Ahead untold(Actor actor) const {
    const auto found = untold_.find(actor);
    return found == untold_.end()
               ? Node::Ahead{}
               : Node::Ahead{found->second.newest >= first_, found->second.bytes};
  }

  // What a command of the actor may change for its next one.
  enum class Changes : uint8_t { nothing, something };
  // `ticket` is greater than any before. Those in between are the node's own: nobody asked.
  // `bytes` is what the command has the node store.
  void add(Ticket ticket, Actor actor, Changes changes, uint64_t bytes, Done done);

  // Who asked for the command; empty when nobody did. Outcomes come in the order of the tickets.
  Done take(Ticket ticket);

 private:
  struct Asker {
    Done done;
    Actor actor = 0;
    uint64_t bytes = 0;
  };
  struct Untold {
    Ticket newest = 0;   // command that changes something. Only one that is not told yet counts
    uint64_t bytes = 0;  // of all that are not told yet
  };

  Ticket first_ = 1;           // of waiting_.front()
  std::deque<Asker> waiting_;  // by ticket, without a gap; the node's own commands have none
  std::unordered_map<Actor, Untold> untold_;
};

}  // namespace parley::node
