// SPDX-License-Identifier: Apache-2.0
#include "app/mcp/message.h"

#include <algorithm>
#include <span>

#include "lib/crypto.h"
#include "lib/json.h"
#include "lib/json_writer.h"

namespace parley::app {

namespace {

using Kind = McpMessage::Kind;
using lib::Json;

constexpr lib::JsonLimits message_limits{.bytes_max = size_t{64} << 20, .depth_max = 256};

void read_single(Json json, McpMessage& message) {
  const Json id = json.find("id");
  const Json method = json.find("method");
  const bool has_id = id && !id.is_null();
  if (!method) {
    message.kind = json.find("result") || json.find("error") ? Kind::response : Kind::none;
    if (has_id) {
      message.ids.emplace_back(id.raw());
    }
    return;
  }
  message.method = method.as_string().value_or("");
  message.kind = has_id ? Kind::request : Kind::notification;
  if (has_id) {
    message.ids.emplace_back(id.raw());
  }
  const Json params = json.find("params");
  const Json version = params.find("_meta").find(edge::mcp::version_key);
  message.version = version.as_string().value_or("");
  const std::string_view named_by = message.method.starts_with("tasks/")
                                        ? "taskId"
                                        : edge::mcp::name_param(message.method);
  if (!named_by.empty()) {
    message.name = params.find(named_by).as_string().value_or("");
  }
  if (message.method == "notifications/cancelled") {
    message.cancelled = params.find("requestId").raw();
  }
}

}  // namespace

McpMessage read_mcp_message(std::string_view line) {
  McpMessage message;
  lib::JsonDocument document;
  const auto json = document.parse(line, message_limits);
  if (!json) {
    return message;
  }
  if (json->is_object()) {
    read_single(*json, message);
    return message;
  }
  for (const Json element : json->elements()) {
    McpMessage part;
    if (element.is_object()) {
      read_single(element, part);
    }
    if (part.kind == Kind::request) {
      message.ids.push_back(part.ids.front());
    }
    message.kind = message.ids.empty() ? Kind::notification : Kind::request;
  }
  return message;
}

std::string mcp_header_value(std::string_view text) {
  const bool is_plain = !text.empty() && text.front() != ' ' && text.back() != ' ' &&
                        !text.starts_with("=?base64?") &&
                        std::ranges::all_of(text, [](char c) { return c >= ' ' && c <= '~'; });
  if (is_plain) {
    return std::string(text);
  }
  const std::span bytes(reinterpret_cast<const uint8_t*>(text.data()), text.size());
  return "=?base64?" + lib::base64(bytes) + "?=";
}

std::vector<std::pair<std::string, std::string>> mcp_headers(const McpMessage& message) {
  std::vector<std::pair<std::string, std::string>> headers;
  if (message.version.empty()) {
    return headers;
  }
  headers.emplace_back("MCP-Protocol-Version", mcp_header_value(message.version));
  headers.emplace_back("Mcp-Method", mcp_header_value(message.method));
  if (!message.name.empty()) {
    headers.emplace_back("Mcp-Name", mcp_header_value(message.name));
  }
  return headers;
}

std::string mcp_error_line(std::string_view id, const McpError& error) {
  std::string data;
  if (!error.reason.empty()) {
    lib::JsonWriter(data).object().key("code").text(error.reason).end_object();
  }
  return edge::mcp::error_text(id, {error.code, error.message, data});
}

// Inside of a string a line break is always escaped, so that those there are stand between.
std::string in_one_line(std::string_view json) {
  std::string line(json);
  std::ranges::replace_if(line, [](char c) { return c == '\n' || c == '\r'; }, ' ');
  return line;
}

}  // namespace parley::app
