// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

#include "edge/mcp/server_state.h"
#include "edge/mcp/transport.h"

namespace parley::edge::mcp {

// Notifies clients of what changed: resources that they subscribe to, and lists. A part of Server.
class Notifier {
 public:
  Notifier(ServerState& state, Transport& transport) : state_(state), transport_(transport) {}

  // A resource changed, for one agent or (empty) all of the workspace.
  void updated(core::WorkspaceId workspace, std::string_view agent, std::string_view uri);
  // A list is another now: of tools, prompts or resources.
  void list_changed(ChangeNotice::Kind list);
  // Sends the notices that can be sent now, if anything changed since the last time.
  void send_due();

 private:
  bool send(uint64_t subscriber, const ChangeNotice& notice);

  ServerState& state_;
  Transport& transport_;
};

}  // namespace parley::edge::mcp
