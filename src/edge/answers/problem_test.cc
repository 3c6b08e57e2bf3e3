// SPDX-License-Identifier: Apache-2.0
#include "edge/answers/problem.h"

#include <gtest/gtest.h>

namespace parley::edge {
namespace {

using base::Code;

TEST(Problem, SaysCodeAndField) {
  const net::Response response = problem({Code::bad_request, "a \"quoted\"\nline", "/to"});
  EXPECT_EQ(response.status, 400);
  EXPECT_EQ(response.content_type, "application/problem+json");
  EXPECT_EQ(response.body,
            R"({"type":"urn:parley:error:BAD_REQUEST","title":"The request is not valid",)"
            R"("status":400,"detail":"a \"quoted\"\nline","code":"BAD_REQUEST","field":"/to",)"
            R"("advice":"Correct what the detail names and send it again."})");
}

TEST(Problem, RoundsTheTimeToWaitUp) {
  const net::Response response = problem(
      {.code = Code::rate_limited, .detail = "no", .retry_after = base::Duration{1'000'001}});
  EXPECT_NE(response.body.find(R"("retry_after":"1001ms")"), std::string::npos) << response.body;
  ASSERT_EQ(response.headers.size(), 1U);
  EXPECT_EQ(response.headers[0], (std::pair<std::string, std::string>("Retry-After", "2")));
}

TEST(Problem, EndsTheDetailWithTheRemedy) {
  const net::Response response =
      problem({.code = Code::thread_full, .detail = "it is full", .remedy = "begin another"});
  EXPECT_NE(response.body.find(R"("detail":"it is full; begin another",)"), std::string::npos)
      << response.body;
}

TEST(Problem, NamesTheFirstOfACycleAgainAtItsEnd) {
  const net::Response response =
      problem({.code = Code::deadlock, .detail = "no", .cycle = {{"ana", {}}, {"bo", {}}}});
  EXPECT_NE(response.body.find(R"("cycle":["ana","bo","ana"])"), std::string::npos)
      << response.body;
}

TEST(Problem, TakesMembersAndHeadersOfOneRefusal) {
  const net::Response response =
      problem({Code::conflict, "no", {}},
              {.members = [](lib::JsonWriter& out) { out.key("version").number(7); },
               .headers = {{"ETag", "\"7\""}}});
  EXPECT_TRUE(response.body.ends_with(R"(,"version":7})")) << response.body;
  ASSERT_EQ(response.headers.size(), 1U);
  EXPECT_EQ(response.headers[0].second, "\"7\"");
}

}  // namespace
}  // namespace parley::edge
