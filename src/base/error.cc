// SPDX-License-Identifier: Apache-2.0
#include "base/error.h"

#include <array>

#include "base/check.h"

namespace parley::base {

namespace {

constexpr auto table = std::to_array<CodeInfo>({
    {Code::bad_request, "BAD_REQUEST", 400, "The request is not valid",
     "Correct what the detail names and send it again."},
    {Code::malformed_record, "MALFORMED_RECORD", 500, "A journal record cannot be decoded",
     "Run `parley journal verify`; the journal was written by a newer version or is damaged."},
    {Code::not_found, "NOT_FOUND", 404, "There is no such thing",
     "Check the id; things that are not yours are not found either."},
    {Code::forbidden, "FORBIDDEN", 403, "This principal may not do that",
     "Use a token that has the right, or ask an admin for it."},
    {Code::conflict, "CONFLICT", 409, "The state does not allow it",
     "Change what the detail names, or read the state again first."},
    {Code::duplicate_id, "DUPLICATE_ID", 409, "The id was used for another message",
     "Give every message its own id; repeat an id only with the same content."},
    {Code::receiver_not_found, "RECEIVER_NOT_FOUND", 404, "No such receiver",
     "Register the receiver, or check its name with `parley agent list`."},
    {Code::not_delivered, "NOT_DELIVERED", 409, "The message was not handed out to this receiver",
     "Read or receive it before settling it."},
    {Code::already_settled, "ALREADY_SETTLED", 409, "The message is settled",
     "Nothing; its delivery (`parley outbox`, `parley trace`) says how it ended."},
    {Code::payload_too_large, "PAYLOAD_TOO_LARGE", 413, "The message is too large",
     "Send a reference to an artifact instead, or raise the limit."},
    {Code::limit_reached, "LIMIT_REACHED", 409, "A limit is reached",
     "Remove something first, or raise the limit that the detail names."},
    {Code::queue_full, "QUEUE_FULL", 429, "The receiver's inbox is full",
     "Wait until the receiver settles messages, then send again."},
    {Code::overloaded, "OVERLOADED", 503, "The broker has more work than it may hold",
     "Send again after a short pause."},
    {Code::storage_full, "STORAGE_FULL", 507, "The disk is full",
     "Free disk space; the broker goes on by itself."},
    {Code::storage_failed, "STORAGE_FAILED", 500, "Storage failed",
     "Look at the disk and the system log, then restart the broker. What was refused so may be "
     "stored all the same: send it again with the same id."},
    {Code::journal_damaged, "JOURNAL_DAMAGED", 500, "The journal is damaged",
     "Run `parley journal verify` and restore the segment it names from a backup."},
    {Code::data_in_use, "DATA_IN_USE", 409, "The data directory is in use",
     "Stop the other process or name another directory with --data."},
    {Code::unknown_rule, "UNKNOWN_RULE", 400, "There is no such rule",
     "See `parley config show` for the names."},
    {Code::bad_rule_value, "BAD_RULE_VALUE", 400, "The value does not fit the rule",
     "Give what the detail says that it takes."},
    {Code::unavailable, "UNAVAILABLE", 503, "The broker cannot answer now",
     "Send again after a short pause."},
    {Code::view_behind, "VIEW_BEHIND", 503, "The history is not up to date yet",
     "Ask again after a short pause; the detail says how far it is behind."},
    {Code::validation_failed, "VALIDATION_FAILED", 422, "The message does not fit its schema",
     "Correct the field that is named; the schema of each dialect is in schemas/."},
    {Code::sender_mismatch, "SENDER_MISMATCH", 403, "The message claims another sender",
     "Name the token's own principal as the sender, or use the sender's token."},
    {Code::unauthorized, "UNAUTHORIZED", 401, "There is no valid token",
     "Send the header `Authorization: Bearer TOKEN`; `parley agent add` makes a token."},
    {Code::host_refused, "HOST_REFUSED", 403, "The host name is not allowed",
     "Use a loopback name, or allow the name with the key `allowed_hosts`."},
    {Code::method_not_allowed, "METHOD_NOT_ALLOWED", 405, "The path takes other methods",
     "Use a method that the header Allow names."},
    {Code::timeout, "TIMEOUT", 504, "No answer came in time",
     "The message is still there: `parley outbox` says how it stands; a late answer comes into "
     "your inbox."},
    {Code::unsupported_dialect, "UNSUPPORTED_DIALECT", 400, "This dialect has no codec yet",
     "Send in the dialect flow."},
    {Code::header_too_large, "HEADER_TOO_LARGE", 431, "The header of the request is too large",
     "Send fewer or shorter header fields."},
    {Code::request_timeout, "REQUEST_TIMEOUT", 408, "The request came too slowly",
     "Send the whole request at once."},
    {Code::version_not_supported, "VERSION_NOT_SUPPORTED", 505,
     "The version of HTTP is not supported", "Use HTTP/1.1."},
    {Code::upgrade_required, "UPGRADE_REQUIRED", 426, "The path wants a WebSocket",
     "Connect with version 13 of the WebSocket protocol."},
    {Code::address_in_use, "ADDRESS_IN_USE", 409, "The address is in use",
     "Stop the other program, or choose another port with --listen."},
    {Code::rate_limited, "RATE_LIMITED", 429, "Too many in too short a time",
     "Wait as long as the answer says, then send again."},
    {Code::not_answered, "NOT_ANSWERED", 502, "There will be no answer",
     "Nobody got the message: its delivery says why; the broker has sent you a notice as well."},
    {Code::thread_full, "THREAD_FULL", 409, "The thread has as many messages as it may",
     "Go on in a new conversation_id, linked by the correlation_id that the detail names."},
    {Code::thread_closed, "THREAD_CLOSED", 409, "The thread is closed",
     "Go on in a new conversation_id, linked by the correlation_id that the detail names."},
    {Code::circuit_open, "CIRCUIT_OPEN", 503, "The receiver takes no messages now",
     "Send again after `retry_after`; `parley agent show` says what is wrong with the receiver."},
    {Code::ping_pong, "PING_PONG", 429, "Two agents only answer each other",
     "Stop, or bring in a person or another agent; an admin can run `parley agent reset`."},
    {Code::fan_out_limit, "FAN_OUT_LIMIT", 429, "Too many deliveries in a minute",
     "Send to fewer, or after `retry_after`; an admin can raise guard.fan_out_per_min."},
    {Code::budget_exceeded, "BUDGET_EXCEEDED", 429, "The agent's budget is used up",
     "Send again after `retry_after`; an admin can raise the budget or run `parley agent reset`."},
    {Code::receiver_unavailable, "RECEIVER_UNAVAILABLE", 503, "The receiver is away",
     "Send it again when the receiver is back, or with on_unavailable queue or redirect."},
    {Code::deadlock, "DEADLOCK", 409, "The request closes a circle of those who wait",
     "Answer what you were asked first, or ask without waiting; `cycle` names who waits for whom."},
    {Code::not_a_participant, "NOT_A_PARTICIPANT", 403, "Only participants talk in a session",
     "Let its coordinator add who is named with `parley session join`, or send without it."},
    {Code::session_ended, "SESSION_ENDED", 409, "The session is over",
     "Start another session; this one can still be read with `parley session show`."},
    {Code::session_paused, "SESSION_PAUSED", 409, "The session is paused",
     "Wait until its coordinator resumes it; what was sent in it is handed out then."},
    {Code::version_conflict, "VERSION_CONFLICT", 412, "Another change came before",
     "Read the session, decide again, and repeat the change with the version it has now."},
    {Code::version_required, "VERSION_REQUIRED", 428, "The version is missing",
     "Send `If-Match` with the version that you read, or `*` for whichever it has."},
    {Code::lock_held, "LOCK_HELD", 409, "Another holds the lock",
     "Wait for it with `?wait=30s` (`parley lock take --wait 30s`), or ask after `retry_after`."},
    {Code::lock_order, "LOCK_ORDER", 409, "Locks are taken in the order of their names",
     "Release what is greater, in byte order, and take the locks anew from the smallest on."},
    {Code::role_forbidden, "ROLE_FORBIDDEN", 403, "The agent's role does not allow it",
     "The detail says who may: let one of those send it, or send it to one of those."},
    {Code::secret_found, "SECRET_FOUND", 422, "There is a password, a key or a token in it",
     "Take it out and send it again: say where it is kept instead. The rules secrets.policy and "
     "superprompt.secrets_policy say what becomes of secrets."},
    {Code::not_via_orchestrator, "NOT_VIA_ORCHESTRATOR", 403,
     "Workers write to an orchestrator, not to each other",
     "Send it to an orchestrator, who passes it on."},
    {Code::bad_arguments, "BAD_ARGUMENTS", 0, "The arguments of a tool are not what it takes",
     "Correct the argument that is named and call the tool again."},
    {Code::no_human, "NO_HUMAN", 0, "There is no human to ask",
     "Let someone with the admin token run `parley human add NAME`."},
    {Code::bad_answer, "BAD_ANSWER", 0, "The answer is not that of a Parley broker",
     "Check that --url names a broker of this version; `parley doctor` looks at it."},
    {Code::refused, "REFUSED", 0, "A tool that `parley mcp check` called failed",
     "The detail has the code that the tool gave, and what to do."},
});

// A code without a row, or a row in another's place, does not compile.
static_assert(table.size() == static_cast<size_t>(Code::count));
static_assert([] {
  for (size_t n = 0; n < table.size(); ++n) {
    if (table[n].code != static_cast<Code>(n)) {
      return false;
    }
  }
  return true;
}());

}  // namespace

const CodeInfo& info(Code code) {
  const auto at = static_cast<size_t>(code);
  CHECK(at < table.size());
  return table[at];
}

std::span<const CodeInfo> all_codes() { return table; }

std::string whole_detail(const Error& error) {
  return error.remedy.empty() ? error.detail : error.detail + "; " + error.remedy;
}

std::vector<std::string> names_in_cycle(const Error& error) {
  std::vector<std::string> names;
  for (const WaitInCycle& each : error.cycle) {
    names.push_back(each.agent);
  }
  if (!names.empty()) {
    names.push_back(names.front());
  }
  return names;
}

}  // namespace parley::base
