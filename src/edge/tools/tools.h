// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "edge/api/api.h"
#include "edge/mcp/features/features.h"
#include "edge/mcp/server.h"
#include "edge/tools/arguments.h"
#include "edge/tools/replies.h"

namespace parley::edge::tools {

// A tool that is one request: what its arguments ask of the API, and what is told of the answer.
struct OneRequest {
  InsideRequest (*request)(Arguments& arguments);
  std::string (*reply)(lib::Json answer);
};

// Carries out the calls of Parley's tools: each is one request to the API, or a few, in the
// caller's name, and a short answer made of what came back.
class Tools {
 public:
  Tools(Api& api, const node::Broker& broker, mcp::Server& server)
      : api_(api), broker_(broker), server_(server) {}

  void one_request(const mcp::CallContext& context, const OneRequest& tool);

  void read_message(const mcp::CallContext& context);
  void send_message(const mcp::CallContext& context);
  void wait_for_message(const mcp::CallContext& context);
  void ack_message(const mcp::CallContext& context);
  void request(const mcp::CallContext& context);
  void publish(const mcp::CallContext& context);
  void find_agents(const mcp::CallContext& context);
  void session(const mcp::CallContext& context);
  void ask_human(const mcp::CallContext& context);
  void status(const mcp::CallContext& context);

  void read_inbox(const mcp::CallContext& context);
  void read_thread(const mcp::CallContext& context);
  void read_agents(const mcp::CallContext& context);

 private:
  // The caller of a tool, kept for as long as the call takes.
  struct Caller {
    mcp::CallHandle call;
    Principal principal;
    std::string traceparent;
    std::string tracestate;
    std::string_view to = "to";  // what the tool calls a receiver
  };
  static Caller caller_of(const mcp::CallContext& context);

  // Takes the answer of the API, as JSON, when it is no refusal.
  using Use = std::function<void(const net::Response&, lib::Json)>;
  // Takes a refusal; false: the call ends with the refusal as an error.
  using Refused = std::function<bool(const base::Error&)>;
  void call_api(const Caller& caller, InsideRequest request, Use use, Refused refused = {});
  // The same; the call ends with the object that `write` makes of the answer.
  using Write = std::function<std::string(lib::Json)>;
  void answer(const Caller& caller, InsideRequest request, Write write);

  struct SessionCall;
  static InsideRequest session_request(const SessionCall& wanted);

  // Ends the reading of a resource with the object that `write` makes of the answer.
  void read(const mcp::CallContext& context, InsideRequest request, Write write);

  // Sends a request and waits for its answer; `asked` names the receiver for the progress texts.
  void question(const Caller& caller, std::string body, uint64_t seconds, std::string_view asked,
                Write write);
  void ask_user(const mcp::CallContext& context, const std::string& question,
                const std::vector<std::string>& options, uint64_t seconds);
  // To the human of this name, or to the only one there is.
  void ask_by_mail(const Caller& caller, const std::string& to, const std::string& text,
                   uint64_t seconds);
  // Asks those who may approve, or the one of this name, and waits for the decision.
  void ask_approval(const Caller& caller, const std::string& to, const std::string& what,
                    uint64_t seconds);
  // While a call waits, the client gets a notification of its progress every few seconds.
  void notify_progress(const mcp::CallHandle& call, uint64_t seconds, std::string what,
                       uint64_t passed = 0);

  Api& api_;
  const node::Broker& broker_;
  mcp::Server& server_;
};

// The dialect in which the tools send and read: that of mailboxes, which models handle best. What
// `composed` writes, and the answer to it, is in `draft_dialect`.
constexpr std::string_view tool_dialect = "inbox";
constexpr std::string_view draft_dialect = "flow";
constexpr std::string_view answer_timeout = "1h";  // then a question is over, and its asker told

// A message of flow: what any agent may send to any other.
struct FlowDraft {
  std::string_view type;
  std::string_view to;
  std::string_view content;
  std::string_view priority{};
  std::string_view thread{};
  std::string_view response_timeout{};
};
std::string composed(const FlowDraft& draft);

// True when the arguments are fine; else the call is over.
bool accepted(const Arguments& arguments, const mcp::CallHandle& call);

}  // namespace parley::edge::tools
