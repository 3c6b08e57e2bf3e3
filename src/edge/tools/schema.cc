// SPDX-License-Identifier: Apache-2.0
#include "edge/tools/schema.h"

#include "base/check.h"

namespace parley::edge::tools {

namespace {

// Reads the short form, and writes the schema. The texts are ours, so a mistake in one is a CHECK.
class SchemaWriter {
 public:
  explicit SchemaWriter(std::string_view rest) : rest_(rest) {}

  std::string object() {
    std::string members;
    std::string required;
    for (skip_spaces(); !rest_.empty() && rest_.front() != ']' && rest_.front() != '}';
         skip_spaces()) {
      const bool always = take('!');
      const std::string_view name = rest_.substr(0, rest_.find_first_of("?#*[]{} "));
      CHECK(!name.empty());
      rest_.remove_prefix(name.size());
      const std::string quoted = "\"" + std::string(name) + "\"";
      members.append(members.empty() ? "" : ",").append(quoted).append(":").append(value());
      if (always) {
        required.append(required.empty() ? "" : ",").append(quoted);
      }
    }
    std::string text = R"({"type":"object")";
    if (!members.empty()) {
      text.append(R"(,"properties":{)").append(members).append("}");
    }
    if (!required.empty()) {
      text.append(R"(,"required":[)").append(required).append("]");
    }
    return text + "}";
  }

 private:
  std::string value() {
    if (take('[')) {
      const std::string items = object();
      CHECK(take(']'));
      return list_of(items);
    }
    if (take('{')) {
      std::string inner = object();
      CHECK(take('}'));
      return inner;
    }
    return take('?')   ? R"({"type":"boolean"})"
           : take('#') ? R"({"type":"integer"})"
           : take('*') ? list_of(R"({"type":"string"})")
                       : R"({"type":"string"})";
  }
  static std::string list_of(const std::string& items) {
    return R"({"type":"array","items":)" + items + "}";
  }
  bool take(char wanted) {
    const bool there = rest_.starts_with(wanted);
    rest_.remove_prefix(there ? 1 : 0);
    return there;
  }
  void skip_spaces() {
    while (take(' ')) {
    }
  }

  std::string_view rest_;
};

}  // namespace

std::string schema_of(std::string_view members) { return SchemaWriter(members).object(); }

}  // namespace parley::edge::tools
