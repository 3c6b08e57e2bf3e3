// SPDX-License-Identifier: Apache-2.0
#include "app/text/compose.h"

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <system_error>

#include "base/size.h"
#include "lib/json_writer.h"

namespace parley::app {

namespace {

// More than any dialect takes, so that the broker's own limit is the one that speaks.
constexpr size_t body_bytes_max = size_t{8} << 20;

Failure unreadable(const std::string& what, const std::string& why) {
  return {"BAD_REQUEST", "the body cannot be read from " + what + ": " + why,
          "Give the text itself, `-` for standard input, or @FILE."};
}

std::expected<std::string, Failure> read_stream(std::FILE* stream, const std::string& name) {
  std::string text(body_bytes_max + 1, '\0');
  text.resize(std::fread(text.data(), 1, text.size(), stream));
  if (std::ferror(stream) != 0) {
    return std::unexpected(unreadable(name, std::generic_category().message(errno)));
  }
  if (text.size() > body_bytes_max) {
    return std::unexpected(Failure{"PAYLOAD_TOO_LARGE",
                                   name + " has more than " + base::format_size(body_bytes_max),
                                   "Send a reference to an artifact instead."});
  }
  return text;
}

}  // namespace

std::expected<std::string, Failure> read_source(const std::string& source) {
  if (source == "-") {
    return read_stream(stdin, "standard input");
  }
  if (!source.starts_with('@')) {
    return source;
  }
  const std::string path = source.substr(1);
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) {
    return std::unexpected(unreadable(path, "it is a directory"));
  }
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(
      std::fopen(path.c_str(), "rb"), [](std::FILE* f) { return std::fclose(f); });
  if (!file) {
    return std::unexpected(unreadable(path, std::generic_category().message(errno)));
  }
  return read_stream(file.get(), path);
}

void follow(lib::Json original, Draft& draft) {
  const std::string id = text_of(original, "id");
  draft.in_reply_to = id.empty() ? draft.in_reply_to : id;
  draft.to = draft.to.empty() ? text_of(original, "sender") : draft.to;
  draft.thread = draft.thread.empty() ? text_of(original, "conversation_id") : draft.thread;
}

namespace {

// What a text is in a message of this type; empty: it needs members that a text cannot give.
std::string_view superprompt_text(std::string_view type) {
  return type == "task_delegation" ? "description" : type == "task_completion" ? "rationale" : "";
}

}  // namespace

std::expected<std::string, Failure> read_body(const Draft& draft) {
  if (draft.is_superprompt() && draft.as != "json" && superprompt_text(draft.type).empty()) {
    return std::unexpected(
        Failure{"BAD_REQUEST", "a " + draft.type + " has members that a text does not give",
                "Give them with --as json '{...}'; schemas/superprompt names them. The broker "
                "fills in what every message has."});
  }
  auto body = read_source(draft.body);
  if (!body || draft.as != "json") {
    return body;
  }
  lib::JsonDocument document;
  const auto json = document.parse(*body, {.bytes_max = body_bytes_max});
  if (!json || !json->is_object()) {
    return std::unexpected(Failure{
        "BAD_REQUEST",
        json ? "the body is JSON, but no object" : "the body is no JSON: " + json.error().detail,
        "Give an object such as '{\"task\": 42}', or leave --as json out to send it as text."});
  }
  return std::string(json->raw());
}

