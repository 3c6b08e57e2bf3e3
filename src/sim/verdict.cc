// SPDX-License-Identifier: Apache-2.0
#include "sim/verdict.h"

#include <array>

namespace parley::sim {

namespace {

// In the order of the enum.
constexpr std::array<std::string_view, check_count> names = {
    "promise",  "answer",   "equal",   "snapshot", "time",    "once",      "receivers",
    "settle",   "letter",   "notice",  "wait",     "visible", "order",     "idle",
    "holder",   "lease",    "expiry",  "window",   "life",    "duplicate", "limit",
    "presence", "deadlock", "breaker", "guard",    "pace",    "recount",   "care",
    "thread",   "session",  "lock",    "task",     "webhook", "resume",    "body",
    "advice",   "share",    "flag",    "approval", "debate",  "handoff",
};
static_assert(!names.back().empty());

}  // namespace

std::string_view check_name(Check check) { return names[static_cast<size_t>(check)]; }

}  // namespace parley::sim
