// SPDX-License-Identifier: Apache-2.0
#include "edge/principal.h"

#include <utility>

#include "base/text.h"
#include "lib/crypto.h"

namespace parley::edge {

namespace {

constexpr size_t token_bytes_max = 256;

// The scheme's name is case-insensitive (RFC 9110).
std::string_view bearer_token(std::string_view authorization) {
  constexpr std::string_view scheme = "bearer ";
  if (authorization.size() <= scheme.size()) {
    return {};
  }
  for (size_t n = 0; n < scheme.size(); ++n) {
    if (base::to_lower(authorization[n]) != scheme[n]) {
      return {};
    }
  }
  return authorization.substr(scheme.size());
}

}  // namespace

std::optional<Principal> authenticate(const core::Machine& machine,
                                      std::string_view authorization) {
  const std::string_view token = bearer_token(authorization);
  if (token.empty() || token.size() > token_bytes_max) {
    return std::nullopt;
  }
  const core::TokenHash hash = lib::sha256(token);
  for (const auto& [id, workspace] : machine.workspaces()) {
    const core::Agents& agents = workspace.tables().agents;
    const core::AgentRef ref = agents.find_token(hash);
    if (ref != core::none) {
      const core::Agent& agent = agents[ref];
      return Principal{id,           ref,          agent.name, agent.kind,
                       agent.dialect, agent.rights, hash,       agent.registered};
    }
  }
  return std::nullopt;
}

// The first principal of the first workspace would be 0, which means that nobody is known: so all
// are moved by one.
net::CallerId caller_id(core::WorkspaceId workspace, core::AgentRef ref) {
  return (net::CallerId{std::to_underlying(workspace)} << 32 | ref) + 1;
}

bool is_current(const core::Machine& machine, const Principal& principal) {
  const core::Agents& agents = machine.find(principal.workspace)->tables().agents;
  return agents.find_token(principal.token) == principal.ref &&
         (principal.rights & ~agents[principal.ref].rights) == 0;
}

}  // namespace parley::edge
