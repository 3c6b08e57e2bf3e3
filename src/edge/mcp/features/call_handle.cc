// SPDX-License-Identifier: Apache-2.0
#include "edge/mcp/features/call_handle.h"

#include <utility>

#include "edge/mcp/calls.h"
#include "lib/json_writer.h"

namespace parley::edge::mcp {

namespace {

using lib::JsonWriter;

// The members of the object that `write` makes, without the braces.
template <class Write>
Result members(const Write& write) {
  std::string text;
  JsonWriter out(text);
  out.object();
  write(out);
  out.end_object();
  return {text.substr(1, text.size() - 2)};
}

void text_content(JsonWriter& out, std::string_view text) {
  out.object().key("type").plain("text").key("text").text(text).end_object();
}

}  // namespace

void CallHandle::done(const Result& result) const {
  if (OpenCall* const call = calls_->find(id_)) {
    calls_->finish_with_result(*call, result);
  }
}

void CallHandle::fail(const RpcError& error) const {
  if (OpenCall* const call = calls_->find(id_)) {
    calls_->finish_with_error(*call, error);
  }
}

void CallHandle::progress(double done, double total, std::string_view message) const {
  OpenCall* const call = calls_->find(id_);
  ResponseStream* const stream = calls_->stream_of(call);
  if (stream == nullptr || call->progress_token.empty()) {
    return;
  }
  std::string params;
  JsonWriter out(params);
  out.object().key("progressToken").raw(call->progress_token).key("progress").real(done);
  out.key("total").real(total);
  if (!message.empty()) {
    out.key("message").text(message);
  }
  out.end_object();
  calls_->transport_.send(*stream, notification_text("notifications/progress", params));
}

void CallHandle::log(Level level, std::string_view logger, std::string_view data_json) const {
  OpenCall* const call = calls_->find(id_);
  ResponseStream* const stream = calls_->stream_of(call);
  if (stream == nullptr || !call->level || level < *call->level) {
    return;
  }
  std::string params;
  JsonWriter out(params);
  out.object().key("level").plain(name_of(level));
  if (!logger.empty()) {
    out.key("logger").text(logger);
  }
  out.key("data").raw(data_json).end_object();
  calls_->transport_.send(*stream, notification_text("notifications/message", params));
}

void CallHandle::at(base::Time when, std::function<void()> act) const {
  if (OpenCall* const call = calls_->find(id_)) {
    call->timers.push_back(calls_->state_.waits.add(when, std::move(act)));
  }
}

void CallHandle::on_cancel(std::function<void()> undo) const {
  if (OpenCall* const call = calls_->find(id_)) {
    call->undo = std::move(undo);
  }
}

bool CallHandle::is_over() const { return calls_->find(id_) == nullptr; }

bool CallHandle::wants_progress() const {
  const OpenCall* const call = calls_->find(id_);
  return call != nullptr && !call->progress_token.empty();
}

void CallHandle::ask(std::vector<Question> questions, std::string state) const {
  if (OpenCall* const call = calls_->find(id_)) {
    calls_->ask(*call, questions, std::move(state));
  }
}

bool CallHandle::can_ask() const {
  const OpenCall* const call = calls_->find(id_);
  return call != nullptr &&
         (call->client.era == Era::modern || calls_->stream_to_ask(*call) != nullptr);
}

// Only clients from 2025-11-25 on come back by themselves; they wait for the time in `retry`.
void CallHandle::hang_up() const {
  OpenCall* const call = calls_->find(id_);
  ResponseStream* const stream = calls_->stream_of(call);
  McpSession* const session = stream != nullptr ? calls_->transport_.session_of(*stream) : nullptr;
  if (session == nullptr || session->version < Version::v2025_11_25 || !stream->takes_events ||
      !stream->exchange || stream->kind != ResponseStream::Kind::post) {
    return;
  }
  constexpr std::string_view retry = "retry: 500\n\n";
  calls_->transport_.begin_events(*stream);
  calls_->state_.host.send(stream->exchange->connection, retry);
  calls_->transport_.hang_up(*stream);
}

Question form(std::string key, std::string_view message, std::string_view schema) {
  std::string params;
  JsonWriter(params)
      .object()
      .key("mode")
      .plain("form")
      .key("message")
      .text(message)
      .key("requestedSchema")
      .raw(schema)
      .end_object();
  return {std::move(key), "elicitation/create", std::move(params)};
}

std::string_view CallContext::answer(std::string_view key) const {
  const auto at = answers.find(key);
  return at == answers.end() ? std::string_view{} : at->second;
}

Result tool_text(std::string_view text) {
  return members([&](JsonWriter& out) {
    out.key("content").array();
    text_content(out, text);
    out.end_array();
  });
}

Result tool_json(std::string_view object) {
  return members([&](JsonWriter& out) {
    out.key("content").array();
    text_content(out, object);
    out.end_array().key("structuredContent").raw(object);
  });
}

Result tool_error(std::string_view text) {
  Result result = tool_text(text);
  result.has_failed = true;
  return result;
}

Result tool_error(base::Code code, std::string_view text) {
  return tool_error(std::string(base::info(code).name).append(": ").append(text));
}

Result resource_text(std::string_view uri, std::string_view mime_type, std::string_view text) {
  return members([&](JsonWriter& out) {
    out.key("contents").array().object().key("uri").text(uri).key("mimeType").text(mime_type);
    out.key("text").text(text).end_object().end_array();
  });
}

Result prompt_text(std::string_view description, std::string_view text) {
  return members([&](JsonWriter& out) {
    out.key("description").text(description).key("messages").array();
    out.object().key("role").plain("user").key("content");
    text_content(out, text);
    out.end_object().end_array();
  });
}

RpcError resource_not_found(const CallContext& context) {
  constexpr int legacy_not_found = -32002;
  std::string data;
  JsonWriter(data).object().key("uri").text(context.uri).end_object();
  return {context.client.era == Era::modern ? invalid_params : legacy_not_found,
          "there is no such resource", std::move(data)};
}

}  // namespace parley::edge::mcp
