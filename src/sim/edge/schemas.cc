// SPDX-License-Identifier: Apache-2.0
#include "sim/edge/schemas.h"

#include <algorithm>
#include <array>

#include "base/check.h"
#include "edge/api/openapi.h"
#include "sim/text.h"

namespace parley::edge_sim {

namespace {

using lib::Json;
using lib::JsonKind;
using sim::text;

// Of the schema, not of its values; `then` and `else` belong to `if`.
constexpr auto ignored =
    std::to_array<std::string_view>({"$schema", "$id", "title", "description", "default",
                                     "examples", "definitions", "then", "else"});

std::string shown(Json value) { return std::string(value.raw().substr(0, 80)); }

bool is_whole(Json value) { return value.as_int64().has_value() || value.as_uint64().has_value(); }

bool is_a(Json value, std::string_view type) {
  switch (value.kind()) {
    case JsonKind::object:
      return type == "object";
    case JsonKind::array:
      return type == "array";
    case JsonKind::string:
      return type == "string";
    case JsonKind::boolean:
      return type == "boolean";
    case JsonKind::null:
      return type == "null";
    case JsonKind::none:
      return false;
    case JsonKind::number:
      return type == "number" || (type == "integer" && is_whole(value));
  }
  return false;
}

template <class Test>
bool any_of(Json list, const Test& test) {
  for (const Json each : list ? list.elements() : Json::Elements{}) {
    if (test(each)) {
      return true;
    }
  }
  return false;
}

size_t size_of(Json list) {
  size_t count = 0;
  for ([[maybe_unused]] const Json each : list.elements()) {
    ++count;
  }
  return count;
}

size_t characters_of(std::string_view words) {
  return static_cast<size_t>(std::ranges::count_if(
      words, [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

bool has_form(std::string_view format, std::string_view words) {
  const std::string_view form = format == "date-time" ? "0000-00-00T00:00:00.000Z"
                                : format == "uuid"    ? "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx"
                                                      : "";
  const auto fits = [](char c, char wanted) {
    const bool is_digit = c >= '0' && c <= '9';
    return wanted == '0'   ? is_digit
           : wanted == 'x' ? is_digit || (c >= 'a' && c <= 'f')
                           : c == wanted;
  };
  return std::ranges::equal(words, form, fits);
}

std::vector<std::string> segments_of(std::string_view path) {
  std::vector<std::string> segments;
  while (!path.empty()) {
    path.remove_prefix(1);  // The slash.
    const size_t end = std::min(path.find('/'), path.size());
    segments.emplace_back(path.substr(0, end));
    path.remove_prefix(end);
  }
  return segments;
}

}  // namespace

Schemas::Schemas(std::string_view openapi) {
  const auto parsed = document_.parse(openapi);
  CHECK(parsed.has_value());
  root_ = *parsed;
  for (const lib::JsonMember path : root_.find("paths").members()) {
    std::vector<std::string> segments = segments_of(path.key);
    for (std::string& segment : segments) {
      segment = segment.starts_with('{') ? std::string() : segment;
    }
    for (const lib::JsonMember each : path.value.members()) {
      std::string method(each.key);
      std::ranges::transform(method, method.begin(),
                             [](char c) { return static_cast<char>(c & ~0x20); });
      operations_.push_back(
          {std::move(method), segments, each.value.find("responses"), each.value.find("x-errors")});
    }
  }
}

const Schemas::Operation* Schemas::find(std::string_view method, std::string_view target) const {
  const std::vector<std::string> wanted = segments_of(target.substr(0, target.find('?')));
  for (const Operation& operation : operations_) {
    if (operation.method == method &&
        std::ranges::equal(wanted, operation.path, [](const auto& segment, const auto& pattern) {
          return pattern.empty() || pattern == segment;
        })) {
      return &operation;
    }
  }
  return nullptr;
}

std::string Schemas::answer_fault(std::string_view method, std::string_view target, int status,
                                  std::string_view type, std::string_view body) const {
  const Operation* const operation = find(method, target);
  if (operation == nullptr) {
    return "the route is not described";
  }
  const Json described = operation->responses.find(std::to_string(status));
  const Json response =
      described ? described : root_.find("components").find("responses").find("Problem");
  type = type.substr(0, type.find(';'));
  const Json content = response.find("content");
  if (!content) {
    return body.empty() ? "" : text("{} has no content by its description", status);
  }
  const Json as_type = content.find(type);
  if (!as_type) {
    return text("{} is not described with content of type {}", status, type);
  }
  if (type != "application/json" && type != "application/problem+json") {
    return {};
  }
  lib::JsonDocument document;
  const auto parsed = document.parse(body, {.bytes_max = 64 << 20, .depth_max = 100});
  if (!parsed) {
    return text("is no JSON: {}", parsed.error().detail);
  }
  if (!described) {
    const Json code = parsed->find("code");
    const std::string_view told = code ? code.as_string().value_or("") : "";
    // What any route may answer is not listed at each.
    constexpr auto common = std::to_array<std::string_view>(
        {"UNAUTHORIZED", "HOST_REFUSED", "HEADER_TOO_LARGE", "PAYLOAD_TOO_LARGE", "OVERLOADED",
         "STORAGE_FULL", "STORAGE_FAILED", "UNAVAILABLE", "REQUEST_TIMEOUT", "VIEW_BEHIND"});
    if (std::ranges::find(common, told) == common.end() &&
        !any_of(operation->errors, [&](Json each) { return each.as_string() == told; })) {
      return text("the code {} is not described for this route", told);
    }
  }
  return check(as_type.find("schema"), *parsed, {.root = root_});
}

std::string Schemas::message_fault(std::string_view dialect, Json message) const {
  std::string name(dialect);
  name.front() = static_cast<char>(name.front() & ~0x20);
  return fault(name + "Message", message);
}

std::string Schemas::fault(std::string_view name, Json value) const {
  return check(root_.find("components").find("schemas").find(name), value, {.root = root_});
}

std::string Schemas::fault(Json schema, Json value) const {
  return check(schema, value, {.root = schema, .strict = true});
}

std::string Schemas::check(Json schema, Json value, Scope scope) const {
  if (schema.kind() == JsonKind::boolean) {
    return schema.as_bool() == true ? "" : text("{} is not allowed", shown(value));
  }
  if (schema.find("$id")) {
    scope = {.root = schema, .strict = false};
  }
  for (const lib::JsonMember rule : schema.members()) {
    if (std::ranges::find(ignored, rule.key) != ignored.end()) {
      continue;
    }
    if (std::string fault = check_keyword(rule.key, rule.value, schema, value, scope);
        !fault.empty()) {
      return fault;
    }
  }
  return {};
}

std::string Schemas::check_keyword(std::string_view keyword, Json rule, Json schema, Json value,
                                   const Scope& scope) const {
  if (keyword == "$ref") {
    return check(resolve(*rule.as_string(), scope), value, scope);
  }
  if (keyword == "type") {
    const bool fits = rule.as_string()
                          ? is_a(value, *rule.as_string())
                          : any_of(rule, [&](Json type) { return is_a(value, *type.as_string()); });
    return fits ? "" : text("{} is not of type {}", shown(value), rule.raw());
  }
  if (keyword == "enum" || keyword == "const") {
    const auto same = [&](Json each) { return each.raw() == value.raw(); };
    return (keyword == "enum" ? any_of(rule, same) : same(rule))
               ? ""
               : text("{} is not {}", shown(value), rule.raw().substr(0, 200));
  }
  if (keyword == "properties" || keyword == "required" || keyword == "additionalProperties") {
    // All three at once, at the first of them.
    const bool is_first = schema.find("properties") ? keyword == "properties"
                          : schema.find("required") ? keyword == "required"
                                                    : true;
    return is_first && value.is_object() ? check_object(schema, value, scope) : "";
  }
  if (keyword == "minimum" || keyword == "maximum") {
    const auto number = value.kind() == JsonKind::number ? value.as_double() : std::nullopt;
    const bool fits = !number || (keyword == "minimum" ? *number >= *rule.as_double()
                                                       : *number <= *rule.as_double());
    return fits ? "" : text("{}: its {} is {}", shown(value), keyword, rule.raw());
  }
  if (keyword == "items" || keyword == "minItems" || keyword == "maxItems") {
    return value.kind() == JsonKind::array ? check_list(keyword, rule, value, scope) : "";
  }
  if (keyword == "pattern" || keyword == "format" || keyword == "minLength" ||
      keyword == "maxLength") {
    return value.as_string() ? check_text(keyword, rule, *value.as_string()) : "";
  }
  return check_choice(keyword, rule, schema, value, scope);
}

std::string Schemas::check_list(std::string_view keyword, Json rule, Json list,
                                const Scope& scope) const {
  if (keyword == "items") {
    for (const Json each : list.elements()) {
      if (std::string fault = check(rule, each, scope); !fault.empty()) {
        return fault;
      }
    }
    return {};
  }
  const size_t count = size_of(list);
  const bool fits = keyword == "minItems" ? count >= *rule.as_uint64() : count <= *rule.as_uint64();
  return fits ? "" : text("has {} items", count);
}

std::string Schemas::check_choice(std::string_view keyword, Json rule, Json schema, Json value,
                                  const Scope& scope) const {
  if (keyword == "allOf" || keyword == "anyOf") {
    std::string faults;
    for (const Json each : rule.elements()) {
      const std::string fault = check(each, value, scope);
      if (keyword == "anyOf" ? fault.empty() : !fault.empty()) {
        return fault;
      }
      faults += (faults.empty() ? "" : " | ") + fault;
    }
    return keyword == "anyOf" ? text("fits none: {}", faults) : "";
  }
  if (keyword == "oneOf") {
    size_t fitting = 0;
    std::string faults;
    for (const Json each : rule.elements()) {
      const std::string fault = check(each, value, scope);
      fitting += fault.empty() ? 1 : 0;
      faults += (faults.empty() ? "" : " | ") + fault;
    }
    return fitting == 1 ? "" : text("fits {} instead of one: {}", fitting, faults);
  }
  if (keyword == "not") {
    return check(rule, value, scope).empty() ? text("{} fits what it must not", shown(value)) : "";
  }
  if (keyword == "if") {
    const Json branch = schema.find(check(rule, value, scope).empty() ? "then" : "else");
    return branch ? check(branch, value, scope) : "";
  }
  return text("no check for the keyword {}", keyword);
}

std::string Schemas::check_text(std::string_view keyword, Json rule, std::string_view words) const {
  if (keyword == "pattern") {
    // What is long is opaque: a pattern is for names and times.
    const std::string_view head = words.substr(0, 2'000);
    return std::regex_search(head.begin(), head.end(), regex(*rule.as_string()))
               ? ""
               : text("{} does not match {}", words.substr(0, 80), rule.raw());
  }
  if (keyword == "format") {
    return has_form(*rule.as_string(), words)
               ? ""
               : text("{} is no {}", words.substr(0, 80), rule.raw());
  }
  if (keyword == "minLength" || keyword == "maxLength") {
    const size_t length = characters_of(words);
    const bool fits =
        keyword == "minLength" ? length >= *rule.as_uint64() : length <= *rule.as_uint64();
    return fits ? "" : text("{}: its {} is {}", words.substr(0, 80), keyword, rule.raw());
  }
  return text("no check for the keyword {}", keyword);
}

std::string Schemas::check_object(Json schema, Json value, const Scope& scope) const {
  const Json properties = schema.find("properties");
  const Json others = schema.find("additionalProperties");
  for (const lib::JsonMember member : value.members()) {
    const Json known = properties ? properties.find(member.key) : Json();
    std::string fault;
    if (known) {
      fault = check(known, member.value, scope);
    } else if (others) {
      fault = check(others, member.value, scope);
    } else if (properties && scope.strict) {
      fault = "is not described";
    }
    if (!fault.empty()) {
      return text("/{}: {}", member.key, fault);
    }
  }
  const Json required = schema.find("required");
  for (const Json name : required ? required.elements() : Json::Elements{}) {
    if (!value.find(*name.as_string())) {
      return text("lacks {}", *name.as_string());
    }
  }
  return {};
}

Json Schemas::resolve(std::string_view reference, const Scope& scope) const {
  CHECK(reference.starts_with("#/"));
  Json at = scope.root;
  for (const std::string& step : segments_of(reference.substr(1))) {
    at = at.find(step);
    CHECK(static_cast<bool>(at));
  }
  return at;
}

const std::regex& Schemas::regex(std::string_view pattern) const {
  const auto known = regexes_.find(pattern);
  return known != regexes_.end()
             ? known->second
             : regexes_.emplace(pattern, std::regex(std::string(pattern))).first->second;
}

const Schemas& published_schemas() {
  static const Schemas schemas(edge::openapi());
  return schemas;
}

}  // namespace parley::edge_sim
