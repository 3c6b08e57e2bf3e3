// SPDX-License-Identifier: Apache-2.0
#include "sim/client/tool_caller.h"

#include <array>
#include <string>
#include <utility>

#include "lib/json_writer.h"
#include "sim/client/agent.h"
#include "sim/client/messages.h"

namespace parley::edge_sim {

using Called = McpClient::Called;

void ToolCaller::look_around() {
  McpClient& mcp = *agent_.connections().mcp();
  if (std::exchange(ends_session_, false)) {
    mcp.end_session();  // Unless it waits for an answer in it.
  }
  constexpr std::array<std::string_view, 4> others = {"status", "findAgents", "request", "thread"};
  const std::string_view tool = run_.random().pick(others);
  if (tool == "request") {
    ask_another();
  } else if (tool == "thread") {
    for (const auto& [id, mail] : agent_.record().mail) {
      if (!mail.thread.empty() && run_.random().chance(200)) {
        mcp.call("getThread", tool_argument("threadId", mail.thread), [](const Called&) {});
        break;
      }
    }
  } else {
    mcp.call(std::string(tool), "{}", [](const Called&) {});
  }
  ends_session_ = agent_.profile().era == McpClient::Era::sessions && run_.random().chance(200);
}

// Asks another agent a question, with the answer as the result of the call.
void ToolCaller::ask_another() {
  const std::string to = run_.random().pick(run_.agents)->name();
  const std::string marker = run_.new_marker(agent_.name(), {to});
  std::string arguments;
  lib::JsonWriter(arguments)
      .object()
      .key("to")
      .text(to)
      .key("content")
      .text(some_words(marker, run_.random()))
      .key("seconds")
      .number(15)
      .end_object();
  agent_.connections().mcp()->call("request", arguments, [this](const Called& called) {
    each_marker(called.text, [this](std::string_view seen) {
      // The answer is acknowledged with that. It has no id here.
      Mail& mail = agent_.record().mail["answer " + std::string(seen)];
      mail.marker = seen;
      mail.sightings = 1;
      mail.ever_acked = true;
      mail.act = Mail::Act::ack;
      mail.state = Mail::State::confirmed;
      mail.confirmed_at = run_.step;
      agent_.record().markers_seen.insert(mail.marker);
    });
  });
}

}  // namespace parley::edge_sim
