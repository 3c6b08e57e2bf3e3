// SPDX-License-Identifier: Apache-2.0
// `parley mcp check`: the way of one message through the tools that a model uses.
#include <chrono>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include "app/client/agent_token.h"
#include "app/mcp/check.h"
#include "app/mcp/event_stream.h"
#include "app/mcp/message.h"
#include "app/text/terminal.h"
#include "lib/crypto.h"
#include "lib/json.h"
#include "lib/json_writer.h"

namespace parley::app {

namespace {

using Clock = std::chrono::steady_clock;
using lib::Json;
using lib::JsonWriter;

constexpr base::Duration patience = base::seconds(10);

struct Step {
  std::string name;
  std::string detail;  // what was found, or what is wrong
  std::string advice;  // of a failed one: what to do
  bool is_ok = false;
  double ms = 0;
};

// Calls the tools as the agent would, one step after another, and keeps what each gave.
class Check {
 public:
  Check(std::string agent, ClientOptions options)
      : agent_(std::move(agent)), options_(std::move(options)) {}

  // Stops at the first step that fails.
  bool run() {
    const bool is_ok = step("broker", &Check::find) && step("connect", &Check::discover) &&
                       step("identity", &Check::who) && step("send", &Check::send) &&
                       step("receive", &Check::receive) && step("read", &Check::read) &&
                       step("ack", &Check::ack);
    if (!is_ok && !id_.empty()) {
      take_back();
    }
    return is_ok;
  }
  const std::vector<Step>& steps() const { return steps_; }

 private:
  using Outcome = std::expected<std::string, Failure>;

  bool step(const char* name, Outcome (Check::*act)()) {
    const auto from = Clock::now();
    const Outcome outcome = (this->*act)();
    const std::chrono::duration<double, std::milli> took = Clock::now() - from;
    steps_.push_back({.name = name, .is_ok = outcome.has_value(), .ms = took.count()});
    Step& done = steps_.back();
    done.detail = outcome ? *outcome : outcome.error().detail;
    done.advice = outcome ? "" : outcome.error().advice;
    return done.is_ok;
  }

  Outcome find();
  Outcome discover();
  Outcome who();
  Outcome send();
  Outcome receive();
  Outcome read();
  Outcome ack();
  // Settles what was sent, so that a failed check leaves nothing behind.
  void take_back();

  // The result of a method, in `document_` until the next call.
  std::expected<Json, Failure> ask(const std::string& method, const std::string& params);
  // What a tool gave; a failure when it refused.
  std::expected<Json, Failure> use(const std::string& tool, const std::string& arguments);
  // As the broker has it: queued, read, acked.
  std::string state() const;

  std::string agent_;
  ClientOptions options_;
  BrokerAddress address_;
  std::string me_;
  std::string id_;
  std::string text_;
  int number_ = 0;
  lib::JsonDocument document_;
  std::vector<Step> steps_;
};

// The answer may be an event of a stream that ends with it.
std::string answer_in(const std::string& body) {
  if (body.starts_with('{')) {
    return body;
  }
  EventStream events;
  events.feed(body);
  std::string answer;
  while (const auto event = events.next()) {
    answer = event->data;
  }
  return answer;
}

std::expected<Json, Failure> Check::ask(const std::string& method, const std::string& params) {
  const std::string line =
      R"({"jsonrpc":"2.0","id":)" + std::to_string(++number_) + R"(,"method":")" + method +
      R"(","params":{)" + params + (params.empty() ? "" : ",") +
      R"("_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",)"
      R"("io.modelcontextprotocol/clientCapabilities":{},)"
      R"("io.modelcontextprotocol/clientInfo":{"name":"parley-check","version":")" PARLEY_VERSION
      R"("}}}})";
  HttpCall call{"POST", "/mcp", line, mcp_headers(read_mcp_message(line)), patience};
  call.headers.emplace_back("Accept", "application/json, text/event-stream");
  const auto reply = exchange(address_, call);
  if (!reply) {
    return std::unexpected(reply.error());
  }
  const auto json = document_.parse(answer_in(reply->body));
  const bool is_rpc = json && json->is_object() && json->find("jsonrpc");
  if (reply->status == 401 && !agent_.empty() && options_.token.empty()) {
    return std::unexpected(stale_token(agent_, address_.url));
  }
  if (!is_rpc) {
    return std::unexpected(refusal(*reply));
  }
  if (const Json error = json->find("error")) {
    return std::unexpected(
        Failure{"BAD_ANSWER", method + ": " + text_of(error, "message"),
                "See that the broker is of this version; `parley doctor` looks at it."});
  }
  return json->find("result");
}

std::expected<Json, Failure> Check::use(const std::string& tool, const std::string& arguments) {
  const auto result = ask("tools/call", R"("name":")" + tool + R"(","arguments":)" + arguments);
  if (!result) {
    return result;
  }
  if (result->find("isError").as_bool() == true) {
    std::string said;
    for (const Json part : result->find("content").elements()) {
      said = text_of(part, "text");
    }
    return std::unexpected(Failure{"REFUSED", tool + ": " + said, {}});
  }
  const Json given = result->find("structuredContent");
  if (!given.is_object()) {
    return std::unexpected(Failure{"BAD_ANSWER", tool + " gave no structured content", {}});
  }
  return given;
}

