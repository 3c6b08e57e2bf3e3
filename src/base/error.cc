// SPDX-License-Identifier: Apache-2.0
#include "base/error.h"

#include <array>

#include "base/check.h"

namespace parley::base {

namespace {

constexpr std::array<CodeInfo, 20> table = {{
    {Code::bad_request, "BAD_REQUEST", 400, "The request is not valid",
     "Correct what the detail names and send it again."},
    {Code::malformed_record, "MALFORMED_RECORD", 500, "A journal record cannot be decoded",
     "Run `parley journal verify`; the journal was written by a newer version or is damaged."},
    {Code::not_found, "NOT_FOUND", 404, "There is no such thing",
     "Check the id; things that are not yours are not found either."},
    {Code::forbidden, "FORBIDDEN", 403, "This principal may not do that",
     "Use a token that has the right, or ask an admin for it."},
    {Code::conflict, "CONFLICT", 409, "The state does not allow it", "Read the state again first."},
    {Code::duplicate_id, "DUPLICATE_ID", 409, "The id was used for another message",
     "Give every message its own id; repeat an id only with the same content."},
    {Code::receiver_not_found, "RECEIVER_NOT_FOUND", 404, "No such receiver",
     "Register the receiver, or check its name with `parley agent list`."},
    {Code::not_delivered, "NOT_DELIVERED", 409, "The message was not handed out to this receiver",
     "Read or receive a message before settling it."},
    {Code::already_settled, "ALREADY_SETTLED", 409, "The message is settled",
     "Nothing; ask for its delivery to see how it ended."},
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
     "Look at the disk and the system log, then restart the broker."},
    {Code::journal_damaged, "JOURNAL_DAMAGED", 500, "The journal is damaged",
     "Run `parley journal verify` and restore the segment it names from a backup."},
    {Code::data_in_use, "DATA_IN_USE", 409, "The data directory is in use",
     "Stop the other process or name another directory with --data."},
    {Code::unknown_rule, "UNKNOWN_RULE", 400, "There is no such rule",
     "See `parley config show` for the names."},
    {Code::bad_rule_value, "BAD_RULE_VALUE", 400, "The value does not fit the rule",
     "See `parley config show` for the type and the range."},
    {Code::unavailable, "UNAVAILABLE", 503, "The broker cannot answer now",
     "Send again after a short pause."},
}};

}  // namespace

const CodeInfo& info(Code code) {
  const auto at = static_cast<size_t>(code);
  CHECK(at < table.size());
  CHECK(table[at].code == code);
  return table[at];
}

std::span<const CodeInfo> all_codes() { return table; }

}  // namespace parley::base
