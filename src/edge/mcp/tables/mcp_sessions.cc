// SPDX-License-Identifier: Apache-2.0
#include "edge/mcp/tables/mcp_sessions.h"

#include <algorithm>

#include "lib/json_writer.h"

namespace parley::edge::mcp {

namespace {

using lib::Json;
using lib::JsonWriter;

constexpr std::string_view seal_context = "mcp session";

// Nobody waits for anything of an idle session, so it can leave memory unseen.
bool is_idle(const McpSession& session) { return session.stream == 0 && session.calls.empty(); }

bool is_longer_idle(const McpSession* a, const McpSession* b) {
  return is_idle(*a) != is_idle(*b) ? is_idle(*a) : a->used < b->used;
}

}  // namespace

std::string McpSessions::seal(const McpSession& session, base::Time now) const {
  const Client& client = session.client;
  std::string text;
  JsonWriter out(text);
  out.object().key("w").number(uint64_t{static_cast<uint32_t>(client.principal.workspace)});
  out.key("n").text(client.principal.name).key("g").number(client.principal.registered.us);
  out.key("v").plain(name_of(session.version));
  // Short keys: the id is in a header of every request.
  out.key("t").number(now.us).key("c").text(client.name);
  out.key("f").boolean(client.can.elicitation).key("u").boolean(client.can.elicitation_url);
  out.key("s").boolean(client.can.sampling).key("r").boolean(client.can.roots).end_object();
  return lib::seal(key_, text, seal_context);
}

std::optional<McpSession> McpSessions::unseal(std::string_view id, const Principal& principal,
                                              base::Time now) const {
  const auto text = lib::unseal(key_, id, seal_context);
  lib::JsonDocument document;
  const auto parsed = document.parse(text.value_or(""));
  if (!text || !parsed) {
    return std::nullopt;
  }
  const base::Time began{parsed->find("t").as_int64().value_or(0)};
  const auto workspace = static_cast<uint32_t>(principal.workspace);
  if (parsed->find("w").as_uint64() != workspace ||
      parsed->find("n").as_string() != principal.name ||
      parsed->find("g").as_int64() != principal.registered.us ||
      began + limits_.session_life < now) {
    return std::nullopt;
  }
  const auto can = [&](std::string_view key) { return parsed->find(key).as_bool() == true; };
  McpSession session;
  session.id = id;
  session.version = find_version(*parsed->find("v").as_string()).value_or(newest_legacy);
  session.client.principal = principal;
  session.client.name = *parsed->find("c").as_string();
  session.client.can = {can("f"), can("u"), can("s"), can("r")};
  return session;
}

McpSession* McpSessions::find(const std::string& id) const {
  const auto at = by_id_.find(id);
  return at == by_id_.end() ? nullptr : at->second.get();
}

McpSession* McpSessions::find(uint64_t number) const {
  const auto at = by_number_.find(number);
  return at == by_number_.end() ? nullptr : at->second;
}

McpSession& McpSessions::add(McpSession session) {
  auto made = std::make_unique<McpSession>(std::move(session));
  McpSession& added = *made;
  const Principal& principal = added.client.principal;
  by_number_[added.number] = &added;
  by_principal_[{principal.workspace, principal.ref}].push_back(&added);
  by_id_.emplace(added.id, std::move(made));
  return added;
}

void McpSessions::erase(const McpSession& session) {
  const Principal& principal = session.client.principal;
  const auto own = by_principal_.find({principal.workspace, principal.ref});
  std::erase(own->second, &session);
  if (own->second.empty()) {
    by_principal_.erase(own);
  }
  by_number_.erase(session.number);
  by_id_.erase(std::string(session.id));
}

uint64_t McpSessions::kept_bytes_of(const Principal& principal) const {
  const auto own = by_principal_.find({principal.workspace, principal.ref});
  uint64_t bytes = 0;
  if (own != by_principal_.end()) {
    for (const McpSession* const session : own->second) {
      bytes += session->kept_bytes;
    }
  }
  return bytes;
}

McpSessions::Room McpSessions::room_for(const Principal& principal) const {
  const auto room = [](const std::vector<McpSession*>& all) {
    McpSession* const oldest = *std::ranges::min_element(all, is_longer_idle);
    return Room{is_idle(*oldest), oldest};
  };
  const auto own = by_principal_.find({principal.workspace, principal.ref});
  if (own != by_principal_.end() && own->second.size() >= limits_.sessions_per_principal_max) {
    return room(own->second);
  }
  if (by_id_.size() < limits_.sessions_max) {
    return {};
  }
  // Looking at all is slow, and happens only at the limit.
  std::vector<McpSession*> all;
  for (const auto& [id, session] : by_id_) {
    all.push_back(session.get());
  }
  return room(all);
}

}  // namespace parley::edge::mcp
