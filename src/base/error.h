// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
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
  secret_found,
  not_via_orchestrator,
  bad_arguments,
  no_human,
  bad_answer,
  refused,
  count,  // not a code: how many there are
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

// One of those who wait in a circle: each waits for the next one, and the last for the first.
struct WaitInCycle {
  std::string agent;
  Id128 message;  // for whose answer it waits

  bool operator==(const WaitInCycle&) const = default;
};

// What went wrong, for the one who asked. `detail` says what was wanted, what was found and what
// to do; `field` is a JSON pointer where one field is wrong, else empty. The sentences are for
// people and may change: code that must know more than the code gets it in a member of its own.
struct Error {
  Code code = Code::bad_request;
  std::string detail;
  std::string field;
  Duration retry_after{};  // when to try again; zero: there is no such time
  // The end of the detail, apart: what to do, in the words of the API. Who has other words for it
  // leaves it out. Empty: the detail has no such end.
  std::string remedy{};
  std::vector<WaitInCycle> cycle{};  // of a deadlock
  bool has_lost_connection = false;  // of a client: it was connected before it failed

  bool operator==(const Error&) const = default;
};

// The detail with its end, as it is told to clients.
std::string whole_detail(const Error& error);

// The names of a deadlock's cycle, with the first one at the end again.
std::vector<std::string> names_in_cycle(const Error& error);

}  // namespace parley::base
