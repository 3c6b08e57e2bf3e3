// SPDX-License-Identifier: Apache-2.0
#include "edge/operation.h"

#include <algorithm>
#include <array>
#include <string>

namespace parley::edge {

namespace {

using base::Code;
using base::Error;
using lib::Json;

constexpr size_t members_max = 64;  // the message inside has a limit of its own
constexpr size_t ref_bytes_max = 64;

// What there is to do.
struct Row {
  std::string_view name;
  Operation::Kind kind;
};
constexpr std::array<Row, 8> rows = {{
    {"send", Operation::Kind::send},
    {"ack", Operation::Kind::settle},
    {"nack", Operation::Kind::settle},
    {"reject", Operation::Kind::settle},
    {"extend", Operation::Kind::settle},
    {"subscribe", Operation::Kind::subscribe},
    {"unsubscribe", Operation::Kind::subscribe},
    {"heartbeat", Operation::Kind::heartbeat},
}};

bool has_more_members(Json object, size_t most) {
  size_t count = 0;
  for (auto at = object.members().begin(); at != object.members().end(); ++at) {
    if (++count > most) {
      return true;
    }
  }
  return false;
}

}  // namespace

std::expected<Operation, BadOperation> read_operation(Json value) {
  const auto bad = [](std::string_view ref, std::string detail, std::string field) {
    return std::unexpected(
        BadOperation{ref, Error{Code::bad_request, std::move(detail), std::move(field)}});
  };
  if (!value.is_object()) {
    return bad("", "an operation is a JSON object", "");
  }
  if (has_more_members(value, members_max)) {
    return bad("", "an operation has at most " + std::to_string(members_max) + " members", "");
  }
  const Json ref_value = value.find("ref");
  const std::string_view ref = ref_value.raw().size() <= ref_bytes_max ? ref_value.raw() : "";
  const std::string_view name = value.find("op").as_string().value_or("");
  const auto row = std::ranges::find(rows, name, &Row::name);
  if (row == rows.end()) {
    return bad(ref, "op is send, ack, nack, reject, extend, subscribe, unsubscribe or heartbeat",
               "/op");
  }
  return Operation{.kind = row->kind, .name = row->name, .ref = ref, .members = value};
}

}  // namespace parley::edge
