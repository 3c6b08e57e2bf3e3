// SPDX-License-Identifier: Apache-2.0
#include "edge/tools/call_handle.h"

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

Result tool_error(const base::Error& error) {
  const base::CodeInfo& info = base::info(error.code);
  std::string text(info.name);
  text.append(": ").append(error.detail);
  if (!error.field.empty()) {
    text.append(" (at ").append(error.field).append(")");
  }
  if (!info.advice.empty()) {
    text.append(". ").append(info.advice);
  }
  return tool_error(text);
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
