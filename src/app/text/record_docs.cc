// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <optional>
#include <type_traits>

#include "app/text/docs.h"
#include "core/model/entry.h"

namespace parley::app {

namespace {

using namespace core;

// How a value of this type is written: the words of the page.
std::string written(std::type_identity<std::string_view>, Form) { return "text"; }
std::string written(std::type_identity<bool>, Form) { return "bool"; }
std::string written(std::type_identity<Seq>, Form) { return "seq"; }
std::string written(std::type_identity<Time>, Form) { return "time"; }
std::string written(std::type_identity<Duration>, Form) { return "duration"; }
std::string written(std::type_identity<Target>, Form) { return "target"; }
std::string written(std::type_identity<StreamId>, Form) { return "stream"; }
std::string written(std::type_identity<ResumeMark>, Form) { return "mark"; }
std::string written(std::type_identity<Envelope>, Form) { return "envelope"; }
std::string written(std::type_identity<Gathering>, Form) { return "gathering"; }
std::string written(std::type_identity<int32_t>, Form) { return "u32"; }
std::string written(std::type_identity<uint32_t>, Form form) {
  return form == Form::fixed ? "u32" : "varint";
}
std::string written(std::type_identity<uint64_t>, Form form) {
  return form == Form::fixed ? "u64" : "varint";
}
std::string written(std::type_identity<Id128>, Form form) {
  return form == Form::if_any ? "optional id" : "id";
}
template <size_t size>
std::string written(std::type_identity<std::array<uint8_t, size>>, Form) {
  return fmt::format("{} bytes", size);
}
template <class T>
std::string written(std::type_identity<std::optional<T>>, Form form) {
  return "optional " + written(std::type_identity<T>{}, form);
}
std::string written(std::type_identity<std::pair<std::string_view, std::string_view>>, Form) {
  return "pair of text";
}
template <class T>
std::string written(std::type_identity<std::vector<T>>, Form form) {
  return "list of " + written(std::type_identity<T>{}, form);
}

class FieldWords {
 public:
  template <class T>
  void operator()(std::string_view name, const T&, Form form = Form::plain) {
    add(written(std::type_identity<T>{}, form), name);
  }
  template <Enumerator E>
  void operator()(std::string_view name, const E&, E) {
    add("u8", name);
  }
  template <Enumerator E>
  void operator()(std::string_view name, const std::optional<E>&, E) {
    add("u8 plus one", name);
  }

  std::string text;

 private:
  void add(const std::string& type, std::string_view name) {
    text += fmt::format("{}{} `{}`", text.empty() ? "" : ", ", type, name);
  }
};

template <class Record>
std::string fields_of() {
  FieldWords words;
  const Record record{};
  Record::fields(record, words);
  return words.text;
}

template <size_t tag = 0>
std::string command_rows() {
  if constexpr (tag == std::variant_size_v<Command>) {
    return {};
  } else {
    using Record = std::variant_alternative_t<tag, Command>;
    return fmt::format("| {} | {} | {} |\n", tag, Record::verb, fields_of<Record>()) +
           command_rows<tag + 1>();
  }
}

}  // namespace

std::string record_format_page() {
  return R"(# Record format

What a record's payload holds (the frame around it is in [journal-format.md](journal-format.md)).
Made from the lists of fields in `src/core/*/commands.h` and `src/core/model`, which say what each
field means. What decodes encodes to the same bytes: `codec_test.cc` and the `entry` fuzz target.

| word | bytes |
|---|---|
| u8, u32, u64 | little-endian; an enumerator is a u8 |
| u8 plus one | an enumerator plus one; 0: none |
| bool | a u8, 0 or 1 |
| varint | base 128, least significant group first, in its shortest form |
| text | varint length, and that many bytes |
| list | varint count, and each |
| optional | bool, and then the value if there is one |
| id | 16 bytes |
| seq | varint; 0: none |
| time | u64, microseconds since 1970 in UTC |
| duration | varint of microseconds |

A record is

    u8      tag: the command
    u64     origin: the node's life
    varint  number of the command in that life
    varint  workspace
    text    actor: the authenticated principal; empty is the broker itself
    …       the command's fields

| tag | command | fields |
|---|---|---|
)" + command_rows() +
         fmt::format(R"(
| part | fields |
|---|---|
| target | {} |
| stream | {} |
| mark | {}, both below 2^32 |
| gathering | {} |
| envelope | {} |

Tags and enumerators are never renumbered and never used again. A record that does not decode stops
the node: it was written by a newer version, or by none.

Not supported: reading the journal of a newer version; fields of unknown length.
)",
                     fields_of<Target>(), fields_of<StreamId>(), fields_of<ResumeMark>(),
                     fields_of<Gathering>(), fields_of<Envelope>());
}

}  // namespace parley::app
