// SPDX-License-Identifier: Apache-2.0
// XD-10: what `parley run` says of a message whose settlement the broker refuses.
#include "app/run/supervisor.h"

#include <gtest/gtest.h>
#include <signal.h>

#include "app/scripted_broker_test.h"

namespace parley::app {
namespace {

class RunTest : public testing::Test {
 protected:
  // A supervisor blocks signals, for its threads; the tests after this one want them again.
  RunTest() { pthread_sigmask(SIG_SETMASK, nullptr, &before_); }
  ~RunTest() override { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

  // Runs `script` for one message, which the broker then settles, or not, with this answer.
  Ran run_once(const std::string& script, const std::string& act, int status,
               const std::string& answer) {
    ScriptedBroker broker;
    broker.answer_all(200, R"({"owner":"bo","fence":1})");
    broker.answer("GET /v1/inbox", 200, R"({"notifications":[{"id":"m1","from":"ana"}]})");
    broker.answer("POST /v1/messages/m1/" + act, status, answer);
    return run_captured({"run", "--agent", "bo", "--once", "--url", broker.url(), "--token",
                         "prl_bo", "--", "sh", "-c", script});
  }

  Surroundings surroundings_;
  sigset_t before_{};
};

TEST_F(RunTest, SaysThatAMessageIsAcked) {
  const Ran ran = run_once("exit 0", "ack", 200, "{}");
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_NE(ran.err.find("m1 from ana: acked\n"), ran.err.npos) << ran.err;
}

TEST_F(RunTest, SaysThatTheCommandSettledItBefore) {
  const Ran ran = run_once("exit 0", "ack", 409, R"({"code":"ALREADY_SETTLED","detail":"done"})");
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_NE(ran.err.find("m1 from ana: was settled before\n"), ran.err.npos) << ran.err;
}

TEST_F(RunTest, DoesNotTakeARefusalForASettlement) {
  const std::string refused = R"({"code":"UNAUTHORIZED","detail":"your token was replaced"})";
  const Ran ran = run_once("exit 0", "ack", 401, refused);
  EXPECT_EQ(ran.code, 1) << ran.err;
  EXPECT_NE(ran.err.find("m1 from ana: could not be acked: your token was replaced\n"),
            ran.err.npos)
      << ran.err;
  const Ran rejecting = run_once("exit 65", "reject", 401, refused);
  EXPECT_EQ(rejecting.code, 1) << rejecting.err;
  EXPECT_NE(rejecting.err.find("m1 from ana: could not be rejected: your token was replaced\n"),
            rejecting.err.npos)
      << rejecting.err;
}

}  // namespace
}  // namespace parley::app
