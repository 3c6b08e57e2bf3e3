// SPDX-License-Identifier: Apache-2.0
#include "edge/mcp/modern.h"

#include <map>
#include <optional>
#include <string>

#include "lib/json_writer.h"
#include "net/http.h"

namespace parley::edge::mcp {

namespace {

using lib::Json;
using lib::JsonWriter;

constexpr Version modern = Version::v2026_07_28;
constexpr std::string_view capabilities_key = "io.modelcontextprotocol/clientCapabilities";
constexpr std::string_view client_key = "io.modelcontextprotocol/clientInfo";

// The version is in a header and in the body: proxies read the one, we the other, so they must
// agree.
std::optional<RpcError> check_version(const net::Request& http, const RpcMessage& message) {
  const std::string_view header = http.header("mcp-protocol-version");
  const auto wanted = message.meta(version_key).as_string();
  if (wanted && header != *wanted) {
    return RpcError{header_mismatch,
                    "the header MCP-Protocol-Version must be there and say the same "
                    "as _meta in the body"};
  }
  if (wanted && *wanted != name_of(modern)) {
    std::string data;
    JsonWriter out(data);
    out.object().key("supported").array().plain(name_of(modern)).end_array();
    out.key("requested").text(*wanted).end_object();
    return RpcError{unsupported_version, "this version of the protocol is not spoken here", data};
  }
  if (!wanted || !message.meta(capabilities_key).is_object()) {
    return RpcError{invalid_params, "params._meta needs " + std::string(version_key) + " and " +
                                        std::string(capabilities_key)};
  }
  return std::nullopt;
}

Client client_of(const Principal& principal, const RpcMessage& message) {
  const auto text = [](Json value) { return std::string(value.as_string().value_or("")); };
  return {.principal = principal,
          .era = Era::modern,
          .can = read_capabilities(message.meta(capabilities_key)),
          .name = text(message.meta(client_key).find("name")),
          .traceparent = text(message.meta("traceparent")),
          .tracestate = text(message.meta("tracestate"))};
}

}  // namespace

void ModernProtocol::post(const HttpRequest& request, const RpcMessage& message) {
  if (message.kind == RpcMessage::Kind::response) {
    transport_.refuse(request.exchange, 400, {invalid_request, "nothing was asked of this client"});
    return;
  }
  if (message.kind == RpcMessage::Kind::notification) {
    // No notification does anything in this era: a call is cancelled by closing its stream.
    state_.host.respond(request.exchange, {.status = 202, .content_type = {}});
    return;
  }
  std::optional<RpcError> error = check_version(request.http, message);
  if (!error) {
    const auto name = message.text_param("name");
    const auto tool =
        message.method == "tools/call" && name ? state_.catalog.tool(*name) : std::nullopt;
    error = check_headers(request.http, message, tool ? tool->headers : nullptr);
  }
  if (error) {
    transport_.refuse(request.exchange, 400, *error, message.id);
    return;
  }
  if (message.method == "subscriptions/listen") {
    listen(request, message);
    return;
  }
  if (!transport_.has_room(request, ResponseStream::Kind::post, message.id)) {
    return;
  }
  ResponseStream& stream = transport_.open(ResponseStream::Kind::post, request, nullptr);
  stream.unanswered = 1;
  if (message.method == "server/discover") {
    discover(stream, message);
    return;
  }
  methods_.dispatch(stream, message, client_of(request.principal, message), modern);
}

void ModernProtocol::discover(ResponseStream& stream, const RpcMessage& message) {
  std::string members;
  JsonWriter out(members);
  out.key("supportedVersions").array().plain(name_of(modern)).end_array();
  out.key("capabilities").raw(state_.catalog.capabilities(modern));
  if (!state_.catalog.instructions().empty()) {
    out.key("instructions").text(state_.catalog.instructions());
  }
  transport_.answer(stream, state_.modern_result(message.id, members.append(public_cache)));
}

void ModernProtocol::listen(const HttpRequest& request, const RpcMessage& message) {
  const Json wanted = message.param("notifications");
  const auto refused = [&](int status, const RpcError& error) {
    transport_.refuse(request.exchange, status, error, message.id);
  };
  if (!wanted.is_object()) {
    refused(400, {invalid_params, "notifications is an object: what to listen to"});
    return;
  }
  std::map<std::string, std::string> uris;  // by the client's spelling: the canonical one
  if (const Json list = wanted.find("resourceSubscriptions")) {
    for (const Json uri : list.elements()) {
      const auto text = uri.as_string();
      const auto found = text ? state_.catalog.resource(*text) : std::nullopt;
      if (found && found->resource->subscribable &&
          text->size() <= state_.options.limits.uri_bytes_max) {
        uris.emplace(*text, found->uri);
      }
      if (uris.size() > state_.options.limits.subscriptions_max) {
        refused(too_many,
                {limit_reached, "one stream listens to at most " +
                                    std::to_string(state_.options.limits.subscriptions_max) +
                                    " resources (mcp.subscriptions_max)"});
        return;
      }
    }
  }
  if (!transport_.has_room(request, ResponseStream::Kind::listen, message.id)) {
    return;
  }
  ResponseStream& stream = transport_.open(ResponseStream::Kind::listen, request, nullptr);
  stream.id = message.id;
  std::string params;
  JsonWriter out(params);
  out.object().key("_meta").object().key("io.modelcontextprotocol/subscriptionId");
  out.raw(stream.id).end_object().key("notifications").object();
  const auto list = [&](std::string_view key, ChangeNotice::Kind kind) {
    if (state_.catalog.lists_change() && wanted.find(key).as_bool() == true) {
      stream.lists.insert(kind);
      out.key(key).boolean(true);
    }
  };
  list("toolsListChanged", ChangeNotice::Kind::tools);
  list("promptsListChanged", ChangeNotice::Kind::prompts);
  list("resourcesListChanged", ChangeNotice::Kind::resources);
  if (!uris.empty()) {
    out.key("resourceSubscriptions").array();
    for (const auto& [spelling, uri] : uris) {
      if (state_.subscriptions.add(stream.number, request.principal, uri, spelling)) {
        out.text(spelling);  // what is not named here is not listened to
      }
    }
    out.end_array();
  }
  out.end_object().end_object();
  // A client that listens takes events, whatever its Accept header says.
  stream.takes_events = true;
  transport_.send(stream, notification_text("notifications/subscriptions/acknowledged", params));
}

}  // namespace parley::edge::mcp