std::string Check::state() const {
  const auto reply = exchange(address_, {"GET", "/v1/messages/" + encoded(id_) + "/delivery"});
  lib::JsonDocument document;
  const auto json = reply ? document.parse(reply->body) : std::unexpected(base::Error{});
  const Json deliveries = json ? json->find("deliveries") : Json();
  for (const Json delivery : deliveries.elements()) {
    return text_of(delivery, "state");
  }
  return "unknown";
}

Check::Outcome Check::find() {
  const auto address = find_broker_as(agent_, options_);
  if (!address) {
    return std::unexpected(address.error());
  }
  address_ = *address;
  const auto reply = exchange(address_, {"GET", "/livez"});
  if (!reply) {
    return std::unexpected(reply.error());
  }
  if (reply->status != 200) {
    return std::unexpected(refusal(*reply));
  }
  return address_.url;
}

Check::Outcome Check::discover() {
  const auto result = ask("server/discover", "");
  if (!result) {
    return std::unexpected(result.error());
  }
  const Json server = result->find("_meta").find("io.modelcontextprotocol/serverInfo");
  const Json versions = result->find("supportedVersions");
  return "MCP " + std::string(versions ? versions.raw() : "?") + " by " + text_of(server, "name") +
         " " + text_of(server, "version");
}

Check::Outcome Check::who() {
  const auto status = use("status", "{}");
  if (!status) {
    return std::unexpected(status.error());
  }
  me_ = text_of(status->find("you"), "id");
  if (!agent_.empty() && me_ != agent_) {
    return std::unexpected(
        Failure{"SENDER_MISMATCH", "the token kept for " + agent_ + " is that of " + me_,
                "Keep the right one with `parley agent keep " + shell_word(agent_) + "`."});
  }
  return me_ + " (" + text_of(status->find("you"), "dialect") + ")";
}

Check::Outcome Check::send() {
  text_ = "parley mcp check " + base::format_uuid(lib::random_uuid());
  std::string arguments;
  JsonWriter(arguments)
      .object()
      .key("to")
      .text(me_)
      .key("content")
      .text(text_)
      .key("type")
      .text("status")
      .key("priority")
      .text("high")
      .end_object();
  const auto receipt = use("sendMessage", arguments);
  if (!receipt) {
    return std::unexpected(receipt.error());
  }
  id_ = text_of(*receipt, "id");
  return text_of(*receipt, "state") + ", then " + state() + "; id " + id_;
}

Check::Outcome Check::receive() {
  const auto inbox = use("checkInbox", R"({"limit":100})");
  if (!inbox) {
    return std::unexpected(inbox.error());
  }
  size_t before = 0;
  for (const Json each : inbox->find("notifications").elements()) {
    if (text_of(each, "id") == id_) {
      return std::to_string(before) + " messages before it; " + state();
    }
    ++before;
  }
  return std::unexpected(Failure{
      "NOT_DELIVERED", "the inbox does not list it; it is " + state(),
      before >= 100 ? "Settle what waits first: `parley inbox` lists it."
                    : "Another client of the same agent may have taken it; stop that one."});
}

Check::Outcome Check::read() {
  const auto message = use("readMessage", R"({"messageId":")" + id_ + R"("})");
  if (!message) {
    return std::unexpected(message.error());
  }
  const lib::Json sent = message->find("message");
  if (text_of(sent, "content") != text_ || text_of(sent, "from") != me_) {
    return std::unexpected(Failure{"BAD_ANSWER", "what was read is not what was sent", {}});
  }
  return "from " + me_ + ", as it was sent; " + state();
}

Check::Outcome Check::ack() {
  const auto done = use("ackMessage", R"({"messageId":")" + id_ + R"("})");
  if (!done) {
    return std::unexpected(done.error());
  }
  const std::string now = state();
  if (now != "acked") {
    return std::unexpected(Failure{"BAD_ANSWER", "acknowledged, yet it is " + now, {}});
  }
  return now;
}

void Check::take_back() {
  const std::string arguments = R"({"messageId":")" + id_ + R"("})";
  (void)use("readMessage", arguments);
  (void)use("ackMessage", arguments);
}

void print_lines(const std::vector<Step>& steps) {
  const bool colours = wants_colours();
  for (const Step& step : steps) {
    std::string name = step.name;
    name.resize(9, ' ');
    std::printf(
        "%s %s %s\n",
        coloured(step.is_ok ? "ok  " : "fail", step.is_ok ? Colour::green : Colour::red, colours)
            .c_str(),
        name.c_str(), printable(step.detail).c_str());
    if (!step.advice.empty()) {
      std::printf("     %s\n", printable(step.advice).c_str());
    }
  }
}

void print_steps(const std::vector<Step>& steps, bool is_ok) {
  std::string out;
  JsonWriter writer(out);
  writer.object().key("ok").boolean(is_ok).key("steps").array();
  for (const Step& step : steps) {
    writer.object().key("step").text(step.name).key("ok").boolean(step.is_ok);
    writer.key("detail").text(step.detail);
    if (!step.advice.empty()) {
      writer.key("advice").text(step.advice);
    }
    writer.key("ms").real(step.ms).end_object();
  }
  writer.end_array().end_object();
  print_json(out);
}

}  // namespace

int run_mcp_check(const std::string& agent, const ClientOptions& options) {
  Check check(agent, options);
  const bool is_ok = check.run();
  if (options.json) {
    print_steps(check.steps(), is_ok);
  } else {
    print_lines(check.steps());
  }
  return is_ok ? 0 : 1;
}

}  // namespace parley::app
