// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace parley::lib {

// A JSON Schema (draft-07) that tests hold a decoder to: an oracle, too slow and too lenient about
// its own mistakes for anything else. Throws what valijson throws, for a schema that is none. The
// validator is compiled in json_schema_test.cc alone: it takes twenty seconds.
class JsonSchema {
 public:
  explicit JsonSchema(const std::string& text);
  ~JsonSchema();
  JsonSchema(const JsonSchema&) = delete;
  JsonSchema& operator=(const JsonSchema&) = delete;

  // Why the text does not fit the schema; empty when it does.
  std::string fault(std::string_view text) const;

 private:
  struct Parsed;
  std::unique_ptr<Parsed> parsed_;
};

}  // namespace parley::lib
