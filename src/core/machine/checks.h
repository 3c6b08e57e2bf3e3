// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <expected>

#include "core/machine/tables.h"
#include "core/model/command.h"

// What a command is refused for: asked at the door, where a refusal costs nothing, and again inside
// (docs/decisions/0011). None of them changes anything.
namespace parley::core {

// Who asks, and whether it may do to all what others may do to their own.
struct Claimant {
  AgentRef actor = none;  // none: the broker itself
  bool is_maintainer = false;
};

// The rules as they would be.
std::expected<Rules, Error> changed_rules(const Rules& rules, const SetRules& command);
std::expected<void, Error> check_letter(const Tables& t, const ResolveDeadLetter& command);
std::expected<void, Error> check_escalation(const Tables& t, const ResolveEscalation& command);
std::expected<void, Error> check_subscribed(const Agent& agent, std::string_view topic);
std::expected<ThreadRef, Error> thread_to_close(const Tables& t, const Claimant& claimant,
                                                const CloseThread& command);
// Which task is meant must be plain: of several that could go to another none does.
std::expected<const Task*, Error> task_to_reassign(const Tables& t, const Claimant& claimant,
                                                   const ReassignTask& command);

// `is_admin` says whether the actor may administer, and else why not.
using Allowed = std::expected<void, Error>;
Allowed may_register(const Tables& t, AgentRef actor, const Allowed& is_admin,
                     const Register& command);
std::expected<AgentRef, Error> agent_to_remove(const Tables& t, AgentRef actor,
                                               const Allowed& is_admin, const Unregister& command);
std::expected<void, Error> check_release(const Tables& t, const Claimant& claimant,
                                         const ReleaseLock& command, Time now);

}  // namespace parley::core
