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
#include "edge/mcp/rpc.h"
#include "edge/waits.h"
#include "net/server.h"

namespace parley::edge::mcp {

// Statuses of HTTP that a client acts on.
inline constexpr int session_gone = 404;
inline constexpr int too_many = 429;

// What a Server remembers. Sessions and streams are numbered together, so that a number names a
// subscriber of either kind.

// Something to be told that a client may fetch anew: told once however often it happened.
struct Notice {
  enum class Kind : uint8_t { tools, prompts, resources, updated };
  Kind kind = Kind::updated;
  std::string uri{};

  auto operator<=>(const Notice&) const = default;
};

// An event that a client of a session has got, or not: it may come back for it.
struct Kept {
  uint64_t stream;  // 0: of the session's own one
  uint64_t number;
  std::string text;
  std::vector<net::Report> reports{};
};

// An answer on its way, and those who want to know whether it was written.
struct Outgoing {
  Outgoing() = default;
  // NOLINTNEXTLINE(google-explicit-constructor): nobody asks about most texts
  Outgoing(std::string said, std::vector<net::Report> wanted = {})
      : text(std::move(said)), reports(std::move(wanted)) {}

  std::string text;
  std::vector<net::Report> reports;
};

// A client of the legacy era, from its `initialize` on.
struct Session {
  uint64_t number = 0;
  std::string id;  // unguessable
  Client client;
  Version version = newest_legacy;
  Level level = Level::info;
  bool is_old_transport = false;  // HTTP+SSE of 2024-11-05: one stream has all answers
  uint64_t stream = 0;            // its own, for what belongs to no call; 0: none is open
  uint64_t last_event = 0;        // on its own stream, whichever connection that had
  std::set<uint64_t> streams{};   // all
  base::Time used;
  std::deque<Kept> kept;
  size_t kept_bytes = 0;
  struct Asked {
    uint64_t run;
    std::string key;
  };
  std::map<uint64_t, Asked> asked;  // by the id of our request to the client
  uint64_t last_request = 0;
  std::map<std::string, uint64_t, std::less<>> runs;  // by the id of the client's request
};

// Where messages to a client go: the answer to one of its requests over HTTP. Only one of calls
// stays without its client; a session's own and one that listens leave nothing to come back for
// but events, which the session keeps.
struct Stream {
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
  std::set<uint64_t> runs{};
  uint64_t last_event = 0;
  base::Time told;  // when something was sent last, or the client hung up
  // Of one that listens.
  std::string id{};  // of the request, as JSON
  std::set<Notice::Kind> lists{};
};

// Whether the client takes an event stream as an answer.
bool takes_events(const net::Request& http);

// A call that is not answered yet.
struct Running {
  uint64_t number = 0;
  uint64_t stream = 0;
  uint64_t session = 0;  // 0: of the modern era
  std::string id;        // of the request, as JSON
  std::string method;    // tools/call, prompts/get or resources/read
  std::string name;      // of the tool or prompt, or the URI
  const Act* act = nullptr;
  Client client;
  std::string arguments;  // JSON object
  Answers answers{};
  std::string state{};
  std::string progress_token{};  // as JSON; empty: not wanted
  std::optional<Level> level{};  // from which on logs are told
  std::function<void()> undo{};
  size_t questions = 0;  // to the client, not answered yet
  base::Time asked_at{};
  Waits::Id timer = 0;
  bool is_acting = false;  // its function runs now, and uses this
  bool is_over = false;
};

}  // namespace parley::edge::mcp
