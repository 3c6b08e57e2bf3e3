// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "edge/mcp/calls.h"
#include "edge/mcp/rpc.h"
#include "edge/mcp/server_state.h"
#include "edge/mcp/transport.h"

namespace parley::edge::mcp {

// The methods that both eras have: lists, tools, resources, prompts and completions. A part of
// Server.
class Methods {
 public:
  Methods(ServerState& state, Transport& transport, Calls& calls)
      : state_(state), transport_(transport), calls_(calls) {}

  // Answers the request on the stream, now or later.
  void dispatch(ResponseStream& stream, const RpcMessage& message, const Client& client,
                Version version);

 private:
  bool dispatch_list(ResponseStream& stream, const RpcMessage& message, Version version);
  void call_tool(ResponseStream& stream, const RpcMessage& message, const Client& client);
  void read_resource(ResponseStream& stream, const RpcMessage& message, const Client& client);
  void get_prompt(ResponseStream& stream, const RpcMessage& message, const Client& client);
  void complete(ResponseStream& stream, const RpcMessage& message, const Client& client);
  void refuse(ResponseStream& stream, const RpcMessage& message, std::string why);

  ServerState& state_;
  Transport& transport_;
  Calls& calls_;
};

}  // namespace parley::edge::mcp
