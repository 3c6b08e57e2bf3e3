// SPDX-License-Identifier: Apache-2.0
// A history that cannot keep up, over the real interface.
#include <gtest/gtest.h>

#include <filesystem>

#include "app/broker_tests/live_broker_test.h"
#include "lib/json.h"
#include "lib/sqlite.h"

namespace parley::app {
namespace {

// A broker whose view reads the journal from a place that need not be there yet.
class LateHistory : public LiveBroker {
 protected:
  void SetUp() override {
    LiveBroker::SetUp();
    start({.journal = directory() + "/late", .feed_bytes_max = 300});
  }

  net::ClientResponse call(std::string_view method, std::string_view path,
                           std::string_view body = {}) {
    return call_as("ana", method, path, body);
  }
  net::ClientResponse send() {
    return call("POST", "/v1/messages?lenient=true",
                R"({"type":"notification","receiver":"ana",)"
                R"("payload":{"content_type":"text","body":"hello"}})");
  }
  // Each read waits for the view; on a busy machine that may take several.
  net::ClientResponse outbox_at_last() {
    net::ClientResponse response = call("GET", "/v1/outbox");
    for (int n = 0; n < 30 && response.status == 503; ++n) {
      response = call("GET", "/v1/outbox");
    }
    return response;
  }
  void let_the_view_go_on() {
    std::filesystem::create_directory_symlink(directory() + "/journal", directory() + "/late");
  }
};

TEST_F(LateHistory, ReadsWaitForWhatTheCallerDidAndSayHowFarItIsBehind) {
  ASSERT_EQ(send().status, 202);
  const auto late = call("GET", "/v1/outbox");
  EXPECT_EQ(late.status, 503);
  lib::JsonDocument document;
  const auto problem = document.parse(late.body);
  ASSERT_TRUE(problem) << late.body;
  EXPECT_EQ(problem->find("code").as_string(), "VIEW_BEHIND");
  EXPECT_GT(problem->find("behind").as_uint64().value_or(0), 0u);
  EXPECT_NE(problem->find("detail").as_string()->find("entries behind"), std::string_view::npos);
  let_the_view_go_on();
  const auto there = outbox_at_last();
  EXPECT_EQ(there.status, 200) << there.body;
  EXPECT_NE(there.body.find("\"count\":1"), std::string::npos) << there.body;
}

TEST_F(LateHistory, SendsAreRefusedWhileItHasTooMuchToCatchUpWith) {
  net::ClientResponse sent = send();
  for (int n = 0; n < 100 && sent.status == 202; ++n) {
    sent = send();
  }
  EXPECT_EQ(sent.status, 503);
  EXPECT_NE(sent.body.find("OVERLOADED"), std::string::npos) << sent.body;
  EXPECT_EQ(call("GET", "/v1/inbox").status, 200);
  let_the_view_go_on();
  EXPECT_EQ(outbox_at_last().status, 200);
  EXPECT_EQ(send().status, 202);
}

TEST_F(LateHistory, AMessageThatThisVersionCannotReadIsLeftOutOfAList) {
  let_the_view_go_on();
  ASSERT_EQ(send().status, 202);
  ASSERT_EQ(send().status, 202);
  ASSERT_EQ(outbox_at_last().status, 200);
  {
    auto history =
        lib::Database::open(directory() + "/history.db", lib::Database::Mode::read_write);
    ASSERT_TRUE(history);
    ASSERT_TRUE(
        history->run("UPDATE messages SET record = x'00'"
                     " WHERE seq = (SELECT min(seq) FROM messages)"));
  }
  const auto outbox = outbox_at_last();
  EXPECT_EQ(outbox.status, 200) << outbox.body;
  lib::JsonDocument document;
  const auto listed = document.parse(outbox.body);
  ASSERT_TRUE(listed) << outbox.body;
  size_t messages = 0;
  for (const lib::Json message : listed->find("messages").elements()) {
    EXPECT_EQ(message.find("from").as_string(), "ana") << outbox.body;
    ++messages;
  }
  EXPECT_EQ(messages, 1u) << outbox.body;
}

}  // namespace
}  // namespace parley::app
