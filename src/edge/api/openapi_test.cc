// SPDX-License-Identifier: Apache-2.0
// Holds the description of the interface to the table of routes and to the table of codes. That
// answers fit its schemas is tested from outside: tests/e2e/openapi.test.mjs.
#include "edge/api/openapi.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "edge/api/route.h"
#include "lib/json.h"

namespace parley::edge {
namespace {

using lib::Json;

class OpenApi : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto parsed = document_.parse(openapi());
    ASSERT_TRUE(parsed) << parsed.error().detail;
    description_ = *parsed;
  }

  // Calls `visit` with `GET /v1/agents/{}` and the operation.
  template <class Visit>
  void each_operation(Visit&& visit) {
    for (const lib::JsonMember path : description_.find("paths").members()) {
      for (const lib::JsonMember method : path.value.members()) {
        std::string name(method.key);
        std::ranges::transform(name, name.begin(), [](char c) {
          return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
        });
        visit(name + " " + without_names(path.key), method.value);
      }
    }
  }

  lib::JsonDocument document_;
  Json description_;

 private:
  static std::string without_names(std::string_view path) {
    std::string pattern;
    bool inside = false;
    for (const char c : path) {
      inside = inside && c != '}';
      if (!inside) {
        pattern.push_back(c);
      }
      inside = inside || c == '{';
    }
    return pattern;
  }
};

std::string name_of(const Route& route) {
  return std::string(route.method) + " " + std::string(route.pattern);
}

TEST_F(OpenApi, DescribesTheRoutesAndNoOthers) {
  std::set<std::string> described;
  each_operation([&](const std::string& name, Json) { described.insert(name); });
  std::set<std::string> served;
  for (const Route& route : all_routes()) {
    EXPECT_TRUE(served.insert(name_of(route)).second) << name_of(route) << " twice";
  }
  EXPECT_EQ(described, served);
}

TEST_F(OpenApi, SaysWhichOperationsNeedNoToken) {
  std::set<std::string> open;
  for (const Route& route : all_routes()) {
    if (route.who == Who::anyone) {
      open.insert(name_of(route));
    }
  }
  each_operation([&](const std::string& name, Json operation) {
    const Json security = operation.find("security");
    EXPECT_EQ(static_cast<bool>(security), open.contains(name)) << name;
  });
}

TEST_F(OpenApi, NamesOnlyErrorsThatThereAreAndAllOfThem) {
  std::set<std::string_view> codes;
  for (const base::CodeInfo& info : base::all_codes()) {
    codes.insert(info.name);
  }
  each_operation([&](const std::string& name, Json operation) {
    const Json errors = operation.find("x-errors");
    ASSERT_TRUE(errors) << name;
    for (const Json code : errors.elements()) {
      EXPECT_TRUE(codes.contains(code.as_string().value_or(""))) << name << ": " << code.raw();
    }
  });
  const Json problem = description_.find("components").find("schemas").find("Problem");
  std::set<std::string_view> described;
  for (const Json code : problem.find("properties").find("code").find("enum").elements()) {
    described.insert(code.as_string().value_or(""));
  }
  EXPECT_EQ(described, codes);
}

TEST_F(OpenApi, HoldsTheSchemaOfAMessageAndTheVersion) {
  const Json message = description_.find("components").find("schemas").find("FlowMessage");
  ASSERT_TRUE(message.is_object());
  EXPECT_TRUE(message.find("$id"));
  EXPECT_NE(description_.find("info").find("version").as_string(), "PARLEY_VERSION");
}

}  // namespace
}  // namespace parley::edge