namespace {

// The words of flow for the type and the priority in those of collab.
std::string_view collab_type(std::string_view type) {
  return type == "request"                               ? "command"
         : type == "notification" || type == "broadcast" ? "event"
                                                         : type;
}

int collab_priority(std::string_view priority) {
  return priority == "critical" ? 3 : priority == "high" ? 2 : priority == "low" ? 0 : 1;
}

std::string compose_collab(const Draft& draft, std::string_view body, const base::Id128& id,
                           base::Time now) {
  std::string text;
  lib::JsonWriter writer(text);
  writer.object().key("id").uuid(id).key("version").text("1.0").key("to").text(draft.to);
  writer.key("type").text(collab_type(draft.type));
  writer.key("priority").number(collab_priority(draft.priority)).key("timestamp").time(now);
  if (const auto ttl = base::parse_duration(draft.ttl)) {
    writer.key("expiresAt").time(now + *ttl);
  }
  writer.key("action").text(draft.action).key("payload");
  draft.as == "json" ? writer.raw(body) : writer.text(body);
  if (!draft.in_reply_to.empty()) {
    writer.key(draft.type == "response" ? "correlationId" : "causationId").text(draft.in_reply_to);
  }
  // What collab has no member for.
  writer.key("foreign").object();
  if (!draft.thread.empty()) {
    writer.key("thread").text(draft.thread);
  }
  if (!draft.status.empty()) {
    writer.key("status").text(draft.status);
  }
  if (draft.requires_ack) {
    writer.key("requires_ack").boolean(true);
  }
  if (!draft.response_timeout.empty()) {
    writer.key("response_timeout").text(draft.response_timeout).key("on_timeout").text("fail");
  }
  writer.end_object().end_object();
  return text;
}

// The members that a text stands for.
void write_superprompt_text(const Draft& draft, std::string_view body, lib::JsonWriter& writer) {
  if (draft.type == "task_delegation") {
    writer.key("task").object().key("description").text(body);
    writer.key("priority")
        .text(draft.priority == "critical" ? "high"
              : draft.priority == "normal" ? "medium"
                                           : draft.priority);
    if (const auto timeout = base::parse_duration(draft.response_timeout)) {
      writer.key("timeout_seconds").number(std::max<int64_t>(1, timeout->us / 1'000'000));
    }
    writer.end_object();
    return;
  }
  const std::string_view status = draft.status.empty() ? "success" : std::string_view(draft.status);
  writer.key("status").text(status).key("rationale").text(body);
  if (!draft.confidence.empty()) {
    writer.key("confidence_score").raw(draft.confidence);
  }
  if (status == "failure") {
    writer.key("error").object().key("error_type").text("task_failed");
    writer.key("error_message").text(body).end_object();
  }
}

// What the body says itself counts: that is a JSON object here, whose members are the message's.
std::string compose_superprompt(const Draft& draft, std::string_view body, const base::Id128& id,
                                base::Time now) {
  lib::JsonDocument document;
  const auto given = draft.as == "json" ? document.parse(body, {.bytes_max = body_bytes_max})
                                        : std::expected<lib::Json, base::Error>(lib::Json());
  std::string text;
  lib::JsonWriter writer(text);
  writer.object();
  const auto begin = [&](std::string_view key) {
    const bool is_said = given && given->find(key);
    return is_said ? nullptr : &writer.key(key);
  };
  if (auto* const out = begin("message_type")) {
    out->text(draft.type);
  }
  if (auto* const out = begin("message_id")) {
    out->uuid(id);
  }
  if (auto* const out = begin("timestamp")) {
    out->time(now);
  }
  if (auto* const out = draft.to.empty() ? nullptr : begin("to_agent")) {
    out->text(draft.to);
  }
  if (auto* const out = draft.in_reply_to.empty() ? nullptr : begin("in_reply_to")) {
    out->text(draft.in_reply_to);
  }
  if (given && given->is_object()) {
    for (const auto& [key, value] : given->members()) {
      writer.key(key).raw(value.raw());
    }
  } else {
    write_superprompt_text(draft, body, writer);
  }
  if (!draft.thread.empty() || !draft.ttl.empty()) {
    if (auto* const out = begin("foreign")) {
      out->object();
      if (!draft.thread.empty()) {
        out->key("thread").text(draft.thread);
      }
      if (!draft.ttl.empty()) {
        out->key("ttl").text(draft.ttl);
      }
      out->end_object();
    }
  }
  writer.end_object();
  return text;
}

}  // namespace

std::string compose(const Draft& draft, std::string_view body, const base::Id128& id,
                    base::Time now) {
  if (draft.is_squad()) {
    return compose_squad(draft, body);
  }
  if (draft.is_superprompt()) {
    return compose_superprompt(draft, body, id, now);
  }
  if (draft.dialect() == "collab") {
    return compose_collab(draft, body, id, now);
  }
  const bool wants_answer = draft.type == "request" || draft.type == "query";
  std::string text;
  lib::JsonWriter writer(text);
  writer.object().key("id").uuid(id).key("conversation_id");
  if (draft.thread.empty()) {
    writer.uuid(id);  // a conversation of its own, named by its first message
  } else {
    writer.text(draft.thread);
  }
  writer.key("type").text(draft.type).key("priority").text(draft.priority);
  writer.key("receiver").text(draft.to);
  if (!draft.status.empty()) {
    writer.key("status").text(draft.status);
  }
  if (!draft.response_timeout.empty()) {
    writer.key("response_timeout").text(draft.response_timeout);
  }
  writer.key("payload").object().key("content_type").text(draft.as).key("body");
  if (draft.as == "json") {
    writer.raw(body);
  } else {
    writer.text(body);
  }
  writer.end_object().key("metadata").object().key("timestamp").time(now);
  if (!draft.ttl.empty()) {
    writer.key("ttl").text(draft.ttl);
  }
  writer.key("requires_ack").boolean(wants_answer || draft.requires_ack);
  if (!draft.in_reply_to.empty()) {
    writer.key("in_reply_to").text(draft.in_reply_to);
  }
  writer.end_object().end_object();
  return text;
}

}  // namespace parley::app
