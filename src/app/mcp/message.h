// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "edge/mcp/rpc.h"

namespace parley::app {

// What one line of JSON-RPC is, as far as the way of a message over HTTP depends on it. Pure.
struct McpMessage {
  enum class Kind : uint8_t {
    none,          // no JSON-RPC
    request,       // also an array with a request in it
    notification,  // wants no answer: also a response, or an array of these
    response,
  };
  Kind kind = Kind::none;
  std::vector<std::string> ids;  // of the requests, or of the response, as JSON
  std::string method;            // of a request or notification; of an array none
  std::string version;           // what a message of 2026-07-28 or later says of itself; else none
  std::string name;              // the tool, prompt, resource or task that it is about
  std::string cancelled;         // of notifications/cancelled: the id of the request, as JSON
};
McpMessage read_mcp_message(std::string_view line);

// The headers that say once more what the body says: of messages with a version only.
std::vector<std::pair<std::string, std::string>> mcp_headers(const McpMessage& message);

// A text as the value of a header: as it is, or `=?base64?…?=` where it could not be.
std::string mcp_header_value(std::string_view text);

// An answer of our own to a request: that the broker gave none. `code` is JSON-RPC's, `reason` one
// of our table of errors.
struct McpError {
  int code = edge::mcp::internal_error;
  std::string message;
  std::string reason;
};
std::string mcp_error_line(std::string_view id, const McpError& error);

// JSON that may have line breaks between its parts, in one line.
std::string in_one_line(std::string_view json);

}  // namespace parley::app
