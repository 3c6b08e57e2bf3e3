// SPDX-License-Identifier: Apache-2.0
#include "sim/client/messages.h"

#include <algorithm>
#include <array>

#include "base/check.h"
#include "base/ids.h"
#include "lib/crypto.h"
#include "lib/json_writer.h"
#include "sim/edge/run_state.h"

namespace parley::edge_sim {

namespace {

using lib::Json;
using lib::JsonWriter;

std::string in_flow(const Draft& draft, Time now, const std::string& id) {
  std::string text;
  JsonWriter out(text);
  out.object().key("id").text(id).key("type").text(draft.type);
  if (!draft.conversation.empty()) {
    out.key("conversation_id").text(draft.conversation);
  }
  out.key("sender").text(draft.sender).key("receiver").text(draft.receiver);
  out.key("priority").text(draft.priority);
  if (!draft.on_timeout.empty()) {
    out.key("on_timeout").text(draft.on_timeout);
  }
  if (draft.response_timeout.us > 0) {
    out.key("response_timeout").duration(draft.response_timeout);
  }
  if (draft.type == "response") {
    out.key("status").text("success");
  }
  out.key("payload").object().key("content_type").text("text");
  out.key("body").text(draft.words).end_object();
  out.key("metadata").object().key("timestamp").time(now);
  if (draft.ttl.us > 0) {
    out.key("ttl").duration(draft.ttl);
  }
  if (draft.requires_ack) {
    out.key("requires_ack").boolean(true);
  }
  if (!draft.in_reply_to.empty()) {
    out.key("in_reply_to").text(draft.in_reply_to);
  }
  out.end_object().end_object();
  return text;
}

std::string_view collab_type(std::string_view type) {
  return type == "request" ? "command" : type == "query" || type == "response" ? type : "event";
}

int collab_priority(std::string_view priority) {
  return priority == "critical" ? 3 : priority == "high" ? 2 : priority == "normal" ? 1 : 0;
}

std::string in_collab(const Draft& draft, Time now, const std::string& id) {
  std::string text;
  JsonWriter out(text);
  out.object().key("id").text(id).key("version").text("1.0");
  out.key("from").text(draft.sender).key("to").text(draft.receiver);
  out.key("type").text(collab_type(draft.type));
  out.key("priority").number(collab_priority(draft.priority));
  out.key("timestamp").time(now).key("action").text("do-it");
  out.key("payload").object().key("text").text(draft.words).end_object();
  if (!draft.in_reply_to.empty()) {
    out.key("correlationId").text(draft.in_reply_to);
  }
  if (draft.ttl.us > 0) {
    out.key("expiresAt").time(now + draft.ttl);
  }
  out.end_object();
  return text;
}

std::string in_inbox(const Draft& draft, Time, const std::string& id) {
  std::string content;
  JsonWriter inner(content);
  std::string_view type = "status";
  if (draft.type == "request") {
    type = "task";
    inner.object().key("taskId").text(draft.task).key("title").text("work");
    inner.key("description").text(draft.words).end_object();
  } else if (draft.type == "response") {
    type = "result";
    inner.object().key("taskId").text(draft.task).key("status").text("complete");
    inner.key("result").text(draft.words).end_object();
  } else {
    content = draft.words;
  }
  std::string text;
  JsonWriter out(text);
  out.object();
  if (!id.empty()) {
    out.key("id").text(id);
  }
  out.key("to").text(draft.receiver).key("type").text(type);
  out.key("priority").text(draft.priority == "critical" ? "high" : draft.priority);
  if (draft.type != "response") {
    out.key("threadId").text(draft.conversation);
  }
  out.key("content").text(content).end_object();
  return text;
}

// What is neither a task nor its end is said as the health of the agent: no other type is free.
std::string in_superprompt(const Draft& draft, Time now, const std::string& id) {
  std::string text;
  JsonWriter out(text);
  out.object().key("message_id").text(id).key("timestamp").time(now);
  out.key("from_agent").text(draft.sender).key("to_agent").text(draft.receiver);
  if (draft.type == "request" || draft.type == "query") {
    out.key("message_type").text("task_delegation");
    out.key("event_context").object().key("event_type").text("message").end_object();
    out.key("task").object().key("description").text(draft.words);
    const bool is_urgent = draft.priority == "high" || draft.priority == "critical";
    out.key("priority").text(is_urgent ? "high" : draft.priority == "low" ? "low" : "medium");
    if (draft.response_timeout.us > 0) {
      out.key("timeout_seconds").number(1 + draft.response_timeout.us / 1'000'000);
    }
    out.end_object();
  } else if (draft.type == "response") {
    out.key("message_type").text("task_completion").key("in_reply_to").text(draft.in_reply_to);
    out.key("task_id").text(draft.in_reply_to).key("status").text("success");
    out.key("confidence_score").number(1).key("rationale").text("done");
    out.key("next_steps").array().text(draft.words).end_array();
  } else {
    out.key("message_type").text("agent_health_check").key("status").text("healthy");
    out.key("issues").array().text(draft.words).end_array();
  }
  out.end_object();
  return text;
}

std::string_view squad_priority(std::string_view priority) {
  return priority == "critical" ? "P0"
         : priority == "high"   ? "P1"
         : priority == "low"    ? "P3"
                                : "P2";
}

// What neither asks nor answers is a report: a response to nothing.
std::string in_squad(const Draft& draft, Time now, const std::string& id) {
  std::string text;
  JsonWriter out(text);
  const bool asks = draft.type == "request" || draft.type == "query";
  out.object().key("id").text(id).key("timestamp").time(now);
  out.key("from").text(draft.sender).key("to").text(draft.receiver);
  out.key("type").text(draft.type == "request" ? "handoff" : asks ? "query" : "response");
  out.key("priority").text(squad_priority(draft.priority)).key("subject").text("work");
  out.key("body").object().key(asks ? "task" : "summary").text(draft.words).end_object();
  if (!draft.conversation.empty()) {
    out.key("thread_id").text(draft.conversation);
  }
  if (draft.type == "response") {
    out.key("reply_to").text(draft.in_reply_to).key("status").text("completed");
  }
  if (draft.ttl.us > 0) {
    constexpr double hour_us = 3.6e9;
    out.key("ttl_hours").real(static_cast<double>(draft.ttl.us) / hour_us);
  }
  out.end_object();
  return text;
}

// How a client writes. Not by the codecs, which are under test: a new dialect has a row of its own.
struct Writer {
  std::string_view dialect;  // or `mcp`: what a tool sends
  std::string (*write)(const Draft& draft, Time now, const std::string& id);
};
constexpr std::array<Writer, 6> writers = {{{"flow", in_flow},
                                            {"collab", in_collab},
                                            {"inbox", in_inbox},
                                            {"superprompt", in_superprompt},
                                            {"squad", in_squad},
                                            {"mcp", in_inbox}}};

// The task that an inbox message is about: its content is JSON in text.
std::string task_in(Json message) {
  lib::JsonDocument document;
  const auto content = document.parse(string_of(message, "content"));
  return std::string(content ? string_of(*content, "taskId") : "");
}

}  // namespace

std::string_view string_of(Json object, std::string_view name) {
  const Json value = object ? object.find(name) : Json{};
  return value ? value.as_string().value_or("") : std::string_view{};
}

uint64_t number_of(Json object, std::string_view name) {
  const Json value = object ? object.find(name) : Json{};
  return value ? value.as_uint64().value_or(0) : 0;
}

std::string encode(std::string_view dialect, const Draft& draft, Time now, std::string& id) {
  const std::string uuid = base::format_uuid(lib::random_uuid());
  id = dialect == "flow"    ? uuid
       : dialect == "mcp"   ? ""
       : dialect == "squad" ? "MSG-20260101-000000-" + uuid.substr(0, 13)
                            : "msg-" + uuid.substr(0, 13);
  const auto* const writer = std::ranges::find(writers, dialect, &Writer::dialect);
  CHECK(writer != writers.end());
  return writer->write(draft, now, id);
}

std::string some_words(std::string_view marker, sim::Random& random, uint64_t size_max) {
  std::string words(marker);
  const uint64_t roll = random.below(100);
  const uint64_t size = roll < 85   ? random.below(60)
                        : roll < 98 ? random.below(std::min<uint64_t>(size_max, 3'000))
                                    : random.below(size_max);
  words.append(" ");
  for (uint64_t n = 0; n < size; ++n) {
    words.push_back(static_cast<char>('a' + n % 26));
  }
  return words;
}

MessageFields fields_of(std::string_view dialect, Json message) {
  const bool is_flow = dialect == "flow";
  const bool is_superprompt = dialect == "superprompt";
  MessageFields fields;
  fields.id = string_of(message, is_superprompt ? "message_id" : "id");
  fields.from = string_of(message, is_superprompt ? "from_agent" : is_flow ? "sender" : "from");
  fields.to = string_of(message, is_superprompt ? "to_agent" : is_flow ? "receiver" : "to");
  fields.type = string_of(message, is_superprompt ? "message_type" : "type");
  const Json priority =
      is_superprompt ? message.find("task").find("priority") : message.find("priority");
  fields.priority = priority ? std::string(priority.raw()) : "";
  fields.task = dialect == "inbox" ? task_in(message) : "";
  const std::string& type = fields.type;
  fields.wants_answer = type == "request" || type == "query" || type == "command" ||
                        type == "task" || type == "task_delegation" || type == "handoff";
  const Json metadata = message.find("metadata");
  const Json foreign = is_flow && metadata ? metadata.find("foreign") : message.find("foreign");
  fields.thread = is_flow              ? string_of(message, "conversation_id")
                  : dialect == "inbox" ? string_of(message, "threadId")
                  : dialect == "squad" ? string_of(message, "thread_id")
                                       : string_of(foreign, "thread");
  if (foreign && foreign.find("priority")) {  // What the dialect has no word for.
    fields.priority += foreign.find("priority").raw();
  }
  fields.may_repeat = string_of(message, "on_timeout") == "retry" ||
                      (foreign && string_of(foreign, "dialect") == "collab") ||
                      (foreign && string_of(foreign, "dialect") == "superprompt") ||
                      type == "task_delegation" || string_of(foreign, "on_timeout") == "retry" ||
                      type == "command" || (dialect == "collab" && type == "query");
  constexpr std::string_view traced = R"("traceparent":"00-)";
  if (const size_t at = message.raw().find(traced); at != std::string_view::npos) {
    fields.trace = message.raw().substr(at + traced.size(), 32);
  }
  each_marker(message.raw(), [&fields](std::string_view marker) {
    fields.marker = fields.marker.empty() ? std::string(marker) : fields.marker;
  });
  return fields;
}

std::string percent_encoded(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const bool plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                       c == '-' || c == '_' || c == '.';
    constexpr std::string_view digits = "0123456789ABCDEF";
    const auto byte = static_cast<unsigned char>(c);
    plain ? out.push_back(c) : void(out.append({'%', digits[byte >> 4], digits[byte & 15]}));
  }
  return out;
}

}  // namespace parley::edge_sim
