// SPDX-License-Identifier: Apache-2.0
#include "sim/client/mcp_client.h"

#include <algorithm>
#include <utility>

#include "lib/json_writer.h"
#include "sim/client/messages.h"
#include "sim/edge/schemas.h"

namespace parley::edge_sim {

using lib::Json;
using sim::text;

namespace {

constexpr std::string_view sessions_version = "2025-11-25";
constexpr std::string_view stateless_version = "2026-07-28";
constexpr unsigned returns_max = 5;

std::string meta() {
  return R"("_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",)"
         R"("io.modelcontextprotocol/clientCapabilities":{}})";
}

std::string request_of(uint64_t id, std::string_view method, const std::string& params) {
  return text(R"({"jsonrpc":"2.0","id":{},"method":"{}","params":{{}}})", id, method, params);
}

}  // namespace

McpClient::McpClient(RunState& run, std::string_view reader, const std::string& token, Era era)
    : run_(run), reader_(reader), token_(token), era_(era) {}

Ask McpClient::ask_for(std::string_view method, std::string_view name,
                       const std::string& params) const {
  Ask ask{"POST", "/mcp", request_of(last_number_, method, params)};
  ask.headers = {{"Content-Type", "application/json"},
                 {"Accept", "application/json, text/event-stream"}};
  if (era_ == Era::stateless) {
    ask.headers.emplace_back("MCP-Protocol-Version", stateless_version);
    ask.headers.emplace_back("Mcp-Method", method);
    if (!name.empty()) {
      ask.headers.emplace_back("Mcp-Name", name);
    }
  } else if (!session_.empty()) {
    ask.headers.emplace_back("MCP-Protocol-Version", sessions_version);
    ask.headers.emplace_back("Mcp-Session-Id", session_);
  }
  return ask;
}

void McpClient::begin_session() {
  if (beginning_ != nullptr && !beginning_->is_over() && beginning_->waiting() > 0) {
    return;
  }
  beginning_ = std::make_unique<CallWire>(run_.connect(reader_));
  ++last_number_;
  beginning_->ask(
      ask_for("initialize", "",
              R"("protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"sim"})"),
      token_, [this](const Reply& reply) {
        run_.read(reader_, reply.body);
        session_ = reply.status == 200 ? reply.header("mcp-session-id") : "";
        if (!session_.empty()) {
          run_.setting.coverage.count("mcp", "session begins");
        }
      });
}

void McpClient::call(const std::string& tool, const std::string& arguments, Done done) {
  auto call = std::make_shared<Call>();
  call->tool = tool;
  call->arguments = arguments;
  call->done = std::move(done);
  calls_.push_back(std::move(call));
}

void McpClient::post(const std::shared_ptr<Call>& call) {
  call->number = ++last_number_;
  const bool lists = call->tool.empty();
  std::string params =
      lists ? "" : text(R"("name":"{}","arguments":{})", call->tool, call->arguments);
  if (era_ == Era::stateless) {
    params += (lists ? "" : ",") + meta();
  }
  ask(call, ask_for(lists ? "tools/list" : "tools/call", call->tool, params));
}

// For the rest of the answer, where its first event has come.
void McpClient::come_back(const std::shared_ptr<Call>& call) {
  run_.setting.coverage.count("mcp", "comes back");
  ++call->returns;
  call->comes_back = false;
  Ask get{.target = "/mcp"};
  get.headers = {{"Accept", "text/event-stream"},
                 {"MCP-Protocol-Version", std::string(sessions_version)},
                 {"Mcp-Session-Id", session_},
                 {"Last-Event-ID", call->last_event}};
  ask(call, get);
}

void McpClient::ask(const std::shared_ptr<Call>& call, const Ask& ask) {
  call->wire = std::make_unique<CallWire>(run_.connect(reader_));
  call->wire->ask(
      ask, token_, [this, call](const Reply& reply) { on_reply(call, reply); },
      [this, call](std::string_view id, std::string_view data) {
        call->last_event = id.empty() ? call->last_event : std::string(id);
        on_message(call, data);
      });
}

