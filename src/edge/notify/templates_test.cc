// SPDX-License-Identifier: Apache-2.0
#include "edge/notify/templates.h"

#include <gtest/gtest.h>

#include "lib/crypto.h"
#include "lib/json.h"

namespace parley::edge::notify {
namespace {

Notice a_notice() {
  return {.what = What::escalation,
          .id = 7,
          .workspace = "default",
          .is_p0 = true,
          .agent = "agent:main:subagent:1",
          .cause = "task_failed",
          .receiver = "agent:main:main",
          .subject = "price <b>it</b> & \"go\"",
          .why = "password=hunter22hunter",
          .since = base::Time{1'769'920'500'000'000}};
}

// SQ-08: the form of any receiver of webhooks.
TEST(NotifyTemplates, JsonIsASignedCloudEvent) {
  const Target target{.url = "https://example.org", .secret = "s3cret", .for_whom = "human:mia"};
  const std::string body = body_of(target, a_notice(), "event-1");
  lib::JsonDocument document;
  const auto json = document.parse(body);
  ASSERT_TRUE(json) << body;
  EXPECT_EQ(json->find("type").as_string(), "parley.escalation.opened");
  EXPECT_EQ(json->find("id").as_string(), "event-1");
  EXPECT_EQ(json->find("data").find("escalation").as_int64(), 7);
  EXPECT_EQ(json->find("data").find("priority").as_string(), "P0");
  EXPECT_EQ(json->find("data").find("subject").as_string(), "price <b>it</b> & \"go\"");
  EXPECT_EQ(json->find("data").find("for").as_string(), "human:mia");
  const net::Headers headers = headers_of(target, "event-1", base::Time{12'000'000}, body, "1.0");
  const auto header = [&](std::string_view name) {
    for (const auto& [key, value] : headers) {
      if (key == name) {
        return value;
      }
    }
    return std::string();
  };
  EXPECT_EQ(header("webhook-id"), "event-1");
  EXPECT_EQ(header("webhook-timestamp"), "12");
  EXPECT_EQ(
      header("webhook-signature"),
      "v1," + lib::base64(lib::hmac_sha256(std::string_view("s3cret"), "event-1.12." + body)));
}

TEST(NotifyTemplates, ASecretInBase64IsItsBytes) {
  const Target target{.url = "https://example.org", .secret = "whsec_czNjcmV0"};
  const net::Headers headers = headers_of(target, "e", base::Time{12'000'000}, "{}", "1.0");
  EXPECT_EQ(headers.back().second,
            "v1," + lib::base64(lib::hmac_sha256(std::string_view("s3cret"), "e.12.{}")));
}

TEST(NotifyTemplates, WhatHasNoSecretIsNotSigned) {
  const net::Headers headers =
      headers_of({.url = "https://example.org"}, "e", base::Time{}, "{}", "1.0");
  for (const auto& [name, value] : headers) {
    EXPECT_NE(name, "webhook-signature") << value;
  }
}

TEST(NotifyTemplates, SlackGetsTextWithoutMarks) {  // SQ-08
  const Target target{.url = "https://example.org", .form = Form::slack};
  const std::string body = body_of(target, a_notice(), "event-1");
  lib::JsonDocument document;
  const auto json = document.parse(body);
  ASSERT_TRUE(json) << body;
  EXPECT_EQ(json->size(), 1u);
  const std::string text(*json->find("text").as_string());
  EXPECT_TRUE(text.starts_with("P0 ESCALATION 7: price &lt;b&gt;it&lt;/b&gt; &amp; \"go\"\n"))
      << text;
  EXPECT_NE(text.find("parley escalations resolve 7"), text.npos);
}

TEST(NotifyTemplates, TelegramGetsChatAndText) {  // SQ-08
  const Target target{.url = "https://example.org", .form = Form::telegram, .chat_id = "-100"};
  Notice notice = a_notice();
  notice.what = What::approval;
  notice.is_p0 = false;
  notice.deadline = base::Time{1'769'920'600'000'000};
  const std::string body = body_of(target, notice, "event-1");
  lib::JsonDocument document;
  const auto json = document.parse(body);
  ASSERT_TRUE(json) << body;
  EXPECT_EQ(json->find("chat_id").as_string(), "-100");
  const std::string text(*json->find("text").as_string());
  EXPECT_TRUE(text.starts_with("APPROVAL WANTED 7: price <b>it</b>")) << text;
  EXPECT_NE(text.find("decide before: 2026-02-01T04:36:40"), text.npos) << text;
  EXPECT_NE(text.find("parley approvals show 7"), text.npos) << text;
}

TEST(NotifyTemplates, NoFormHasASecret) {
  for (const Form form : {Form::json, Form::slack, Form::telegram}) {
    const std::string body =
        body_of({.url = "https://example.org", .form = form, .chat_id = "1"}, a_notice(), "e");
    EXPECT_EQ(body.find("hunter22"), body.npos) << body;
  }
}

}  // namespace
}  // namespace parley::edge::notify
