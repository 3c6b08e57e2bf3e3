// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "lib/json.h"
#include "sim/client/wire.h"
#include "sim/edge/run_state.h"

namespace parley::edge_sim {

// A client of the broker's MCP server, of one of the two eras: sessions (2025-11-25) or requests
// that say all by themselves (2026-07-28). Each call has a connection of its own.
class McpClient {
 public:
  enum class Era : uint8_t { sessions, stateless };

  // What came of the call of a tool.
  struct Called {
    bool lost = false;   // Nobody knows.
    std::string code{};  // Of a refusal.
    std::string text{};  // Of a refusal; else the JSON of the answer.
  };
  using Done = std::function<void(const Called&)>;

  McpClient(RunState& run, std::string_view reader, const std::string& token, Era era);

  // `arguments` is a JSON object.
  void call(const std::string& tool, const std::string& arguments, Done done);
  // Reads what came.
  void pump(size_t bytes_max);
  // One of its connections breaks, at any byte. In a session it may come back for the answer.
  void lose_connection();
  // The process ends: what was asked is lost, the session is not known any more.
  void hang_up();
  // Ends the session as a client does that is done with it.
  void end_session();
  size_t waiting() const { return calls_.size(); }
  std::string pending() const;

 private:
  struct Call {
    uint64_t number = 0;
    std::string tool;
    std::string arguments;
    Done done;
    std::unique_ptr<CallWire> wire{};
    std::string last_event{};  // By which it can come back.
    unsigned returns = 0;
    bool comes_back = false;  // When it is read next.
    bool is_over = false;
  };

  void begin_session();
  void post(const std::shared_ptr<Call>& call);
  void come_back(const std::shared_ptr<Call>& call);
  void ask(const std::shared_ptr<Call>& call, const Ask& ask);
  void on_reply(const std::shared_ptr<Call>& call, const Reply& reply);
  void on_message(const std::shared_ptr<Call>& call, std::string_view text);
  void finish(Call& call, const Called& called);
  void keep_tools(lib::Json result);
  void check_content(const Call& call, lib::Json result);
  Ask ask_for(std::string_view method, std::string_view name, const std::string& params) const;

  RunState& run_;
  const std::string reader_;
  const std::string& token_;
  const Era era_;
  std::string session_;
  std::unique_ptr<CallWire> beginning_;
  std::unique_ptr<CallWire> other_;  // What is no call.
  std::vector<std::shared_ptr<Call>> calls_;
  uint64_t last_number_ = 0;
  // The newest number when its session was not found, since it was found last; 0: it was found.
  uint64_t missed_at_ = 0;
  lib::JsonDocument tools_;
  std::map<std::string, lib::Json, std::less<>> outputs_;  // Schemas, by tool.
};

// True for the code of a refusal that says nothing of whether the call was done.
bool is_unsure(std::string_view code);

// The arguments of a tool that takes one text.
std::string tool_argument(std::string_view key, std::string_view value);

}  // namespace parley::edge_sim
