// SPDX-License-Identifier: Apache-2.0
#include "edge/mcp/rpc.h"

#include <algorithm>
#include <array>
#include <vector>

#include "lib/json_writer.h"

namespace parley::edge::mcp {

namespace {

using lib::Json;
using lib::JsonKind;
using lib::JsonWriter;

constexpr std::array<std::string_view, 6> versions = {"2024-10-07", "2024-11-05", "2025-03-26",
                                                      "2025-06-18", "2025-11-25", "2026-07-28"};
constexpr std::array<std::string_view, 8> levels = {"debug", "info",     "notice", "warning",
                                                    "error", "critical", "alert",  "emergency"};
// An id is kept for as long as its call takes.
constexpr size_t id_bytes_max = 256;

// JSON-RPC also allows null, which the Model Context Protocol forbids.
bool is_id(Json id) {
  return id && id.raw().size() <= id_bytes_max &&
         (id.kind() == JsonKind::string || id.kind() == JsonKind::number);
}

// The answer has the id of the request where that can be read.
std::unexpected<Unreadable> unreadable(Json id, std::string message) {
  Unreadable wrong{.error = {invalid_request, std::move(message)}};
  if (is_id(id)) {
    wrong.id = id.raw();
  }
  return std::unexpected(std::move(wrong));
}

template <class Names>
std::optional<size_t> find_in(const Names& names, std::string_view name) {
  const auto at = std::ranges::find(names, name);
  return at == names.end() ? std::nullopt : std::optional(static_cast<size_t>(at - names.begin()));
}

}  // namespace

std::string_view name_of(Version version) { return versions[static_cast<size_t>(version)]; }

std::optional<Version> find_version(std::string_view name) {
  const auto at = find_in(versions, name);
  return at ? std::optional(static_cast<Version>(*at)) : std::nullopt;
}

std::string_view name_of(Level level) { return levels[static_cast<size_t>(level)]; }

std::optional<Level> find_level(std::string_view name) {
  const auto at = find_in(levels, name);
  return at ? std::optional(static_cast<Level>(*at)) : std::nullopt;
}

Json RpcMessage::given_param(std::string_view name) const {
  const Json value = param(name);
  return value.is_null() ? Json() : value;
}

std::optional<std::string_view> RpcMessage::text_param(std::string_view name) const {
  return param(name).as_string();
}

Json RpcMessage::meta(std::string_view name) const {
  return param("_meta").find(name);
}

std::string_view name_param(std::string_view method) {
  return method == "resources/read"                          ? "uri"
         : method == "tools/call" || method == "prompts/get" ? "name"
                                                             : "";
}

std::expected<RpcMessage, Unreadable> read_message(Json json) {
  if (!json.is_object()) {
    return unreadable({}, "a message is a JSON object");
  }
  const Json id = json.find("id");
  const Json method = json.find("method");
  RpcMessage message;
  if (json.find("jsonrpc").as_string() != "2.0") {
    return unreadable(id, "jsonrpc must be \"2.0\"");
  }
  if (id && !is_id(id)) {
    return unreadable(id, "id is a string or a number, of at most 256 bytes");
  }
  message.id = id.raw();
  message.params = json.find("params");
  // Some clients write null for parameters that they leave out.
  if (message.params.is_null()) {
    message.params = {};
  }
  if (message.params && !message.params.is_object()) {
    return unreadable(id, "params is an object");
  }
  if (method) {
    if (!method.as_string()) {
      return unreadable(id, "method is a string");
    }
    message.kind = id ? RpcMessage::Kind::request : RpcMessage::Kind::notification;
    message.method = *method.as_string();
    return message;
  }
  message.kind = RpcMessage::Kind::response;
  message.result = json.find("result");
  const Json error = json.find("error");
  const bool has_one = static_cast<bool>(message.result) != static_cast<bool>(error);
  if (!id || !has_one || (message.result && !message.result.is_object())) {
    return unreadable(id,
                      "a message has a method, or it has an id and either a result, which is "
                      "an object, or an error");
  }
  return message;
}

ClientCapabilities read_capabilities(Json capabilities) {
  ClientCapabilities can;
  if (const Json elicitation = capabilities.find("elicitation"); elicitation.is_object()) {
    can.elicitation_url = static_cast<bool>(elicitation.find("url"));
    // A client that names no kind takes forms: they are older than the kinds.
    can.elicitation = elicitation.find("form") || !can.elicitation_url;
  }
  can.sampling = static_cast<bool>(capabilities.find("sampling"));
  can.roots = static_cast<bool>(capabilities.find("roots"));
  return can;
}

void append_canonical(std::string& out, Json value) {
  if (value.is_object()) {
    std::vector<lib::JsonMember> members;
    for (const lib::JsonMember member : value.members()) {
      members.push_back(member);
    }
    // Stable, so that members of the same name keep their order.
    std::ranges::stable_sort(members, {}, &lib::JsonMember::key);
    out += '{';
    for (const lib::JsonMember& member : members) {
      lib::append_json_string(out, member.key);
      out += ':';
      append_canonical(out, member.value);
      out += ',';
    }
    out += '}';
  } else if (value.kind() == JsonKind::array) {
    out += '[';
    for (const Json element : value.elements()) {
      append_canonical(out, element);
      out += ',';
    }
    out += ']';
  } else if (value.kind() == JsonKind::string) {
    lib::append_json_string(out, *value.as_string());
  } else {
    out += value.raw();
  }
}

std::string result_text(std::string_view id, std::string_view members) {
  std::string text;
  text.reserve(members.size() + id.size() + 48);
  text.append(R"({"jsonrpc":"2.0","id":)").append(id);
  text.append(R"(,"result":{)").append(members).append("}}");
  return text;
}

std::string error_text(std::string_view id, const RpcError& error) {
  std::string text;
  JsonWriter out(text);
  out.object().key("jsonrpc").plain("2.0").key("id").raw(id).key("error").object();
  out.key("code").number(error.code).key("message").text(error.message);
  if (!error.data.empty()) {
    out.key("data").raw(error.data);
  }
  out.end_object().end_object();
  return text;
}

std::string request_text(uint64_t id, std::string_view method, std::string_view params) {
  std::string text;
  JsonWriter out(text);
  out.object().key("jsonrpc").plain("2.0").key("id").number(id).key("method").text(method);
  out.key("params").raw(params.empty() ? "{}" : params).end_object();
  return text;
}

std::string notification_text(std::string_view method, std::string_view params) {
  std::string text;
  JsonWriter out(text);
  out.object().key("jsonrpc").plain("2.0").key("method").text(method);
  if (!params.empty()) {
    out.key("params").raw(params);
  }
  out.end_object();
  return text;
}

}  // namespace parley::edge::mcp
