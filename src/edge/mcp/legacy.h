// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "edge/mcp/calls.h"
#include "edge/mcp/legacy_sessions.h"
#include "edge/mcp/methods.h"
#include "edge/mcp/rpc.h"
#include "edge/mcp/server_state.h"
#include "edge/mcp/transport.h"

namespace parley::edge::mcp {

// The protocol of 2025-11-25 and older: a client begins a session, and the server may ask it back.
// Also the transport HTTP+SSE of 2024-11-05. A part of Server.
class LegacyProtocol {
 public:
  LegacyProtocol(ServerState& state, Transport& transport, Calls& calls, Methods& methods,
                 LegacySessions& sessions)
      : state_(state),
        transport_(transport),
        calls_(calls),
        methods_(methods),
        sessions_(sessions) {}

  void post(const HttpRequest& request, lib::Json body);
  // Opens the stream of a session, or resumes one.
  void get(const HttpRequest& request);
  void delete_session(const HttpRequest& request);

 private:
  struct Batch;
  std::optional<std::vector<RpcMessage>> read_messages(const HttpRequest& request,
                                                       const McpSession& session, lib::Json body);
  void initialize(const HttpRequest& request, const RpcMessage& message);
  // Takes the messages of an array one after the other, in the turns of its sender.
  void begin_batch(const McpSession& session, const ResponseStream* stream, lib::Json body);
  void go_on(const std::shared_ptr<Batch>& batch);
  void receive(McpSession& session, ResponseStream* stream, const RpcMessage& message);
  void receive_notification(const McpSession& session, const RpcMessage& message);
  void receive_request(McpSession& session, ResponseStream& stream, const RpcMessage& message);
  void set_level(McpSession& session, ResponseStream& stream, const RpcMessage& message);
  void subscribe(McpSession& session, ResponseStream& stream, const RpcMessage& message);
  void dispatch(const McpSession& session, ResponseStream& stream, const RpcMessage& message);

  ResponseStream* open_own(const HttpRequest& request, McpSession& session);
  void open_old_transport(const HttpRequest& request);
  void resume(const HttpRequest& request, McpSession& session, std::string_view last_event);
  void refuse_method(const HttpRequest& request, std::string_view why);

  ServerState& state_;
  Transport& transport_;
  Calls& calls_;
  Methods& methods_;
  LegacySessions& sessions_;
};

}  // namespace parley::edge::mcp
