// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <expected>
#include <string_view>
#include <utility>
#include <vector>

#include "core/machine/context.h"

namespace parley::core {

// Who gets a message: a topic's subscribers, everyone, or the agents named.
struct Route {
  std::string_view topic;  // empty: none
  bool everyone = false;
  std::vector<AgentRef> agents;           // registered
  std::vector<std::string_view> unknown;  // names that no one has
  std::vector<AgentRef> absent;           // of the agents: they are away, and it must not wait
  std::vector<std::pair<AgentRef, AgentRef>> redirected;  // who gets it, for whom
  const OutboxItem* news = nullptr;  // the broker's own, on the topic: for those whom it concerns

  // One receiver by name: what it cannot take is refused instead of becoming a dead letter.
  bool is_one() const {
    return agents.size() == 1 && unknown.empty() && topic.empty() && !everyone;
  }
  // The names of the people among them.
  std::vector<std::string> people(const Tables& t) const;
};

// Fails where the receivers contradict each other, and where the only one has no room.
std::expected<Route, Error> find_route(const ConstContext& context, const Envelope& e);

// The receiver's inbox takes no more of this sender (`Tables::has_room`).
std::unexpected<Error> refuse_full(const Tables& t, AgentRef receiver, AgentRef sender);

// An agent that is named must be able to take the message, also as a pipeline's stage. Whom a topic
// or everyone's channel brings what it cannot take has a dead letter instead.
std::expected<void, Error> check_receivers(const ConstContext& context, const Envelope& e,
                                           const Route& route);

// Hands the message to all whom the route names. To those who are absent it is tried again, or is a
// dead letter at once; if the only one is, `Message::refused` says that its sender is to be told.
void deliver_to_route(Context& context, const Route& route, MessageRef message);

}  // namespace parley::core
