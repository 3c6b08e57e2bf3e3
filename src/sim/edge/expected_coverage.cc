// SPDX-License-Identifier: Apache-2.0
#include <iterator>

#include "sim/edge/world.h"

namespace parley::edge_sim {

namespace {

constexpr const char* names[] = {
    // Who takes part.
    "client flow poll",
    "client flow poll webhook",
    "client flow events",
    "client flow socket",
    "client collab poll",
    "client collab events",
    "client collab socket",
    "client inbox mcp",
    "client inbox mcp stateless",
    "client goes offline",
    // What goes wrong.
    "fault connection lost",
    "fault client forgets",
    "fault client crashes",
    "fault killed",
    "fault power lost",
    "fault clock set back",
    "fault clock set forward",
    "webhook not reached",
    "webhook answers 500",
    "webhook answer lost",
    // What is sent.
    "sends direct",
    "sends request",
    "sends answer",
    "sends topic",
    "sends broadcast",
    "sends roll call",
    "sends batch",
    "sends again",
    "sends large answer",
    "sends to one who is away",
    // How it comes, and what is done about it.
    "seen by a read",
    "seen by a push",
    "seen by a tool",
    "seen by an awaited answer",
    "woken by a webhook",
    "settled ack",
    "settled nack",
    "settled reject",
    "settled upto",
    "mcp session begins",
    "mcp session ends",
    "mcp comes back",
    "mcp checkInbox",
    "mcp waitForMessage",
    "mcp readMessage",
    "mcp sendMessage",
    "mcp ackMessage",
    "mcp request",
    "mcp status",
    "mcp findAgents",
    "mcp getThread",
    // How it ends.
    "ended acked",
    "ended answered",
    "ended rejected",
    "ended expired",
    "ended dead",
    "begun task",
    "begun pipeline",
    "begun scatter",
    "begun session",
    "reassigned yes",
    "lock 200",
    "decision 201",
    "own session 200",
    "other session 404",
    "former's task completed",
    "former's pipeline failed",
    "former's session failed",
    // What the admin does.
    "admin new token",
    "admin rules",
    "admin agent removed",
    "admin agent registered anew",
    "ended token GET /v1/inbox 401",
    "ended token GET /v1/outbox 401",
    "ended token GET /v1/topics 401",
    "ended token GET /v1/stream 401",
    "ended token POST /v1/messages 401",
    "ended token POST /mcp 401",
};

}  // namespace

std::vector<std::string> expected_coverage() { return {std::begin(names), std::end(names)}; }

}  // namespace parley::edge_sim
