// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "edge/mcp/features/call_handle.h"
#include "edge/mcp/rpc.h"
#include "edge/mcp/server_state.h"
#include "edge/mcp/tables/principal_counts.h"
#include "edge/mcp/tables/records.h"
#include "edge/mcp/transport.h"

namespace parley::edge::mcp {

// The calls that are not answered yet: from the request to the answer, with the client's own
// answers in between. A part of Server.
class Calls {
 public:
  Calls(ServerState& state, Transport& transport) : state_(state), transport_(transport) {}

  // What a request names: a function, and what that gets.
  struct Callee {
    const Handler& handler;
    std::string_view name;            // of the tool or prompt, or the URI
    lib::Json arguments;              // no value: read them from the text
    std::string_view arguments_text;  // a JSON object
  };
  // Calls the function. Its answer goes to the stream, now or later.
  void start(ResponseStream& stream, const RpcMessage& message, const Client& client,
             const Callee& callee);
  // Nullptr when it is over.
  OpenCall* find(uint64_t number);
  // The client cancelled it, or nobody can hear the answer any more.
  void cancel(uint64_t number);
  // The client's answer to a question. With the last one the call goes on.
  void take_response(McpSession& session, const RpcMessage& message);
  // Ends the calls whose client was asked and does not answer.
  void end_unanswered(base::Time now);

 private:
  friend class CallHandle;

  void act(OpenCall& call, lib::Json arguments);
  bool take_answers(OpenCall& call, const RpcMessage& message, lib::Json arguments);
  std::string seal_context(const OpenCall& call, lib::Json arguments) const;
  void drop(OpenCall& call, Host::Outcome outcome);
  void finish(OpenCall& call, Outgoing answer, int status, Host::Outcome outcome);
  void finish_with_result(OpenCall& call, const Result& result);
  void finish_with_error(OpenCall& call, const RpcError& error);
  // The stream on which the client hears of this call before its answer; nullptr: there is none.
  ResponseStream* stream_of(const OpenCall* call) const;

  // Questions to the client.
  void ask(OpenCall& call, const std::vector<Question>& questions, std::string state);
  void refuse_ask(OpenCall& call, const std::string& why, std::string_view required);
  void ask_modern(OpenCall& call, const std::vector<Question>& questions, const std::string& state);
  void ask_legacy(OpenCall& call, const std::vector<Question>& questions, std::string state);
  ResponseStream* stream_to_ask(const OpenCall& call) const;
  void withdraw_questions(const OpenCall& call);

  ServerState& state_;
  Transport& transport_;
  std::unordered_map<uint64_t, std::unique_ptr<OpenCall>> calls_;
  PrincipalCounts counts_;
  lib::JsonDocument arguments_;  // of a call whose arguments were kept as text
};

}  // namespace parley::edge::mcp
