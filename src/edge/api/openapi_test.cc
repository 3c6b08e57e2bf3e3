// SPDX-License-Identifier: Apache-2.0
// Holds the description of the interface to the table of routes and to the table of codes. That
// answers fit its schemas is tested from outside: tests/e2e/openapi.test.mjs.
#include "edge/api/openapi.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <string>

#include "core/model/policy.h"
#include "edge/api/route.h"
#include "lib/json.h"
#include "net/uri.h"

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

  // What a `$ref` within the document leads to.
  Json resolved(Json value) const {
    const auto ref = value.find("$ref").as_string();
    if (!ref) {
      return value;
    }
    Json at = description_;
    for (const std::string_view step : net::path_segments(ref->substr(1))) {
      at = at.find(step);
    }
    return at;
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

// A dialect that the description does not name would be refused by those who go by it.
TEST_F(OpenApi, NamesAllDialectsWhereverItListsThem) {
  const std::vector<std::string> all = core::dialect_list();
  size_t lists = 0;
  const std::function<void(Json)> look = [&](Json value) {
    for (const lib::JsonMember member : value.members()) {
      std::vector<std::string> words;
      for (const Json word : member.value.elements()) {
        words.emplace_back(word.as_string().value_or(""));
        look(word);
      }
      if (member.key == "enum" && std::ranges::find(words, all.front()) != words.end()) {
        EXPECT_EQ(words, all);
        ++lists;
      }
      look(member.value);
    }
  };
  look(description_);
  EXPECT_GE(lists, 9U);
}

TEST_F(OpenApi, SaysWhichOperationsNeedNoToken) {
  std::set<std::string> open;
  for (const Route& route : all_routes()) {
    if (route.who == Who::anyone || route.who == Who::signer) {
      open.insert(name_of(route));
    }
  }
  each_operation([&](const std::string& name, Json operation) {
    const Json security = operation.find("security");
    EXPECT_EQ(static_cast<bool>(security), open.contains(name)) << name;
  });
}

// `integer up to 500`, `text`: what the description and the table both say of a parameter.
std::string words_of(const Parameter& parameter) {
  switch (parameter.type) {
    case Parameter::Type::text:
    case Parameter::Type::duration:
      return "text";
    case Parameter::Type::flag:
      return "flag";
    case Parameter::Type::time:
      return "time";
    case Parameter::Type::number:
      // JSON has no larger bound that all readers can hold.
      return parameter.max > 1'000'000 ? "integer"
                                       : "integer up to " + std::to_string(parameter.max);
  }
  return {};
}

std::string words_of(Json schema) {
  if (schema.find("type").as_string() == "integer") {
    const Json max = schema.find("maximum");
    return max ? "integer up to " + std::string(max.raw()) : "integer";
  }
  if (schema.find("enum").raw() == R"(["true", "false"])") {
    return "flag";
  }
  return schema.find("format").as_string() == "date-time" ? "time" : "text";
}

TEST_F(OpenApi, DescribesTheParametersOfEachRouteAndNoOthers) {
  using Parameters = std::set<std::pair<std::string, std::string>>;
  std::map<std::string, Parameters> described;
  each_operation([&](const std::string& name, Json operation) {
    for (const Json parameter : operation.find("parameters").elements()) {
      const Json named = resolved(parameter);
      if (named.find("in").as_string() == "query") {
        described[name].emplace(named.find("name").as_string().value_or(""),
                                words_of(named.find("schema")));
      }
    }
  });
  for (const Route& route : all_routes()) {
    Parameters taken;
    for (const Parameter& parameter : route.parameters) {
      taken.emplace(parameter.name, words_of(parameter));
    }
    EXPECT_EQ(described[name_of(route)], taken) << name_of(route);
  }
}

TEST_F(OpenApi, DescribesTheMembersOfEachBodyAndNoOthers) {
  std::map<std::string, Json> bodies;
  each_operation([&](const std::string& name, Json operation) {
    bodies[name] = resolved(
        operation.find("requestBody").find("content").find("application/json").find("schema"));
  });
  for (const Route& route : all_routes()) {
    const Json body = bodies[name_of(route)];
    const bool is_closed = body.find("additionalProperties").as_bool() == false;
    std::set<std::string_view> described;
    for (const lib::JsonMember member : body.find("properties").members()) {
      described.insert(member.key);
    }
    switch (route.body.kind) {
      case Body::Kind::members:
        EXPECT_EQ(described,
                  std::set<std::string_view>(route.body.members.begin(), route.body.members.end()))
            << name_of(route);
        EXPECT_EQ(is_closed, !route.body.members.empty()) << name_of(route);
        break;
      case Body::Kind::object:
      case Body::Kind::own:
        EXPECT_FALSE(is_closed) << name_of(route);
        break;
    }
  }
}

TEST_F(OpenApi, NamesOnlyErrorsThatThereAreAndAllOfThem) {
  std::set<std::string_view> codes;
  for (const base::CodeInfo& info : base::all_codes()) {
    if (info.http_status != 0) {
      codes.insert(info.name);
    }
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
