// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "sim/client/mcp_client.h"
#include "sim/client/socket_operations.h"
#include "sim/client/wire.h"
#include "sim/edge/run_state.h"

namespace parley::edge_sim {

// All connections of one agent, of every transport: they are opened when they are needed, read at
// the agent's pace, and lost at any byte.
class Connections {
 public:
  Connections(RunState& run, Agent& agent) : run_(run), agent_(agent) {}

  // The agent begins with this token. `mcp` is whether it uses the tools of MCP.
  void begin(std::string token, bool mcp, McpClient::Era era);
  // The agent has another token from now on; returns the former one.
  std::string replace_token(std::string token);

  void ask(const Ask& ask, CallWire::Done done);
  // Asks on another connection, because the answer holds up what is asked behind it.
  void ask_slowly(const Ask& ask, CallWire::Done done);
  // Asks with a token that was replaced: it is good for nothing.
  void try_ended_token(const std::string& token, const std::string& message);

  void open_events(const Ask& ask, CallWire::Done done, CallWire::OnEvent on_event);
  void open_socket(const Ask& ask, SocketWire::Heard heard);
  // True when a stream or a socket is open, or is being opened.
  bool is_pushed_to() const { return events_ != nullptr || socket_ != nullptr; }
  void close_push();
  // The socket when it is open, else nullptr.
  SocketWire* socket() const;
  // What was asked on the socket; they are forgotten with it.
  SocketOperations& operations() { return operations_; }
  // nullptr: the agent does not use MCP.
  McpClient* mcp() const { return mcp_.get(); }

  // Reads what came on all of them.
  void read();
  // Reads the stream slower from now on, or as fast as it can, or not at all.
  void change_pace();
  void end_stall() { stalled_ = false; }
  // One connection breaks; the broker may learn of it later.
  void lose_one();
  void hang_up();
  // How many answers it waits for, without those of slow requests.
  size_t waiting() const;
  std::string pending() const;

 private:
  CallWire& wire(std::unique_ptr<CallWire>& held);
  void forget_operations();
  template <class W>
  void cut(std::unique_ptr<W>& held);
  template <class W>
  void drop(std::unique_ptr<W>& held);

  RunState& run_;
  Agent& agent_;
  std::string token_;
  std::unique_ptr<CallWire> calls_;
  std::unique_ptr<CallWire> polls_;
  std::unique_ptr<CallWire> events_;
  std::unique_ptr<SocketWire> socket_;
  std::unique_ptr<McpClient> mcp_;
  SocketOperations operations_;
  size_t pace_ = SIZE_MAX;  // How many bytes of the stream it reads at once.
  bool stalled_ = false;
};

}  // namespace parley::edge_sim
