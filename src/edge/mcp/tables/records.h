// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/time.h"
#include "edge/mcp/features/call_handle.h"
#include "edge/mcp/rpc.h"
#include "edge/waits.h"
#include "net/server.h"

namespace parley::edge::mcp {

// Statuses of HTTP that a client acts on.
inline constexpr int session_gone = 404;
inline constexpr int too_many = 429;

// The records of a Server. Sessions and streams are numbered together, so that a number names a
// subscriber of either kind.

// Something changed that a client can fetch again. Changes that were not sent yet are sent once,
// however often they happened.
struct ChangeNotice {
  enum class Kind : uint8_t { tools, prompts, resources, updated };
  Kind kind = Kind::updated;
  std::string uri{};

  auto operator<=>(const ChangeNotice&) const = default;
};

// An event that was sent to a client of a session. It is kept because the client may not have got
// it, and come back for it.
struct KeptEvent {
  uint64_t stream;  // 0: the session's own stream
  uint64_t number;
  std::string text;
  std::vector<net::Report> reports{};
};

// A message on its way to a client, and the reports that learn whether it was written.
struct Outgoing {
  Outgoing() = default;
  // NOLINTNEXTLINE(google-explicit-constructor): nobody asks about most texts
  Outgoing(std::string said, std::vector<net::Report> wanted = {})
      : text(std::move(said)), reports(std::move(wanted)) {}

  std::string text;
  std::vector<net::Report> reports;
};

// A client of the legacy era, from its `initialize` on.
struct McpSession {
  uint64_t number = 0;
  std::string id;  // unguessable
  Client client;
  Version version = newest_legacy;
  Level level = Level::info;
  bool is_old_transport = false;  // HTTP+SSE of 2024-11-05: one stream has all answers
  uint64_t stream = 0;            // its own, for messages that belong to no call; 0: none is open
  uint64_t last_event = 0;        // number on its own stream, over all connections of that
  std::set<uint64_t> streams{};   // all that are open
  base::Time used;                // by a request
  std::deque<KeptEvent> kept;
  uint64_t kept_bytes = 0;
  // A question to the client that is not answered yet.
  struct Asked {
    uint64_t call;
    std::string key;  // of the question, within its call
  };
  std::map<uint64_t, Asked> asked;  // by the id of our request to the client
  uint64_t last_request = 0;
  std::map<std::string, uint64_t, std::less<>> calls;  // by the id of the client's request
};

// The answer over HTTP to one request of a client, on which messages to the client go. It has the
// answers to calls (post), or it is the own stream of a session (get) or one that listens for
// changes (listen). Only a stream of calls stays when its client is gone: of the others a client
// that comes back needs only the events, which its session keeps.
struct ResponseStream {
  enum class Kind : uint8_t { post, get, listen };

  uint64_t number = 0;
  Kind kind = Kind::post;
  std::optional<net::Exchange> exchange{};  // none: the client hung up, and may come back
  uint64_t session = 0;                     // 0: of the modern era
  Principal principal;
  bool takes_events = false;  // the client takes an event stream as the answer
  bool is_events = false;     // and gets one: its head has left
  bool is_batch = false;
  size_t unanswered = 0;
  std::vector<Outgoing> answers{};  // of a batch, until all are there
  uint64_t answers_bytes = 0;       // of those: ServerState::held has them
  std::set<uint64_t> calls{};
  uint64_t last_event = 0;
  base::Time last_sent;  // when something was sent last, or the client hung up
  // Of a stream that listens:
  std::string id{};  // of its request, as JSON
  std::set<ChangeNotice::Kind> lists{};
};

// Whether the client takes an event stream as an answer.
bool takes_events(const net::Request& http);

// A call that is not answered yet.
struct OpenCall {
  uint64_t number = 0;
  uint64_t stream = 0;
  uint64_t session = 0;  // 0: of the modern era
  std::string id;        // of the request, as JSON
  std::string method;    // tools/call, prompts/get or resources/read
  std::string name;      // of the tool or prompt, or the URI
  const Handler* handler = nullptr;
  Client client;
  std::string arguments;  // JSON object
  Answers answers{};
  std::string state{};
  std::string progress_token{};  // as JSON; empty: not wanted
  std::optional<Level> level{};  // logs from this level on are sent; none: no logs
  std::function<void()> undo{};  // runs when the call is cancelled
  size_t questions = 0;          // to the client, not answered yet
  base::Time asked_at{};
  uint64_t held = 0;       // bytes of all of this: ServerState::held has them
  Waits::Id timer = 0;     // when the answer becomes a stream of events
  std::vector<Waits::Id> timers{};  // what the function waits for; removing a past one does nothing
  bool is_acting = false;  // its handler runs now, and uses this record
  bool is_over = false;    // it is answered; the record goes when the handler has returned
};

}  // namespace parley::edge::mcp
