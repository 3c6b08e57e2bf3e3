// SPDX-License-Identifier: Apache-2.0
#include "edge/operation.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "edge/api/commands.h"
#include "edge/api/members.h"

namespace parley::edge {

namespace {

using base::Code;
using base::Error;
using lib::Json;

constexpr size_t members_max = 64;  // the message inside has a limit of its own
constexpr size_t ref_bytes_max = 64;

// What there is to do, and the members that it has.
struct Row {
  std::string_view name;
  Operation::Kind kind;
  std::vector<std::string_view> members;
};

Row row_of(std::string_view name, Operation::Kind kind, std::vector<std::string_view> members) {
  members.insert(members.end(), {"op", "ref"});
  return {name, kind, std::move(members)};
}

// All of them name a message. That only an ack takes `upto` is said where it is read.
Row row_of(const Settling& settling) {
  std::vector<std::string_view> members = settling.members;
  members.insert(members.end(), {"id", "seq", "upto"});
  return row_of(settling.name, Operation::Kind::settle, std::move(members));
}

const std::vector<Row>& rows() {
  static const std::vector<Row> table = [] {
    std::vector<Row> all = {row_of("send", Operation::Kind::send,
                                   {"message", "lenient", "idempotency_key", "on_unavailable",
                                    "session", "traceparent", "tracestate"})};
    std::ranges::transform(settlings(), std::back_inserter(all),
                           [](const Settling& each) { return row_of(each); });
    all.push_back(row_of("subscribe", Operation::Kind::subscribe, {"topic"}));
    all.push_back(row_of("unsubscribe", Operation::Kind::subscribe, {"topic"}));
    all.push_back(row_of("heartbeat", Operation::Kind::heartbeat, heartbeat_members()));
    return all;
  }();
  return table;
}

std::string names() {
  std::vector<std::string_view> all;
  std::ranges::transform(rows(), std::back_inserter(all), &Row::name);
  return in_words(all);
}

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
  const auto row = std::ranges::find(rows(), name, &Row::name);
  if (row == rows().end()) {
    return bad(ref, "op is " + names(), "/op");
  }
  if (auto unknown = unknown_member(value, row->members)) {
    return std::unexpected(BadOperation{ref, std::move(*unknown)});
  }
  return Operation{.kind = row->kind, .name = row->name, .ref = ref, .members = value};
}

}  // namespace parley::edge
