// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <regex>
#include <string>
#include <string_view>
#include <vector>

#include "lib/json.h"

namespace parley::edge_sim {

// As much of JSON Schema as our descriptions use; a keyword that it does not know is a fault, so
// that nothing goes unchecked. Stricter than the standard in one thing: a member that a schema with
// `properties` does not name is a fault unless `additionalProperties` says otherwise, so that what
// is answered is described. A schema with an `$id` is published by itself, and says what it allows.
class Schemas {
 public:
  // `openapi` is the text of the description, with the schemas of messages in it.
  explicit Schemas(std::string_view openapi);

  // What is wrong with an answer to `method` and `target` (with its query); empty: it fits. An
  // answer of a kind that is not described does not fit. `type` is its content type.
  std::string answer_fault(std::string_view method, std::string_view target, int status,
                           std::string_view type, std::string_view body) const;
  // What is wrong with a message that a reader of this dialect gets.
  std::string message_fault(std::string_view dialect, lib::Json message) const;
  // The same with a value and one of the schemas of the description: `Receipt`.
  std::string fault(std::string_view name, lib::Json value) const;
  // The same with a schema from elsewhere, which refers to nothing but itself.
  std::string fault(lib::Json schema, lib::Json value) const;

 private:
  struct Operation {
    std::string method;
    std::vector<std::string> path;  // Segments; empty stands for any.
    lib::Json responses;
    lib::Json errors;
  };
  struct Scope {
    lib::Json root;
    bool strict = true;
  };

  const Operation* find(std::string_view method, std::string_view target) const;
  std::string check(lib::Json schema, lib::Json value, Scope scope) const;
  std::string check_keyword(std::string_view keyword, lib::Json rule, lib::Json schema,
                            lib::Json value, const Scope& scope) const;
  std::string check_list(std::string_view keyword, lib::Json rule, lib::Json list,
                         const Scope& scope) const;
  std::string check_choice(std::string_view keyword, lib::Json rule, lib::Json schema,
                           lib::Json value, const Scope& scope) const;
  std::string check_object(lib::Json schema, lib::Json value, const Scope& scope) const;
  std::string check_text(std::string_view keyword, lib::Json rule, std::string_view text) const;
  lib::Json resolve(std::string_view reference, const Scope& scope) const;
  const std::regex& regex(std::string_view pattern) const;

  lib::JsonDocument document_;
  lib::Json root_;
  std::vector<Operation> operations_;
  mutable std::map<std::string, std::regex, std::less<>> regexes_;
};

// Those of the description that the broker serves. Read once.
const Schemas& published_schemas();

}  // namespace parley::edge_sim
