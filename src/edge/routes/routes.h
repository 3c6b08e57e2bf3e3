// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <span>

#include "edge/api/route.h"

namespace parley::edge {

// What each resource gives to the table of routes. A new route is a row in the file of its
// resource; a new resource is declared here and stands in the list below.
std::span<const Route> agent_routes();
std::span<const Route> approval_routes();
std::span<const Route> dead_letter_routes();
std::span<const Route> debate_routes();
std::span<const Route> escalation_routes();
std::span<const Route> handoff_routes();
std::span<const Route> health_routes();
std::span<const Route> hook_routes();
std::span<const Route> human_routes();
std::span<const Route> inbox_routes();
std::span<const Route> lock_routes();
std::span<const Route> mcp_routes();
std::span<const Route> message_routes();
std::span<const Route> moderation_routes();
std::span<const Route> pattern_routes();
std::span<const Route> rule_routes();
std::span<const Route> search_routes();
std::span<const Route> session_routes();
std::span<const Route> settling_routes();
std::span<const Route> stream_routes();
std::span<const Route> task_routes();
std::span<const Route> thread_routes();
std::span<const Route> topic_routes();
std::span<const Route> trace_routes();
std::span<const Route> workspace_routes();

// All of them. A request goes to the first route that fits it.
inline constexpr std::array route_lists = {
    message_routes, search_routes,     inbox_routes,     settling_routes,   stream_routes,
    agent_routes,   human_routes,      workspace_routes, topic_routes,      thread_routes,
    session_routes, lock_routes,       task_routes,      trace_routes,      dead_letter_routes,
    pattern_routes, escalation_routes, approval_routes,  moderation_routes, rule_routes,
    health_routes,  mcp_routes,        hook_routes,      debate_routes,     handoff_routes};

}  // namespace parley::edge
