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
#include "edge/mcp/records.h"
#include "lib/crypto.h"

namespace parley::edge::mcp {

// The sessions of the legacy era that are in memory. The id of a session says what it is, sealed,
// so that nobody else can make one; a session goes on after the broker was started anew, or had no
// room for it, because many clients never begin a second one.
class Sessions {
 public:
  using ById = std::unordered_map<std::string, std::unique_ptr<Session>>;

  Sessions(const Limits& limits, const lib::SecretKey& key) : limits_(limits), key_(key) {}

  std::string seal(const Session& session, base::Time now) const;
  // The session that was sealed; none when this is no id, or of another principal, or too old.
  std::optional<Session> unseal(std::string_view id, const Principal& principal,
                                base::Time now) const;

  Session* find(const std::string& id) const;
  Session* find(uint64_t number) const;
  Session& add(Session session);  // with its number
  void erase(const Session& session);

  // Whether the principal may have one more, once `leaves` is gone: the one, of its own or of all,
  // that was idle for longest.
  struct Room {
    bool is_there = true;
    Session* leaves = nullptr;
  };
  Room room_for(const Principal& principal) const;

  size_t size() const { return by_id_.size(); }
  const ById& all() const { return by_id_; }

 private:
  using PrincipalKey = std::pair<core::WorkspaceId, core::AgentRef>;

  const Limits& limits_;
  const lib::SecretKey& key_;
  ById by_id_;
  std::unordered_map<uint64_t, Session*> by_number_;
  std::map<PrincipalKey, std::vector<Session*>> by_principal_;
};

}  // namespace parley::edge::mcp
