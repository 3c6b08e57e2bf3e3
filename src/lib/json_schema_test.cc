// SPDX-License-Identifier: Apache-2.0
// valijson aborts on a bad schema unless it may throw.
#define VALIJSON_USE_EXCEPTIONS 1

#include "lib/json_schema_test.h"

#include <stdexcept>

#include <valijson/adapters/rapidjson_adapter.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>
#include <valijson/validation_results.hpp>
#include <valijson/validator.hpp>

namespace parley::lib {

struct JsonSchema::Parsed {
  valijson::Schema schema;
};

JsonSchema::JsonSchema(const std::string& text) : parsed_(std::make_unique<Parsed>()) {
  rapidjson::Document document;
  document.Parse(text.c_str(), text.size());
  if (document.HasParseError()) {
    throw std::runtime_error("the schema is not JSON");
  }
  valijson::SchemaParser parser(valijson::SchemaParser::kDraft7);
  parser.populateSchema(valijson::adapters::RapidJsonAdapter(document), parsed_->schema);
}

JsonSchema::~JsonSchema() = default;

std::string JsonSchema::fault(std::string_view text) const {
  rapidjson::Document document;
  document.Parse<rapidjson::kParseFullPrecisionFlag>(text.data(), text.size());
  if (document.HasParseError()) {
    return "not JSON";
  }
  valijson::Validator validator;
  valijson::ValidationResults results;
  if (validator.validate(parsed_->schema, valijson::adapters::RapidJsonAdapter(document),
                         &results)) {
    return {};
  }
  std::string all = "does not fit:";
  valijson::ValidationResults::Error error;
  while (results.popError(error)) {
    for (const std::string& step : error.context) {
      all += " " + step;
    }
    all += ": " + error.description + ";";
  }
  return all;
}

}  // namespace parley::lib
