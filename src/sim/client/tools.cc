// SPDX-License-Identifier: Apache-2.0
// What an agent does by the tools of MCP in place of the routes of HTTP.
#include <array>
#include <utility>

#include "lib/json_writer.h"
#include "sim/client/agent.h"
#include "sim/client/letters.h"

namespace parley::edge_sim {

using lib::Json;
using sim::text;
using Called = McpClient::Called;

namespace {

// Codes of refusals that say nothing of whether it was done.
bool is_unsure(std::string_view code) {
  return code == "OVERLOADED" || code == "STORAGE_FAILED" || code == "STORAGE_FULL" ||
         code == "UNAVAILABLE" || code == "UNAUTHORIZED" || code == "MCP";
}

std::string named(std::string_view key, std::string_view value) {
  std::string object;
  lib::JsonWriter(object).object().key(key).text(value).end_object();
  return object;
}

}  // namespace

void Agent::poll_by_tool(bool waits, uint64_t limit) {
  const uint64_t asked_at = stage_.step;
  const std::string arguments = waits ? R"({"seconds":20})" : text(R"({"limit":{}})", limit);
  mcp_->call(waits ? "waitForMessage" : "checkInbox", arguments,
             [this, asked_at](const Called& called) {
               polling_ = false;
               if (!called.lost && called.code.empty()) {
                 on_listing(called.text, asked_at);
               }
             });
}

void Agent::fetch_by_tool(const std::string& id) {
  mcp_->call("readMessage", named("messageId", id), [this, id](const Called& called) {
    fetching_.erase(id);
    if (called.lost || is_unsure(called.code)) {
      return;  // it is asked for again
    }
    wanted_.erase(id);
    if (called.code.empty()) {
      on_fetched(called.text, called.text.find(R"("delivery":)") != std::string::npos);
    }
    fetch_next();
  });
}

void Agent::settle_by_tool(const Mail& mail, Mail::Act act) {
  const std::string_view outcome = act == Mail::Act::ack    ? "done"
                                   : act == Mail::Act::nack ? "retry"
                                                            : "reject";
  std::string arguments;
  lib::JsonWriter(arguments)
      .object()
      .key("messageId")
      .text(mail.id)
      .key("outcome")
      .text(outcome)
      .key("reason")
      .text("so be it")
      .end_object();
  mcp_->call("ackMessage", arguments, [this, id = mail.id, act](const Called& called) {
    const bool unsure = called.lost || is_unsure(called.code);
    on_settled(id, act,
               {.lost = unsure,
                .status = called.code.empty() ? 200 : 400,
                .body = text(R"({"code":"{}"})", called.code)});
  });
}

void Agent::send_by_tool(size_t index) {
  mcp_->call("sendMessage", notes_.sent[index].text, [this, index](const Called& called) {
    Sent& sent = notes_.sent[index];
    sent.in_flight = false;
    if (called.lost || is_unsure(called.code)) {
      // It has no id by which it could be sent again without being sent twice.
      sent.fate = Sent::Fate::unknown;
      if (!sent.answers.empty()) {
        notes_.mail[sent.answers].state = Mail::State::none;
      }
      return;
    }
    lib::JsonDocument document;
    const auto receipt = document.parse(called.text);
    if (!called.code.empty()) {
      refused(index, 400, called.code);
    } else if (receipt) {
      on_receipt(index, *receipt);
    }
  });
}

// A question to another, with its answer as the result of the call.
void Agent::ask_by_tool() {
  const std::string to = stage_.random().pick(stage_.agents)->name();
  const std::string marker = stage_.new_marker(name(), {to});
  std::string arguments;
  lib::JsonWriter(arguments)
      .object()
      .key("to")
      .text(to)
      .key("content")
      .text(some_words(marker, stage_.random()))
      .key("seconds")
      .number(15)
      .end_object();
  mcp_->call("request", arguments, [this](const Called& called) {
    each_marker(called.text, [this](std::string_view seen) {
      // The answer is acknowledged with that; it has no id here.
      Mail& mail = notes_.mail["answer " + std::string(seen)];
      mail.marker = seen;
      mail.sightings = 1;
      mail.ever_acked = true;
      mail.act = Mail::Act::ack;
      mail.state = Mail::State::confirmed;
      mail.confirmed_at = stage_.step;
      notes_.markers_seen.insert(mail.marker);
    });
  });
}

void Agent::look_around() {
  if (std::exchange(ends_session_, false)) {
    mcp_->end_session();  // unless it waits for an answer in it
  }
  constexpr std::array<std::string_view, 4> others = {"status", "findAgents", "request", "thread"};
  const std::string_view tool = stage_.random().pick(others);
  if (tool == "request") {
    ask_by_tool();
  } else if (tool == "thread") {
    for (const auto& [id, mail] : notes_.mail) {
      if (!mail.thread.empty() && stage_.random().chance(200)) {
        mcp_->call("getThread", named("threadId", mail.thread), [](const Called&) {});
        break;
      }
    }
  } else {
    mcp_->call(std::string(tool), "{}", [](const Called&) {});
  }
  ends_session_ = profile_.era == McpClient::Era::sessions && stage_.random().chance(200);
}

}  // namespace parley::edge_sim