void McpClient::on_reply(const std::shared_ptr<Call>& call, const Reply& reply) {
  run_.read(reader_, reply.body);
  if (call->is_over) {
    return;
  }
  if (reply.status == 200 && reply.header("content-type").starts_with("application/json")) {
    on_message(call, reply.body);
    if (!call->is_over) {
      run_.fail("mcp", text("{} calls {}, and the answer has none: {}", reader_, call->tool,
                            reply.body.substr(0, 300)));
    }
    return;
  }
  if (reply.status == 404 && era_ == Era::sessions) {
    // Calls that wait end so when the token is replaced; the session is there for the next one.
    missed_at_ = missed_at_ == 0 ? last_number_ : missed_at_;
    if (call->number > missed_at_) {
      run_.fail("mcp", text("{} has a session that it did not end, and is told: {}", reader_,
                            reply.body.substr(0, 300)));
    }
    finish(*call, {.lost = true});
    return;
  }
  const bool can_return = era_ == Era::sessions && !call->last_event.empty() &&
                          call->returns < returns_max && reply.status != 410;
  if (can_return && (reply.lost || reply.status == 200 || reply.status >= 500)) {
    call->comes_back = true;
    return;
  }
  const bool is_left = call->returns > 0;  // What is refused then is the return, not the call.
  if (reply.lost || reply.status == 200 || reply.status == 410 || reply.status >= 500 ||
      reply.status == too_slow || is_left) {
    finish(*call, {.lost = true});
  } else {
    finish(*call, {.code = reply.status == 401 ? "UNAUTHORIZED" : std::to_string(reply.status),
                   .text = reply.body});
  }
}

void McpClient::on_message(const std::shared_ptr<Call>& call, std::string_view words) {
  run_.read(reader_, words);
  if (words.empty() || call->is_over) {
    return;  // The event that says where the stream begins.
  }
  lib::JsonDocument document;
  const auto parsed = document.parse(words);
  if (!parsed || string_of(*parsed, "jsonrpc") != "2.0") {
    run_.fail("schema", text("{} gets no message of JSON-RPC: {}", reader_, words));
    return;
  }
  if (parsed->find("method")) {
    run_.setting.coverage.count("mcp", string_of(*parsed, "method"));
    return;
  }
  if (number_of(*parsed, "id") != call->number) {
    run_.fail("mcp", text("{} asks {}, and gets the answer to another: {}", reader_, call->number,
                          words.substr(0, 300)));
    return;
  }
  missed_at_ = 0;
  const Json result = parsed->find("result");
  if (!result) {
    finish(*call, {.code = "MCP", .text = std::string(words)});
    return;
  }
  if (era_ == Era::stateless && string_of(result, "resultType") != "complete") {
    run_.fail("schema", text("{} gets a result without its type: {}", reader_, words));
  }
  if (call->tool.empty()) {
    keep_tools(result);
    finish(*call, {});
    return;
  }
  const Json is_error = result.find("isError");
  if (is_error && is_error.as_bool() == true) {
    std::string said;
    for (const Json each : result.find("content").elements()) {
      said += string_of(each, "text");
    }
    run_.setting.coverage.count("mcp refused", said.substr(0, said.find(':')));
    finish(*call, {.code = said.substr(0, said.find(':')), .text = said});
    return;
  }
  check_content(*call, result);
  const Json content = result.find("structuredContent");
  finish(*call, {.text = std::string(content ? content.raw() : "{}")});
}

void McpClient::keep_tools(Json result) {
  const auto kept = tools_.parse(result.raw());
  outputs_.clear();
  for (const Json tool : kept->find("tools").elements()) {
    outputs_.emplace(string_of(tool, "name"), tool.find("outputSchema"));
  }
}

// What a tool answers is what it said that it would.
void McpClient::check_content(const Call& call, Json result) {
  const auto at = outputs_.find(call.tool);
  const Json content = result.find("structuredContent");
  run_.setting.coverage.count("mcp", call.tool);
  const std::string fault = at == outputs_.end() ? ""
                            : content            ? published_schemas().fault(at->second, content)
                                                 : "has no structured content";
  if (!fault.empty()) {
    run_.fail("schema",
              text("{} calls {}: {}: {}", reader_, call.tool, fault, result.raw().substr(0, 600)));
  }
}

