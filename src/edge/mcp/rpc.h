// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>

#include "lib/json.h"

namespace parley::edge::mcp {

// JSON-RPC 2.0 as the Model Context Protocol uses it: pure functions between text and values.

enum class Version : uint8_t {
  v2024_10_07,
  v2024_11_05,
  v2025_03_26,
  v2025_06_18,
  v2025_11_25,
  v2026_07_28,
};
inline constexpr Version newest_legacy = Version::v2025_11_25;
std::string_view name_of(Version version);
std::optional<Version> find_version(std::string_view name);

inline constexpr int parse_error = -32700;
inline constexpr int invalid_request = -32600;
inline constexpr int method_not_found = -32601;
inline constexpr int invalid_params = -32602;
inline constexpr int internal_error = -32603;
inline constexpr int header_mismatch = -32020;
inline constexpr int missing_capability = -32021;  // data: {"requiredCapabilities":{…}}
inline constexpr int unsupported_version = -32022;
// Our own, outside of the ranges that JSON-RPC and the protocol reserve.
inline constexpr int limit_reached = -31000;

// The key in `_meta` by which a request says that it is of the modern era.
inline constexpr std::string_view version_key = "io.modelcontextprotocol/protocolVersion";
// Members of a result that is the same for everyone: how long a client may use it without asking.
inline constexpr std::string_view public_cache = R"(,"ttlMs":300000,"cacheScope":"public")";

// An error of the protocol, instead of a result. What a model should read and act on is a result
// with `isError`: see tool_error.
struct RpcError {
  int code = 0;
  std::string message;
  std::string data{};  // JSON
};

// One message of JSON-RPC. The views are good as long as the document.
struct RpcMessage {
  enum class Kind : uint8_t { request, notification, response };

  Kind kind = Kind::notification;
  std::string_view id;      // as JSON; of a request or response
  std::string_view method;  // of a request or notification
  lib::Json params;         // an object, or no value
  lib::Json result;         // of a response; no value where there is an error instead

  lib::Json param(std::string_view name) const { return params.find(name); }
  // A parameter that may be left out: none also where it is null.
  lib::Json given_param(std::string_view name) const;
  // A string among the parameters; none where it is not there or of another kind.
  std::optional<std::string_view> text_param(std::string_view name) const;
  lib::Json meta(std::string_view name) const;
};

// The parameter that says what a request of this method is about, and that the header Mcp-Name
// repeats; empty where there is none.
std::string_view name_param(std::string_view method);

// Why a message could not be read, and the id for the answer.
struct Unreadable {
  std::string id = "null";  // as JSON
  RpcError error;
};
std::expected<RpcMessage, Unreadable> read_message(lib::Json json);

// What the client said that it can do for the server.
struct ClientCapabilities {
  bool elicitation = false;      // asks its user by a form
  bool elicitation_url = false;  // or sends its user to a page
  bool sampling = false;         // asks its model
  bool roots = false;
};
ClientCapabilities read_capabilities(lib::Json capabilities);

enum class Level : uint8_t { debug, info, notice, warning, error, critical, alert, emergency };
std::optional<Level> find_level(std::string_view name);
std::string_view name_of(Level level);

// The same text for the same value: members sorted by their key, no space.
void append_canonical(std::string& out, lib::Json value);

std::string result_text(std::string_view id, std::string_view members);
std::string error_text(std::string_view id, const RpcError& error);
std::string request_text(uint64_t id, std::string_view method, std::string_view params);
std::string notification_text(std::string_view method, std::string_view params);

}  // namespace parley::edge::mcp
