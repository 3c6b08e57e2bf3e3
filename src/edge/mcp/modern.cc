// SPDX-License-Identifier: Apache-2.0
// 2026-07-28: each request says all that it needs, in its headers and in `_meta`.
#include "edge/mcp/server.h"

#include "edge/api/call.h"
#include "lib/json_writer.h"
#include "net/http.h"

namespace parley::edge::mcp {

namespace {

using lib::Json;
using lib::JsonWriter;

constexpr Version modern = Version::v2026_07_28;
constexpr std::string_view capabilities_key = "io.modelcontextprotocol/clientCapabilities";
constexpr std::string_view client_key = "io.modelcontextprotocol/clientInfo";

std::optional<Fault> check_version(const net::Request& http, const Message& message) {
  const Json version = message.meta(version_key);
  const Json capabilities = message.meta(capabilities_key);
  const std::string_view header = http.header("mcp-protocol-version");
  const auto wanted = version ? version.as_string() : std::nullopt;
  if (wanted && header != *wanted) {
    return Fault{header_mismatch,
                 "the header MCP-Protocol-Version must be there and say the same "
                 "as _meta in the body"};
  }
  if (wanted && *wanted != name_of(modern)) {
    std::string data;
    JsonWriter out(data);
    out.object().key("supported").array().plain(name_of(modern)).end_array();
    out.key("requested").text(*wanted).end_object();
    return Fault{unsupported_version, "this version of the protocol is not spoken here", data};
  }
  if (!wanted || !capabilities || !capabilities.is_object()) {
    return Fault{invalid_params, "params._meta needs " + std::string(version_key) + " and " +
                                     std::string(capabilities_key)};
  }
  return std::nullopt;
}

Client client_of(const Principal& principal, const Message& message) {
  const auto text = [&](Json value) {
    return std::string(value ? value.as_string().value_or("") : std::string_view{});
  };
  const Json info = message.meta(client_key);
  return {.principal = principal,
          .era = Era::modern,
          .can = read_abilities(message.meta(capabilities_key)),
          .name = text(info && info.is_object() ? info.find("name") : Json()),
          .traceparent = text(message.meta("traceparent")),
          .tracestate = text(message.meta("tracestate"))};
}

}  // namespace

std::string Server::modern_result(std::string_view id, std::string_view members,
                                  std::string_view type) const {
  std::string all = "\"resultType\":\"" + std::string(type) + "\"";
  all.append(members.empty() ? "" : ",").append(members);
  all.append(R"(,"_meta":{"io.modelcontextprotocol/serverInfo":)").append(server_info());
  return result_text(id, all.append("}"));
}

void Server::post_modern(const Request& request, const Message& message) {
  if (message.kind == Message::Kind::response) {
    refuse(request.exchange, 400, {invalid_request, "nothing was asked of this client"});
    return;
  }
  if (message.kind == Message::Kind::notification) {
    // None of them does anything here: a call is cancelled by closing its stream.
    host_.respond(request.exchange, {.status = 202, .content_type = {}});
    return;
  }
  std::optional<Fault> fault = check_version(request.http, message);
  if (!fault) {
    const auto name = message.text_param("name");
    const auto tool = message.method == "tools/call" && name ? catalog_.tool(*name) : std::nullopt;
    fault = check_headers(request.http, message, tool ? tool->headers : nullptr);
  }
  if (fault) {
    refuse(request.exchange, 400, *fault, message.id);
    return;
  }
  if (message.method == "subscriptions/listen") {
    listen(request, message);
    return;
  }
  if (!has_room(request, Stream::Kind::post, message.id)) {
    return;
  }
  Stream& stream = open(Stream::Kind::post, request, nullptr);
  stream.unanswered = 1;
  if (message.method == "server/discover") {
    std::string members;
    JsonWriter out(members);
    out.key("supportedVersions").array().plain(name_of(modern)).end_array();
    out.key("capabilities").raw(catalog_.capabilities(modern));
    if (!catalog_.instructions().empty()) {
      out.key("instructions").text(catalog_.instructions());
    }
    answer(stream, modern_result(message.id, members.append(public_cache)));
    return;
  }
  dispatch(stream, message, client_of(request.principal, message), modern);
}

// A stream that stays open and tells what changes, of what the client named.
void Server::listen(const Request& request, const Message& message) {
  const Json wanted = message.param("notifications");
  const auto refused = [&](int status, const Fault& fault) {
    refuse(request.exchange, status, fault, message.id);
  };
  if (!wanted || !wanted.is_object()) {
    refused(400, {invalid_params, "notifications is an object: what to listen to"});
    return;
  }
  std::map<std::string, std::string> uris;  // as the client writes them, and as we do
  if (const Json list = wanted.find("resourceSubscriptions")) {
    for (const Json uri : list.elements()) {
      const auto text = uri.as_string();
      const auto found = text ? catalog_.resource(*text) : std::nullopt;
      if (found && found->resource->subscribable && text->size() <= options_.limits.uri_bytes_max) {
        uris.emplace(*text, found->uri);
      }
      if (uris.size() > options_.limits.subscriptions_max) {
        refused(too_many, {limit_reached, "one stream listens to at most " +
                                              std::to_string(options_.limits.subscriptions_max) +
                                              " resources (mcp.subscriptions_max)"});
        return;
      }
    }
  }
  if (!has_room(request, Stream::Kind::listen, message.id)) {
    return;
  }
  Stream& stream = open(Stream::Kind::listen, request, nullptr);
  stream.id = message.id;
  std::string params;
  JsonWriter out(params);
  out.object().key("_meta").object().key("io.modelcontextprotocol/subscriptionId");
  out.raw(stream.id).end_object().key("notifications").object();
  const auto list = [&](std::string_view key, Notice::Kind kind) {
    const Json value = wanted.find(key);
    if (catalog_.lists_change() && value && value.as_bool() == true) {
      stream.lists.insert(kind);
      out.key(key).boolean(true);
    }
  };
  list("toolsListChanged", Notice::Kind::tools);
  list("promptsListChanged", Notice::Kind::prompts);
  list("resourcesListChanged", Notice::Kind::resources);
  if (!uris.empty()) {
    out.key("resourceSubscriptions").array();
    for (const auto& [spelling, uri] : uris) {
      subscriptions_.add(stream.number, request.principal, uri, spelling);
      out.text(spelling);
    }
    out.end_array();
  }
  out.end_object().end_object();
  stream.takes_events = true;
  tell(stream, notification_text("notifications/subscriptions/acknowledged", params));
}

}  // namespace parley::edge::mcp
