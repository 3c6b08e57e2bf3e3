// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <expected>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/delivery/routing.h"

namespace parley::core {

// Who goes on only when this request is answered: its sender, where the policy of its dialect
// says that requests block, and who blocks for it. None when no one waits, or several are asked:
// who asks those goes on with the first answer.
std::optional<WaitGraph::Edge> wait_of(const ConstContext& context, const Send& command,
                                       const Route& route, MessageRef cause);

// The request that the sender works on with this one: it got it, has not answered it, and someone
// still waits for that. none: there is no such.
MessageRef cause_of(const ConstContext& context, const Send& command, const Route& route);

// The circle that the edge would close: who waits for whom, the sender first. Empty: none. A
// question to the one whose request it works on closes none.
std::vector<WaitGraph::Edge> find_circle(const Tables& t, const WaitGraph::Edge& edge);
Error deadlock_error(const Tables& t, const std::vector<WaitGraph::Edge>& edges,
                     const Send& command);
// The detail of that error, with the ids that `id` gives for the messages: each dialect has its
// own.
std::string circle_text(std::span<const base::WaitInCycle> cycle,
                        const std::function<std::string(const base::WaitInCycle&)>& id);

// Its sender waits by this edge from now on. Does nothing when all its deliveries have ended.
void block(Tables& t, const WaitGraph::Edge& edge, MessageRef ref);
// The message was sent before, and now its sender blocks for the answer. Fails where that closes a
// circle.
std::expected<void, Error> block_again(Context& context, const Send& command, MessageRef ref);

// The sender of the message waits no more for the answer. Does nothing when it did not.
void unblock(Tables& t, MessageRef ref);
// The callers of a node whose life is over wait no more.
void unblock_callers(Tables& t, uint64_t life);
// The agent is gone: it waits for no one, and no one for it.
void unblock_all(Tables& t, AgentRef agent);

Outcome on(Context& context, const StopWaiting& command);

}  // namespace parley::core
