// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <span>
#include <string_view>
#include <unordered_map>

#include "base/hash.h"
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

  // Whether something that the actor asked before may change what comes of the next.
  bool is_untold(Actor actor) const {
    const auto newest = newest_.find(actor);
    return newest != newest_.end() && newest->second >= first_;
  }

  // What a command of the actor may change for its next one.
  enum class Changes : uint8_t { nothing, something };
  // `ticket` is greater than any before. Those in between are the node's own: nobody asked.
  void add(Ticket ticket, Actor actor, Changes changes, Done done);

  // Who asked for the command; empty when nobody did. Outcomes come in the order of the tickets.
  Done take(Ticket ticket);

 private:
  Ticket first_ = 1;          // of waiting_.front()
  std::deque<Done> waiting_;  // by ticket, without a gap; the node's own commands have none
  // The newest command of each actor that changes something. Only what is not told yet counts.
  std::unordered_map<Actor, Ticket> newest_;
};

}  // namespace parley::node
