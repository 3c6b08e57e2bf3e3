// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <expected>
#include <optional>
#include <string_view>

#include "core/machine/context.h"

namespace parley::core {

struct Route;

// Names, roles and what each role may do, in a dialect that has them (`Policy::has_authority`:
// squad; SQ-01, SQ-02). A main has full authority and registers others of its owner; a subagent
// answers to its spawner and hands no work off; a council only advises; a cron does what was
// approved beforehand. The rules bind agents, whomever they write to and in whatever dialect;
// people and the broker are above them. An agent of another dialect counts as a main, unless its
// role directs no one.

// `agent:{owner}:{role}`, or `agent:{owner}:{role}:{instance}`.
struct RoleName {
  std::string_view owner;
  std::string_view role;
  std::string_view instance;  // empty: there is one only
};

// None for a name of another form, and for one with a wildcard.
std::optional<RoleName> parse_role_name(std::string_view name);

// Whether it stands for several: `agent:main:subagent:*`, `agent:main:*`.
bool is_wildcard(std::string_view name);
bool matches_wildcard(std::string_view wildcard, std::string_view name);

// The way of a message whose only receiver is a wildcard: to the registered agents that it stands
// for now and that the actor may address; itself is none of them. Where it stands for nobody the
// name itself is one that nobody has. Fails where they are more than one message may have.
Checked route_wildcard(const ConstContext& context, const Envelope& e, std::string_view wildcard,
                       Route& route);

// What the name, the role, the spawner and the scope of a registration must be.
Checked check_standing(const Tables& tables, const Register& command);

// Whether an actor who is no admin may register this agent, change it or remove it: a main may do
// so for those that it spawned, and nobody gains by it what a main has not: no other dialect, owner
// or role, no capability, no right.
Checked may_spawn(const ConstContext& context, const Register& command);
bool is_main(const Agent& agent);
bool is_spawned_by(const Tables& tables, AgentRef agent, AgentRef main);

// Refuses what the sender's role does not allow, with the rule that it breaks.
Checked check_authority(const ConstContext& context, const Envelope& e, const Route& route);

}  // namespace parley::core
