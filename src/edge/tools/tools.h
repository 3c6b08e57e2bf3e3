// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "edge/api/api.h"
#include "edge/mcp/replies.h"
#include "edge/mcp/server.h"
#include "edge/tools/arguments.h"
#include "edge/tools/offer.h"

namespace parley::edge::mcp {

// Carries out the calls of Parley's tools: each is one request to the API, or a few, in the
// caller's name, and a short answer made of what came back.
class Desk {
 public:
  Desk(Api& api, Server& server) : api_(api), server_(server) {}

  void check_inbox(const Ask& ask);
  void read_message(const Ask& ask);
  void send_message(const Ask& ask);
  void wait_for_message(const Ask& ask);
  void ack_message(const Ask& ask);
  void request(const Ask& ask);
  void publish(const Ask& ask);
  void find_agents(const Ask& ask);
  void get_thread(const Ask& ask);
  void session(const Ask& ask);
  void ask_human(const Ask& ask);
  void status(const Ask& ask);

  void read_inbox(const Ask& ask);
  void read_thread(const Ask& ask);
  void read_agents(const Ask& ask);

 private:
  // Who asks, kept for as long as the call takes.
  struct Caller {
    Run run;
    Principal principal;
    std::string traceparent;
    std::string tracestate;
    std::string_view to = "to";  // what the tool calls a receiver
  };
  static Caller caller_of(const Ask& ask);

  // What is asked of the API. `dialect` is that of the body and of the answer.
  struct Inner {
    std::string_view method = "GET";
    std::string path;
    std::string query{};
    std::string body{};
    std::string_view dialect{};
    std::string if_match{};
  };
  // The answer of the API, which is no refusal, as JSON.
  using Use = std::function<void(const net::Response&, lib::Json)>;
  // Hears of a refusal; true when it took care of it.
  using Refused = std::function<bool(lib::Json problem)>;
  void call(const Caller& caller, const Inner& inner, Use use, Refused refused = {});
  // The same, ending the tool's call with the object that `write` makes of the answer.
  using Write = std::function<std::string(lib::Json)>;
  void answer(const Caller& caller, const Inner& inner, Write write);

  struct SessionCall;
  static Inner session_inner(const SessionCall& wanted);

  // Reads a resource.
  void read(const Ask& ask, const Inner& inner, Write write);

  // `asked` is who.
  void question(const Caller& caller, std::string body, uint64_t seconds, std::string_view asked,
                Write write);
  void ask_user(const Ask& ask, const std::string& question,
                const std::vector<std::string>& options, uint64_t seconds);
  // To the human of this name, or to the only one there is.
  void ask_by_mail(const Caller& caller, const std::string& to, const std::string& text,
                   uint64_t seconds);
  // While a call waits the client hears of it from time to time.
  void keep_telling(const Run& run, uint64_t seconds, std::string what, uint64_t passed = 0);

  Api& api_;
  Server& server_;
};

// A message of flow: what any agent may send to any other.
struct Draft {
  std::string_view type;
  std::string_view to;
  std::string_view content;
  std::string_view priority{};
  std::string_view thread{};
  std::string_view response_timeout{};
};
std::string composed(const Draft& draft);

// True when the arguments are fine; else the call is over.
bool accepted(const Arguments& arguments, const Run& run);

}  // namespace parley::edge::mcp
