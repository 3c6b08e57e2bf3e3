// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "core/model/envelope.h"
#include "dialect/dialect.h"
#include "lib/json.h"
#include "lib/json_writer.h"

namespace parley::dialect {

// The member `foreign` of a message that was sent in another dialect: what it says beyond the
// members of the dialect in which it is written. One form for all dialects, so that a message which
// goes through another dialect and back again loses nothing, and so that an agent can say what its
// own dialect has no member for: `"foreign": {"action": "deploy"}` in flow, `"foreign": {"status":
// "declined"}` in collab. A codec takes of it what it has no member for.
//
// `dialect`, `type` and `id` are of the message as it was sent. `extra` is Envelope::extra of that
// dialect: its unknown members and its spellings, by JSON pointer. They return only if the message
// is still the same one, by `id`, and if it still says the same with them.
struct Foreign {
  std::string_view dialect;
  std::string_view type;
  std::string_view id;
  std::string_view in_reply_to;  // the id of the message that this one answers, in that dialect
  std::string_view reply_to;
  std::string_view thread;
  std::string_view correlation;
  std::string_view causation;
  std::string_view session;
  std::string_view action;
  std::string_view subject;
  std::string_view task;
  std::optional<core::Status> status;
  std::optional<core::ContentType> content_type;
  std::optional<core::OnTimeout> on_timeout;
  std::optional<core::Priority> priority;
  std::optional<bool> requires_ack;
  std::optional<core::NeedsApproval> needs_approval;
  core::Stance stance = core::Stance::unset;
  core::Severity severity = core::Severity::unset;
  base::Time blocked_since;
  bool is_recoverable = false;
  bool wrapped = false;  // the body is the member `value` of an object
  base::Duration ttl;
  base::Duration response_timeout;
  uint64_t sequence_number = 0;
  int32_t confidence_ppm = -1;
  bool is_more_confident = false;  // by less than a millionth
  std::vector<std::string_view> receivers;
};

// Beyond those of the dialect, in all parts of a message. Each is sorted, renamed and kept: tens of
// thousands of them would hold up the loop. What a body has is not looked at.
inline constexpr size_t unknown_members_max = 1'000;
base::Error too_many_members(std::string_view pointer);

// Reads a value of the member at `pointer`. Null members count as left out, unknown ones are passed
// over. Its members, and those of objects in it, are counted as those that the dialect does not
// know.
std::expected<Foreign, base::Error> read_foreign(lib::Json value, std::string_view pointer);

// What is meant by its confidence: of what asks, how much the answer must have at least. What an
// answer has is rounded down.
int32_t confidence_of(const Foreign& foreign, core::Kind kind);

// Writes the members `dialect`, `type` and `id`, then those that no dialect has to leave out:
// subject, task, confidence, what people must approve, whether another try may do better, what is
// disputed, since when it is blocked. The caller has begun the object, and adds its own.
void begin_foreign(const core::Envelope& envelope, lib::JsonWriter& out);

// What `foreign` says of a dispute and of what blocks its sender, where the members do not say it.
void take_dispute(const Foreign& foreign, core::Envelope& envelope);

// Whether `name`, the id that a message had in its own dialect, is that of `id`, sent by `sender`.
bool is_id_of(std::string_view name, const base::MessageId& id, std::string_view sender,
              Derive derive);

// The key of the member `foreign`, as it stands in the `extra` of a message of this dialect; empty
// for one without a codec, whose messages have no `extra`.
std::string_view foreign_key(core::Dialect dialect);

// What the message was for before it was written in the dialect `own`, by the word that `foreign`
// has for it. Nothing when no other dialect has such a word. The envelope gets that kind if the
// word is exact and if both kinds ask for something or neither does. It never becomes a response:
// what it answers says that.
std::optional<core::Kind> take_kind(const Foreign& foreign, core::Dialect own,
                                    core::Envelope& envelope);

// Envelope::extra of the dialect `own`, of a message that was sent in it before it was sent in the
// one that it is in now; empty where it had none. Nothing when it was not, or when its `foreign` is
// about another message.
//
// A sender can write there what it likes, so nothing is taken on its word: what comes of it must
// read, in `own`, as the very message that the envelope says. Else it is nothing.
std::optional<std::string_view> sent_before(const core::Envelope& envelope, core::Dialect own);

// What a reader of that dialect makes of `text`, a message of the envelope's sender; it knows the
// message that the envelope answers, and no other. The result has views of `document` and `texts`.
std::expected<core::Envelope, base::Error> read_as(core::Dialect dialect, std::string_view text,
                                                   const core::Envelope& envelope,
                                                   lib::JsonDocument& document, Texts& texts);

// That dialect's word for such a message; empty when it was not sent in it. The sender's word: it
// counts only where it says no more than the envelope.
std::string_view type_before(const core::Envelope& envelope, core::Dialect own);

// What `foreign` calls the message that this one answers, where that can be the name of `answered`.
std::string_view name_of_answered(const Foreign& foreign, const base::MessageId& answered,
                                  Derive derive);

// Writes Envelope::extra as the member `extra`, without `left_out`, if that is no empty view; and
// nothing where nothing is left.
void write_extra(std::string_view extra, std::string_view left_out, lib::JsonWriter& out);

}  // namespace parley::dialect
