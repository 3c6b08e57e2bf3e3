// SPDX-License-Identifier: Apache-2.0
#include "sim/edge/schemas.h"

#include <gtest/gtest.h>

namespace parley::edge_sim {
namespace {

std::string fault(std::string_view schema, std::string_view value) {
  lib::JsonDocument schemas;
  lib::JsonDocument values;
  return published_schemas().fault(*schemas.parse(schema), *values.parse(value));
}

TEST(Schemas, HoldValuesToEachKeyword) {
  struct Case {
    std::string_view schema;
    std::string_view fits;
    std::string_view does_not;
  };
  const Case cases[] = {
      {R"({"type":"integer"})", "1", "1.5"},
      {R"({"type":["string","null"]})", "null", "1"},
      {R"({"enum":["a","b"]})", R"("b")", R"("c")"},
      {R"({"const":1})", "1", "2"},
      {R"({"required":["a"]})", R"({"a":1})", R"({"b":1})"},
      {R"({"properties":{"a":{"type":"string"}}})", R"({"a":"x"})", R"({"a":1})"},
      {R"({"properties":{"a":true}})", R"({"a":1})", R"({"b":1})"},
      {R"({"properties":{},"additionalProperties":{"type":"string"}})", R"({"b":""})",
       R"({"b":1})"},
      {R"({"additionalProperties":false})", "{}", R"({"b":1})"},
      {R"({"items":{"type":"string"}})", R"(["a"])", R"(["a",1])"},
      {R"({"minItems":1})", "[1]", "[]"},
      {R"({"maxItems":1})", "[1]", "[1,2]"},
      {R"({"minimum":1})", "1", "0"},
      {R"({"maximum":1})", "1", "2"},
      {R"({"minLength":1})", R"("a")", R"("")"},
      {R"({"maxLength":1})", "\"\u00e9\"", R"("ab")"},
      {R"({"pattern":"^a"})", R"("ab")", R"("ba")"},
      {R"({"format":"date-time"})", R"("2026-01-02T03:04:05.678Z")", R"("2026-01-02T03:04:05Z")"},
      {R"({"format":"uuid"})", R"("9f0c1f5e-0d1a-4c7e-8a55-0c5a3c9e7b11")", R"("9f0c1f5e")"},
      {R"({"allOf":[{"minimum":1},{"maximum":3}]})", "2", "4"},
      {R"({"anyOf":[{"const":1},{"const":3}]})", "3", "2"},
      {R"({"not":{"const":1}})", "2", "1"},
      {R"({"if":{"const":1},"then":{"const":2},"else":{"const":3}})", "3", "1"},
      {R"({"$id":"x","$ref":"#/definitions/d","definitions":{"d":{"const":1}}})", "1", "2"},
  };
  for (const Case& each : cases) {
    EXPECT_EQ(fault(each.schema, each.fits), "") << each.schema;
    EXPECT_NE(fault(each.schema, each.does_not), "") << each.schema;
  }
  EXPECT_NE(fault(R"({"unknown":1})", "1"), "");
}

TEST(Schemas, HoldAnswersToTheirRoutes) {
  const Schemas& schemas = published_schemas();
  constexpr std::string_view json = "application/json";
  const auto fault = [&](std::string_view method, std::string_view target, int status,
                         std::string_view body) {
    return schemas.answer_fault(method, target, status, json, body);
  };
  EXPECT_EQ(fault("GET", "/v1/inbox?limit=3", 200,
                  R"({"count":0,"shown":0,"more":false,"notifications":[]})"),
            "");
  EXPECT_NE(fault("GET", "/v1/inbox?limit=3", 200, R"({"count":0})"), "");
  EXPECT_NE(fault("GET", "/v1/inbox", 200, "{"), "");
  EXPECT_NE(fault("GET", "/v1/nowhere", 200, "{}"), "");
  EXPECT_NE(schemas.answer_fault("GET", "/v1/inbox", 200, "text/plain", "x"), "");
  EXPECT_EQ(schemas.answer_fault("DELETE", "/mcp", 204, "", ""), "");
}

}  // namespace
}  // namespace parley::edge_sim
