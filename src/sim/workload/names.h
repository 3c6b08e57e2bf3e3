// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

#include "core/model/command.h"
#include "sim/text.h"

// The names that the workload draws from.
namespace parley::sim {

constexpr size_t agents = 9;  // The last ones are registered late or never.

constexpr std::array<std::string_view, 7> topics = {"build.done",
                                                    "build.failed",
                                                    "topic:news",
                                                    "ops.alert",
                                                    "agent.availability_changed",
                                                    "system.policy_updated",
                                                    "task.status_changed"};
constexpr std::array<std::string_view, 6> patterns = {"build.*", "build.>", "*.alert",
                                                      ">",       "*",       "build.>.x"};

inline std::string agent_name(uint64_t n) { return text("a{}", n); }

constexpr uint64_t dialects = static_cast<uint64_t>(core::dialect_last) + 1;

inline core::Dialect dialect_of(uint64_t n) { return static_cast<core::Dialect>(n % dialects); }

}  // namespace parley::sim
