// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <expected>
#include <string>

#include "edge/api/context.h"
#include "edge/events/delegation.h"

namespace parley::edge::events {

// The principal in whose name events are delegated: an agent of superprompt, or a human, in the
// first workspace. Fails with `unavailable` and says what to do.
std::expected<Principal, base::Error> find_supervisor(const Context& context,
                                                      const std::string& name);

// Sends the delegation as its supervisor would, through the same checks. `done` hears the outcome,
// perhaps before this returns.
void send_delegation(Context& context, const Principal& supervisor, const Delegation& delegation,
                     node::Broker::Done done);

}  // namespace parley::edge::events
