// SPDX-License-Identifier: Apache-2.0
#include "edge/api/route.h"

#include <gtest/gtest.h>

#include <string>

namespace parley::edge {
namespace {

const Route route{"PUT",
                  "/v1/things/{}",
                  nullptr,
                  {query::text("agent"), query::flag("lenient"), query::number("limit", 10),
                   query::duration("wait", base::seconds(30)), query::time("from")},
                  body_of({"lease", "fence"}),
                  Who::machine};
const Route bare{"POST", "/v1/things/{}/ack", nullptr, {}, {}, Who::machine};

base::Error fault_of(std::string_view query) {
  const auto read = read_query(route, query);
  return read ? base::Error{base::Code::conflict, "it was taken", {}} : read.error();
}

TEST(Route, TakesItsParameters) {
  const auto query =
      read_query(route, "agent=a%20b+c&lenient=true&&limit=10&wait=30s&from=2026-11-15T21:06:53Z");
  ASSERT_TRUE(query) << query.error().detail;
  EXPECT_EQ(query->at("agent"), "a b c");
  EXPECT_EQ(query->size(), 5);
  EXPECT_TRUE(read_query(route, "")->empty());
  EXPECT_EQ(read_query(route, "agent")->at("agent"), "");
  EXPECT_EQ(read_query(route, "%61gent=x")->at("agent"), "x");
}

TEST(Route, RefusesAParameterThatIsUnknownAndNamesTheNearest) {
  const base::Error fault = fault_of("limt=3");
  EXPECT_EQ(fault.code, base::Code::bad_request);
  EXPECT_EQ(fault.field, "limt");
  EXPECT_EQ(fault.detail, "there is no parameter \"limt\" here; the nearest is \"limit\"");
  const auto none = read_query(bare, "x=1");
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().detail, "there is no parameter \"x\" here; this path takes none");
}

// What was not well formed counted as absent: a lock was released without its fence.
TEST(Route, RefusesAParameterThatIsNotWellFormed) {
  for (const std::string_view query : {"agent=%zz", "agent=%f", "agent=%ff", "limit=%zz"}) {
    const base::Error fault = fault_of(query);
    EXPECT_EQ(fault.code, base::Code::bad_request) << query;
    EXPECT_EQ(fault.field, query.substr(0, 5)) << query;
  }
  EXPECT_EQ(fault_of("%zz=1").code, base::Code::bad_request);
  EXPECT_EQ(fault_of("=1").code, base::Code::bad_request);
}

TEST(Route, RefusesAParameterThatIsThereTwice) {
  EXPECT_EQ(fault_of("agent=a&agent=a").field, "agent");
  EXPECT_EQ(fault_of("limit=1&lenient=true&%6cimit=1").field, "limit");
}

TEST(Route, RefusesAValueOfAnotherTypeOrBeyondItsBound) {
  for (const std::string_view query :
       {"lenient=1", "lenient=", "limit=11", "limit=-1", "limit=", "limit=1.0", "wait=31s",
        "wait=30", "wait=", "from=yesterday", "from="}) {
    const base::Error fault = fault_of(query);
    EXPECT_EQ(fault.code, base::Code::bad_request) << query;
    EXPECT_EQ(fault.field, query.substr(0, query.find('='))) << query;
  }
}

TEST(Route, RefusesAMemberThatIsUnknownAndNamesTheNearest) {
  lib::JsonDocument document;
  ASSERT_TRUE(read_body(route, R"({"lease":"5m","fence":7})", document));
  const auto unknown = read_body(route, R"({"lease":"5m","fense":7})", document);
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().code, base::Code::bad_request);
  EXPECT_EQ(unknown.error().field, "/fense");
  EXPECT_EQ(unknown.error().detail, "there is no member \"fense\" here; the nearest is \"fence\"");
}

TEST(Route, WithoutABodyTakesNoneOrAnEmptyOne) {
  lib::JsonDocument document;
  EXPECT_TRUE(read_body(bare, "", document));
  EXPECT_TRUE(read_body(bare, "{}", document));
  for (const std::string_view body : {R"({"reason":"x"})", "[]", "null", "text", "{"}) {
    EXPECT_FALSE(read_body(bare, body, document)) << body;
  }
}

TEST(Route, LeavesAFreeBodyToItsHandler) {
  lib::JsonDocument document;
  const Route free{"POST", "/v1/things", nullptr, {}, {Body::Kind::object}, Who::machine};
  EXPECT_TRUE(read_body(free, R"({"anything":1})", document));
  EXPECT_FALSE(read_body(free, "[]", document));
}

// Api::on_head lets the server drop the body of whoever has no token.
TEST(Route, ForAnyoneTakesNoBody) {
  for (const Route& each : all_routes()) {
    if (each.who == Who::anyone) {
      EXPECT_TRUE(each.body.kind == Body::Kind::members && each.body.members.empty())
          << each.pattern;
    }
  }
}

// A route for whoever signs its body has no other way to know its caller, and is one only.
TEST(Route, ForSignersIsTheHookAlone) {
  for (const Route& each : all_routes()) {
    EXPECT_EQ(each.who == Who::signer, each.pattern == "/hooks/github") << each.pattern;
  }
  net::Request request;
  request.path = "/hooks/github";
  request.method = "HEAD";
  EXPECT_EQ(find_route(request).route, nullptr);
}

TEST(Route, AreFoundByMethodAndPath) {
  net::Request request;
  request.method = "DELETE";
  request.path = "/v1/locks/a%20b";
  const Match found = find_route(request);
  ASSERT_NE(found.route, nullptr);
  EXPECT_EQ(found.route->pattern, "/v1/locks/{}");
  EXPECT_EQ(found.arguments, std::vector<std::string>{"a b"});
  request.method = "POST";
  EXPECT_EQ(find_route(request).allowed, "PUT, DELETE");
  request.path = "/v1/nowhere";
  EXPECT_EQ(find_route(request).allowed, "");
}

}  // namespace
}  // namespace parley::edge
