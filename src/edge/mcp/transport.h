// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "edge/mcp/server_state.h"
#include "edge/mcp/tables/records.h"

namespace parley::edge::mcp {

// Carries messages to clients over HTTP: as whole answers, or as a stream of events that a client
// of a session may come back to. A part of Server.
class Transport {
 public:
  // `cancel` ends a call, by its number, whose answer nobody can hear any more.
  using Cancel = std::function<void(uint64_t call)>;
  Transport(ServerState& state, Cancel cancel) : state_(state), cancel_(std::move(cancel)) {}

  // Answers with an error of JSON-RPC instead of opening a stream.
  void refuse(const net::Exchange& exchange, int status, const RpcError& error,
              std::string_view id = "null");
  // Whether there is room for one stream more. Else the request is answered with that.
  bool has_room(const HttpRequest& request, ResponseStream::Kind kind,
                std::string_view id = "null");
  ResponseStream& open(ResponseStream::Kind kind, const HttpRequest& request, McpSession* session);

  // One of the requests on the stream has its answer; an empty one was cancelled and gets none.
  // With the last answer the stream of a POST ends.
  void answer(ResponseStream& stream, Outgoing answer, int status = 200);
  // A message before the answer, or on a stream of its own. False when it could not be sent.
  bool send(ResponseStream& stream, std::string_view text);

  // From now on the answer is a stream of events, if the client takes one.
  void begin_events(ResponseStream& stream);
  // Begins the events for a client that came back, and has the id of one.
  void resume_events(ResponseStream& stream);
  // The head of a stream of events on this exchange.
  void start_events(const net::Exchange& exchange);

  // The connection closes; the stream goes on, for a client that comes back.
  void hang_up(ResponseStream& stream);
  // The one way in which a stream goes: nothing finds it any more, and its calls are cancelled.
  // Says nothing to the client.
  std::unique_ptr<ResponseStream> retire(ResponseStream& stream);
  // Retires the stream and closes its connection. `status` is for a client that has got nothing
  // yet.
  void end(ResponseStream& stream, int status);

  McpSession* session_of(const ResponseStream& stream) const {
    return state_.sessions.find(stream.session);
  }

 private:
  void give_up(ResponseStream& stream);
  void send_event(ResponseStream& stream, const Outgoing& message);
  void keep_event(McpSession& session, KeptEvent event) const;
  static std::string event_id(const ResponseStream& stream, const McpSession& session);

  ServerState& state_;
  Cancel cancel_;
};

}  // namespace parley::edge::mcp