void McpClient::finish(Call& call, const Called& called) {
  call.is_over = true;
  if (run_.setting.verbose) {
    run_.setting.note(text("{} {}: calls {} {} -> {} {} {}", run_.step, reader_, call.tool,
                           call.arguments.substr(0, 200), called.lost ? "lost" : "", called.code,
                           called.text.substr(0, 300)));
  }
  const Done done = std::move(call.done);
  done(called);
}

void McpClient::pump(size_t bytes_max) {
  if (beginning_ != nullptr) {
    beginning_->pump(bytes_max);
  }
  if (other_ != nullptr) {
    other_->pump(bytes_max);
  }
  if (era_ == Era::sessions && session_.empty() && !calls_.empty()) {
    begin_session();
  }
  const std::vector<std::shared_ptr<Call>> calls = calls_;
  for (const std::shared_ptr<Call>& call : calls) {
    if (call->is_over) {
      continue;
    }
    if (call->comes_back) {
      come_back(call);
    } else if (call->wire != nullptr) {
      call->wire->pump(bytes_max);
    } else if (era_ == Era::stateless || !session_.empty()) {
      post(call);
    }
  }
  std::erase_if(calls_, [](const auto& call) {
    if (call->is_over) {
      call->wire.reset();  // Which knows the call.
    }
    return call->is_over;
  });
}

std::string McpClient::pending() const {
  std::string all;
  for (const std::shared_ptr<Call>& call : calls_) {
    all += text(" {}: {}{}, event {}, came back {} times", call->number, call->tool,
                call->wire == nullptr ? " not asked yet" : "", call->last_event, call->returns);
  }
  return all;
}

void McpClient::lose_connection() {
  sim::Random& random = run_.random();
  if (calls_.empty()) {
    return;
  }
  const std::shared_ptr<Call> call = random.pick(calls_);
  if (call->wire == nullptr) {
    return;
  }
  run_.cut(*call->wire);
  BytePipe& pipe = call->wire->pipe();
  pipe.up.resize(random.below(pipe.up.size() + 1));
  pipe.down.resize(random.below(pipe.down.size() + 1));
  pipe.client_gone = true;
  pipe.server_gone = true;  // As the client sees it.
}

void McpClient::hang_up() {
  const std::vector<std::shared_ptr<Call>> calls = std::exchange(calls_, {});
  for (const std::shared_ptr<Call>& call : calls) {
    if (call->wire != nullptr) {
      run_.cut(*call->wire);
    }
    if (!call->is_over) {
      finish(*call, {.lost = true});
    }
    call->wire.reset();
  }
  beginning_.reset();
  other_.reset();
  session_.clear();
}

void McpClient::end_session() {
  if (session_.empty() || !calls_.empty()) {
    return;
  }
  const std::string session = std::exchange(session_, {});
  other_ = std::make_unique<CallWire>(run_.connect(reader_));
  other_->ask({"DELETE", "/mcp", "", {{"Mcp-Session-Id", session}}}, token_,
              [this](const Reply& reply) {
                if (reply.status != 204 && !reply.lost && reply.status < 500) {
                  run_.fail("mcp", text("{} ends its session and is told {} {}", reader_,
                                        reply.status, reply.body));
                }
              });
  Ask ping{"POST", "/mcp", request_of(++last_number_, "ping", "")};
  ping.headers = {{"Mcp-Session-Id", session},
                  {"Content-Type", "application/json"},
                  {"Accept", "application/json, text/event-stream"}};
  other_->ask(ping, token_, [this](const Reply& reply) {
    if (!reply.lost && reply.status < 500) {
      run_.setting.coverage.count("mcp", "session ends");
      if (reply.status != 404 && reply.status != 401) {
        run_.fail("mcp", text("{} ended its session, and it is answered {} {}", reader_,
                              reply.status, reply.body));
      }
    }
  });
}

bool is_unsure(std::string_view code) {
  return code == "OVERLOADED" || code == "STORAGE_FAILED" || code == "STORAGE_FULL" ||
         code == "UNAVAILABLE" || code == "UNAUTHORIZED" || code == "MCP";
}

std::string tool_argument(std::string_view key, std::string_view value) {
  std::string object;
  lib::JsonWriter(object).object().key(key).text(value).end_object();
  return object;
}

}  // namespace parley::edge_sim
