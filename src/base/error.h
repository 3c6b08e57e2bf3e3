// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"

namespace parley::base {

// Every public error code. The names are for ever: clients script against them. The numbers are
// written into journals by nobody and may move.
enum class Code : uint8_t {
  bad_request,
  malformed_record,
  not_found,
  forbidden,
  conflict,
  duplicate_id,
  receiver_not_found,
  not_delivered,
  already_settled,
  payload_too_large,
  limit_reached,
  queue_full,
  overloaded,
  storage_full,
  storage_failed,
  journal_damaged,
  data_in_use,
  unknown_rule,
  bad_rule_value,
  unavailable,
  view_behind,
  validation_failed,
  sender_mismatch,
  unauthorized,
  host_refused,
  method_not_allowed,
  timeout,
  unsupported_dialect,
  header_too_large,
  request_timeout,
  version_not_supported,
  upgrade_required,
  address_in_use,
  rate_limited,
  not_answered,
  thread_full,
  thread_closed,
  circuit_open,
  ping_pong,
  fan_out_limit,
  budget_exceeded,
  receiver_unavailable,
  deadlock,
  not_a_participant,
  session_ended,
  session_paused,
  version_conflict,
  version_required,
  lock_held,
  lock_order,
  role_forbidden,
  bad_arguments,
  no_human,
  bad_answer,
  refused,
};

// One row of the table of codes: the public name, the HTTP status, a title, and what to do.
struct CodeInfo {
  Code code;
  std::string_view name;
  int http_status;  // 0: only a tool of MCP, or the command line, says it
  std::string_view title;
  std::string_view advice;
};

const CodeInfo& info(Code code);

// All rows, in the order of the enum.
std::span<const CodeInfo> all_codes();

// What went wrong, for the one who asked. `detail` says what was wanted, what was found and what
// to do; `field` is a JSON pointer where one field is wrong, else empty.
struct Error {
  Code code = Code::bad_request;
  std::string detail;
  std::string field;
  Duration retry_after{};  // when to try again; zero: there is no such time
  std::vector<std::string> cycle{};  // of a deadlock: who waits for whom, the first at the end too

  bool operator==(const Error&) const = default;
};

}  // namespace parley::base
