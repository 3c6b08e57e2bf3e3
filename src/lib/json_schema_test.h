// SPDX-License-Identifier: Apache-2.0
#pragma once

// valijson aborts on a bad schema unless it may throw.
#define VALIJSON_USE_EXCEPTIONS 1

#include <memory>
#include <string>
#include <string_view>

#include <valijson/adapters/rapidjson_adapter.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>
#include <valijson/validation_results.hpp>
#include <valijson/validator.hpp>

namespace parley::lib {

// A JSON Schema (draft-07) that tests hold a decoder to: an oracle, too slow and too lenient about
// its own mistakes for anything else. Throws what valijson throws, for a schema that is none.
class JsonSchema {
 public:
  explicit JsonSchema(const std::string& text) {
    rapidjson::Document document;
    document.Parse(text.c_str(), text.size());
    if (document.HasParseError()) {
      throw std::runtime_error("the schema is not JSON");
    }
    valijson::SchemaParser parser(valijson::SchemaParser::kDraft7);
    parser.populateSchema(valijson::adapters::RapidJsonAdapter(document), schema_);
  }

  // Why the text does not fit the schema; empty when it does.
  std::string fault(std::string_view text) const {
    rapidjson::Document document;
    document.Parse<rapidjson::kParseFullPrecisionFlag>(text.data(), text.size());
    if (document.HasParseError()) {
      return "not JSON";
    }
    valijson::Validator validator;
    valijson::ValidationResults results;
    if (validator.validate(schema_, valijson::adapters::RapidJsonAdapter(document), &results)) {
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

 private:
  valijson::Schema schema_;
};

}  // namespace parley::lib
