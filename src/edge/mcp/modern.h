// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "edge/mcp/methods.h"
#include "edge/mcp/rpc.h"
#include "edge/mcp/server_state.h"
#include "edge/mcp/transport.h"

namespace parley::edge::mcp {

// The protocol of 2026-07-28: each request says all that it needs, in its headers and in `_meta`.
// A part of Server.
class ModernProtocol {
 public:
  ModernProtocol(ServerState& state, Transport& transport, Methods& methods)
      : state_(state), transport_(transport), methods_(methods) {}

  void post(const HttpRequest& request, const RpcMessage& message);

 private:
  void discover(ResponseStream& stream, const RpcMessage& message);
  // Opens a stream that stays open and notifies of what changes, of what the client named.
  void listen(const HttpRequest& request, const RpcMessage& message);

  ServerState& state_;
  Transport& transport_;
  Methods& methods_;
};

}  // namespace parley::edge::mcp
