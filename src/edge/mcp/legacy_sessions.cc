// SPDX-License-Identifier: Apache-2.0
#include "edge/mcp/legacy_sessions.h"

#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "edge/mcp/rpc.h"
#include "net/uri.h"

namespace parley::edge::mcp {

namespace {

RpcError no_session(bool named) {
  return {invalid_request,
          named
              ? "there is no such session, or it has ended: begin one with initialize"
              : "send the header Mcp-Session-Id that initialize gave, or a request of 2026-07-28"};
}

// Whether it is a session of an agent that was removed, whose name the principal has now.
bool has_left(const McpSession& session, const Principal& principal) {
  const Principal& owner = session.client.principal;
  return owner.workspace == principal.workspace && owner.name == principal.name &&
         owner.registered != principal.registered;
}

}  // namespace

McpSession* LegacySessions::find(const HttpRequest& request) {
  std::string id(request.http.header("mcp-session-id"));
  const bool is_old_transport = id.empty();
  if (is_old_transport) {
    id = net::query_value(request.http.query, "sessionId").value_or("");
  }
  McpSession* session = state_.sessions.find(id);
  if (session == nullptr && !is_old_transport) {
    session = restore(id, request.principal);
  }
  // The session of another principal counts as none: whoever has its id still needs its token. So
  // does that of an agent that was removed, for the one that has its name now, and a session of the
  // other transport.
  if (session != nullptr && has_left(*session, request.principal)) {
    end(*session);
    session = nullptr;
  }
  if (session == nullptr || session->is_old_transport != is_old_transport ||
      session->client.principal.workspace != request.principal.workspace ||
      session->client.principal.name != request.principal.name) {
    transport_.refuse(request.exchange, id.empty() ? 400 : session_gone, no_session(!id.empty()));
    return nullptr;
  }
  if (session->client.principal.ref != request.principal.ref ||
      !state_.host.is_current(session->client.principal)) {
    // The token was replaced. The calls and streams of who has the former one end.
    evict(*session);
    session = restore(id, request.principal);
    if (session == nullptr) {
      transport_.refuse(request.exchange, session_gone, no_session(true));
      return nullptr;
    }
  }
  session->used = state_.now();
  session->client.principal = request.principal;
  return session;
}

// Brings a session back into memory as it was when it left; nullptr when it cannot be.
McpSession* LegacySessions::restore(std::string_view id, const Principal& principal) {
  const SavedSession* const saved = state_.options.saved_sessions->find(id);
  auto known = saved != nullptr && saved->is_ended
                   ? std::nullopt
                   : state_.sessions.unseal(id, principal, state_.now());
  McpSession* const session = known ? add(std::move(*known)) : nullptr;
  if (session == nullptr || saved == nullptr) {
    return session;
  }
  session->level = find_level(saved->level).value_or(session->level);
  for (const std::string& uri : saved->uris) {
    const auto found = state_.catalog.resource(uri);
    if (found && found->resource->subscribable) {
      state_.subscriptions.add(session->number, principal, found->uri, uri);
      // The resource may have changed while the session was away.
      state_.subscriptions.add_notice(session->number, {ChangeNotice::Kind::updated, uri});
      state_.notices_due = true;
    }
  }
  return session;
}

void LegacySessions::save(const McpSession& session, bool is_ended) {
  if (session.is_old_transport) {
    return;  // it ends with its connection
  }
  SavedSession saved{.is_ended = is_ended};
  if (!is_ended) {
    saved.level = session.level == McpSession{}.level ? "" : name_of(session.level);
    saved.uris = state_.subscriptions.of(session.number);
  }
  state_.options.saved_sessions->keep(session.id, session.client.principal, std::move(saved),
                                      state_.now());
}

McpSession* LegacySessions::add(McpSession begun) {
  const McpSessions::Room room = state_.sessions.room_for(begun.client.principal);
  if (!room.is_there) {
    return nullptr;
  }
  if (room.evicted != nullptr) {
    evict(*room.evicted);
  }
  begun.number = state_.next_number();
  begun.used = state_.now();
  return &state_.sessions.add(std::move(begun));
}

void LegacySessions::end(McpSession& session) {
  save(session, true);
  evict(session);
}

void LegacySessions::evict(McpSession& session) {
  // A copy: each stream that ends takes itself out of the session.
  const std::set<uint64_t> streams = session.streams;
  for (const uint64_t number : streams) {
    if (ResponseStream* const stream = state_.streams.find(number)) {
      transport_.end(*stream, session_gone);
    }
  }
  state_.subscriptions.forget(session.number);
  state_.sessions.erase(session);
}

void LegacySessions::evict_idle(base::Time now) {
  std::vector<McpSession*> idle;
  for (const auto& [id, session] : state_.sessions.all()) {
    if (session->stream == 0 && session->calls.empty() &&
        session->used + state_.options.limits.session_idle < now) {
      idle.push_back(session.get());
    }
  }
  for (McpSession* const session : idle) {
    evict(*session);
  }
}

}  // namespace parley::edge::mcp
