// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "edge/mcp/rpc.h"
#include "edge/principal.h"
#include "lib/json.h"
#include "net/write_report.h"

namespace parley::edge::mcp {

// One call of a tool, prompt or resource, as the function that carries it out sees it. Everything
// here is called and calls on the server's thread; nothing may block. JSON is passed as text, and
// must be JSON without line ends.

class Calls;

enum class Era : uint8_t { legacy, modern };  // 2025-11-25 and older; 2026-07-28

struct Client {
  Principal principal;
  Era era = Era::legacy;
  ClientCapabilities can;
  std::string name;  // as it calls itself; may be empty
  // Of the trace that the call is a part of; may be empty.
  std::string traceparent;
  std::string tracestate;
};

// What a call ends with. `members` are JSON without the braces, and say nothing of `isError`: that
// is written for a result that has failed.
struct Result {
  std::string members;
  bool has_failed = false;
  std::vector<net::Report> reports{};  // of those who want to know whether it was written
};

// What the client is asked for in the middle of a call, by a method that it has declared
// (ClientCapabilities).
struct Question {
  std::string key;     // by which the answer is found
  std::string method;  // elicitation/create, sampling/createMessage or roots/list
  std::string params;  // JSON object
};
// A form: `schema` is an object of strings, numbers, booleans and enums.
Question form(std::string key, std::string_view message, std::string_view schema);

// One call on its way to its answer. A handle: copy it into whatever finishes the call later. Once
// the call is answered or cancelled, it does nothing.
class CallHandle {
 public:
  CallHandle(Calls& calls, uint64_t id) : calls_(&calls), id_(id) {}

  // Ends the call; see the makers of results below.
  void done(const Result& result) const;
  void fail(const RpcError& error) const;

  // Notifies the client of the progress, if it asked for that.
  void progress(double done, double total, std::string_view message = {}) const;
  bool wants_progress() const;
  void log(Level level, std::string_view logger, std::string_view data_json) const;

  // Runs then, unless the call is over before.
  void at(base::Time when, std::function<void()> act) const;

  // Runs once if the client cancels the call, or is gone and that counts as such; not after `done`.
  // The last one given counts.
  void on_cancel(std::function<void()> undo) const;
  bool is_over() const;

  // Asks the client, and returns. When the answers are there, the same function is called again
  // with the same arguments, all answers so far, and `state`, which the client cannot read or
  // change. In between the call takes no place here in the modern era: the client may never come
  // back. Only for tools, prompts and the reading of resources, and what the client can do.
  void ask(std::vector<Question> questions, std::string state = {}) const;

  // Whether the client can be asked over this call: one of the legacy era must take events.
  bool can_ask() const;

  // The stream of the answer ends now, and the client fetches the rest by another one. Where it
  // cannot, nothing happens.
  void hang_up() const;

 private:
  Calls* calls_;
  uint64_t id_;
};

using Answers = std::map<std::string, std::string, std::less<>>;  // by key: a result as JSON

// What the function of a feature gets. Good while the function runs; `call` for as long as it is
// wanted.
struct CallContext {
  CallHandle call;
  const Client& client;
  lib::Json arguments;     // an object; of a resource: its variables
  std::string_view uri;    // of a resource
  std::string_view state;  // as given to `ask`; empty at first
  const Answers& answers;

  // Empty while there is none. Of a form: {"action":"accept","content":{…}}, or decline, cancel.
  std::string_view answer(std::string_view key) const;
};
using Handler = std::function<void(const CallContext&)>;

// Results, for CallHandle::done.
Result tool_text(std::string_view text);
// Structured content, and the same as text for clients that know no other.
Result tool_json(std::string_view object);
// A refusal that the model reads: code, what was wrong, what to do.
Result tool_error(std::string_view text);
Result tool_error(base::Code code, std::string_view text);
Result resource_text(std::string_view uri, std::string_view mime_type, std::string_view text);
Result prompt_text(std::string_view description, std::string_view text);

// The result of a resource that is not there, for CallHandle::fail; the protocol's versions differ.
RpcError resource_not_found(const CallContext& context);

}  // namespace parley::edge::mcp
