// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "edge/mcp/limits.h"
#include "edge/mcp/tables/records.h"
#include "lib/crypto.h"

namespace parley::edge::mcp {

// The sessions of the legacy era that are in memory. The id of a session holds what must be known
// of its client, sealed, so that nobody else can make one. With it a session goes on after a
// restart of the broker, or after there was no room for it: many clients never begin a second one.
class McpSessions {
 public:
  using ById = std::unordered_map<std::string, std::unique_ptr<McpSession>>;

  McpSessions(const Limits& limits, const lib::SecretKey& key) : limits_(limits), key_(key) {}

  // The id of a session that begins now.
  std::string seal(const McpSession& session, base::Time now) const;
  // The session that was sealed; none when this is no id, or that of another principal, though it
  // had the same name before, or too old.
  std::optional<McpSession> unseal(std::string_view id, const Principal& principal,
                                   base::Time now) const;

  McpSession* find(const std::string& id) const;
  McpSession* find(uint64_t number) const;
  // The session has its id and its number.
  McpSession& add(McpSession session);
  void erase(const McpSession& session);

  // Whether the principal may have one more session, once `evicted` has left memory: the session,
  // of its own or of all, that was idle for longest.
  struct Room {
    bool is_there = true;
    McpSession* evicted = nullptr;
  };
  Room room_for(const Principal& principal) const;

  // Of the events that the principal's sessions keep.
  uint64_t kept_bytes_of(const Principal& principal) const;

  size_t size() const { return by_id_.size(); }
  const ById& all() const { return by_id_; }

 private:
  using PrincipalKey = std::pair<core::WorkspaceId, core::AgentRef>;

  const Limits& limits_;
  const lib::SecretKey& key_;
  ById by_id_;
  std::unordered_map<uint64_t, McpSession*> by_number_;
  std::map<PrincipalKey, std::vector<McpSession*>> by_principal_;
};

}  // namespace parley::edge::mcp
