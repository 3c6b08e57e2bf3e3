// SPDX-License-Identifier: Apache-2.0
#include "app/mcp/message.h"

#include <gtest/gtest.h>

#include "app/mcp/event_stream.h"

namespace parley::app {
namespace {

using Kind = McpMessage::Kind;
using Pair = std::pair<std::string, std::string>;

TEST(McpMessage, TellsTheKindsApart) {
  EXPECT_EQ(read_mcp_message(R"({"jsonrpc":"2.0","id":"a","method":"ping"})").kind, Kind::request);
  EXPECT_EQ(read_mcp_message(R"({"jsonrpc":"2.0","method":"x"})").kind, Kind::notification);
  EXPECT_EQ(read_mcp_message(R"({"jsonrpc":"2.0","id":1,"result":{}})").kind, Kind::response);
  EXPECT_EQ(read_mcp_message(R"({"jsonrpc":"2.0","id":1,"error":{}})").kind, Kind::response);
  EXPECT_EQ(read_mcp_message(R"({"jsonrpc":"2.0","id":1})").kind, Kind::none);
  EXPECT_EQ(read_mcp_message("{").kind, Kind::none);
  EXPECT_EQ(read_mcp_message("7").kind, Kind::none);
  EXPECT_EQ(read_mcp_message("[]").kind, Kind::none);
  const McpMessage batch =
      read_mcp_message(R"([{"id":1,"method":"a"},{"method":"b"},{"id":"2","method":"c"}])");
  EXPECT_EQ(batch.kind, Kind::request);
  EXPECT_EQ(batch.ids, (std::vector<std::string>{"1", "\"2\""}));
}

TEST(McpMessage, AMessageOfTheNewEraSaysInItsHeadersWhatItsBodySays) {
  const auto headers = [](const std::string& method, const std::string& member) {
    return mcp_headers(read_mcp_message(
        R"({"jsonrpc":"2.0","id":1,"method":")" + method + R"(","params":{)" + member +
        R"("_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}})"));
  };
  EXPECT_EQ(headers("tools/list", ""), (std::vector<Pair>{{"MCP-Protocol-Version", "2026-07-28"},
                                                          {"Mcp-Method", "tools/list"}}));
  EXPECT_EQ(headers("tools/call", R"("name":"a b",)").at(2), Pair("Mcp-Name", "a b"));
  EXPECT_EQ(headers("prompts/get", R"("name":"p",)").at(2), Pair("Mcp-Name", "p"));
  EXPECT_EQ(headers("resources/read", R"("name":"no","uri":"u://x",)").at(2),
            Pair("Mcp-Name", "u://x"));
  EXPECT_EQ(headers("tasks/get", R"("taskId":"7",)").at(2), Pair("Mcp-Name", "7"));
  EXPECT_TRUE(mcp_headers(read_mcp_message(R"({"id":1,"method":"tools/list"})")).empty());
}

TEST(McpMessage, WhatIsNoHeaderIsEncoded) {
  EXPECT_EQ(mcp_header_value("grüße"), "=?base64?Z3LDvMOfZQ==?=");
  EXPECT_EQ(mcp_header_value("a\r\nX: y"), "=?base64?YQ0KWDogeQ==?=");
  EXPECT_EQ(mcp_header_value(" a"), "=?base64?IGE=?=");
  EXPECT_EQ(mcp_header_value(""),
            "=?base64?"
            "?=");
  EXPECT_EQ(mcp_header_value("=?base64?x?="), "=?base64?PT9iYXNlNjQ/eD89?=");
  EXPECT_EQ(mcp_header_value("abc"), "abc");
}

TEST(McpMessage, AnErrorKeepsTheIdAsItWas) {
  EXPECT_EQ(mcp_error_line("\"1\"", {-32603, "no \"broker\"", "UNAVAILABLE"}),
            R"({"jsonrpc":"2.0","id":"1","error":{"code":-32603,"message":"no \"broker\"",)"
            R"("data":{"code":"UNAVAILABLE"}}})");
}

TEST(EventStream, GivesTheSameEventsWhereverTheStreamIsSplit) {
  const std::string text =
      ": keep alive\r\n\r\nid: 1\ndata:\n\nid: 2\r\nevent: message\r\ndata: {\"a\":\r\ndata: 1}\r\n"
      "\r\nretry: 250\n\ndata:x\n\n";
  for (size_t split = 0; split <= text.size(); ++split) {
    EventStream stream;
    std::vector<std::string> got;
    for (const std::string& part : {text.substr(0, split), text.substr(split)}) {
      stream.feed(part);
      while (const auto event = stream.next()) {
        got.push_back(event->type + "|" + event->data);
      }
    }
    EXPECT_EQ(got, (std::vector<std::string>{"message|{\"a\":\n1}", "|x"})) << split;
    EXPECT_EQ(stream.last_id(), "2");
    EXPECT_EQ(stream.retry_ms(), 250u);
  }
}

TEST(EventStream, AnEventWithoutAnEndBreaksIt) {
  EventStream stream;
  const std::string part(size_t{1} << 20, 'x');
  stream.feed("data: ");
  for (size_t size = 0; size <= EventStream::event_bytes_max; size += part.size()) {
    stream.feed(part);
    EXPECT_FALSE(stream.next());
  }
  EXPECT_TRUE(stream.is_broken());
}

}  // namespace
}  // namespace parley::app
