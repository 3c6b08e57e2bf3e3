// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/machine/machine.h"
#include "net/server.h"

namespace parley::edge {

// Who a token belongs to. A value: it is looked up anew for each request, because agents go.
struct Principal {
  core::WorkspaceId workspace{};
  core::AgentRef ref = core::none;
  std::string name;
  core::PrincipalKind kind = core::PrincipalKind::unknown;
  core::Dialect dialect = core::Dialect::flow;
  uint8_t rights = 0;
  core::TokenHash token{};
  base::Time registered{};  // nothing from before is its own, though another had its name then

  bool is_admin() const {
    return kind == core::PrincipalKind::admin ||
           (rights & static_cast<uint8_t>(core::Right::admin)) != 0;
  }
  // No other right stands for this one.
  bool is_moderator() const {
    return (rights & static_cast<uint8_t>(core::Right::moderator)) != 0;
  }
  bool is_maintainer() const {
    return is_admin() || (rights & static_cast<uint8_t>(core::Right::maintainer)) != 0;
  }
};

// The number by which the server knows a principal, whichever of its tokens it shows: all of them
// share what may be held for it.
net::CallerId caller_id(core::WorkspaceId workspace, core::AgentRef ref);
inline net::CallerId caller_id(const Principal& principal) {
  return caller_id(principal.workspace, principal.ref);
}

// Whether the token is still valid, still this principal's, and has all the rights that it had:
// connections stay, agents go.
bool is_current(const core::Machine& machine, const Principal& principal);

// The principal of an `Authorization: Bearer TOKEN` header; none when there is no such token. The
// look-up is by the token's hash, so that its time tells nothing of the token.
std::optional<Principal> authenticate(const core::Machine& machine, std::string_view authorization);

}  // namespace parley::edge
