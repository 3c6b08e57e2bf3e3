// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <expected>
#include <list>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/check.h"
#include "base/error.h"
#include "core/model/envelope.h"
#include "lib/json.h"

namespace parley::dialect {

using base::Error;
using base::Stated;
using core::Dialect;
using core::Envelope;

// Makes an id of a name within a scope: the same each time, another for each pair.
using Derive = base::Id128 (*)(std::string_view scope, std::string_view name);

// What a codec asks about other messages, for it has no tables.
class Lookup {
 public:
  virtual ~Lookup() = default;

  // The message that the sender means by an id in the form of any dialect, among those that were
  // sent to it. Where several have that id, one of `from` is meant. Errors have no field.
  virtual std::expected<base::MessageId, Error> find_received(
      std::string_view id, std::span<const std::string_view> from) const = 0;

  // The message by which one of `from` gave this task to the sender, in this conversation where
  // one is named. None when none of them did.
  virtual std::optional<base::MessageId> find_task(std::string_view task,
                                                   std::span<const std::string_view> from,
                                                   std::string_view thread) const = 0;
};

// What a codec has to know beyond the text. It has no clock and makes no ids: the edge gives both.
struct DecodeContext {
  std::string_view sender;  // the authenticated principal; a message that claims another is refused
  base::Time received;
  base::MessageId fallback_id;  // for a message without an id

  // Fills in id, sender and timestamp where they are missing, and lets the conversation be missing
  // (an empty thread): for the command line and simple HTTP clients. Else they are required. What
  // else may be missing is the dialect's own matter.
  bool lenient = false;

  size_t bytes_max = 0;  // of the whole message, in inbox of its content; 0: the codec's own

  // Makes ids of what the sender wrote. Must be set, and must not return none.
  Derive derive = nullptr;

  // Null: no message is known but by its UUID.
  const Lookup* lookup = nullptr;
};

// Keeps the texts alive that a decoder had to make (Envelope::extra). Grows by what is decoded; an
// edge clears it when the envelopes are no longer used.
using Texts = std::list<std::string>;

struct EncodeContext {
  // Whom it is written for: used where the dialect names one receiver and the envelope several. The
  // text of an envelope with one receiver is the same for all who get it.
  std::string_view recipient;
  bool stands_in = false;  // it got the message in another's place

  // Which traceparent the text has: the one that the sender wrote into it, if any; or one by which
  // the message itself is the cause of what its receiver does, in its place or in any case.
  enum class Trace : uint8_t { as_sent, own_if_sent, own };
  Trace trace = Trace::as_sent;
};

// One dialect: the functions between its messages and envelopes, and what else the broker asks of
// it. All are pure. See "Adding a dialect" in ARCHITECTURE.md.
struct Codec {
  Stated<Dialect> dialect;
  Stated<std::string_view> name;

  // Checks `message` whole and maps it. The envelope's texts are views into the document of
  // `message`, into the context and into `texts`. An error names the field by JSON pointer. An id
  // that is no UUID is mapped to one of version 4, which every dialect can write. A response whose
  // receivers are empty goes to whoever asked.
  using Decode = std::expected<Envelope, Error> (*)(lib::Json message, const DecodeContext& context,
                                                    Texts& texts);
  Stated<Decode> decode;

  // Appends the message to `out` in this dialect, whatever dialect it was sent in.
  using Encode = void (*)(const Envelope& envelope, const EncodeContext& context, std::string& out);
  Stated<Encode> encode;

  // The word for what kind of message it is.
  Stated<std::string_view (*)(const Envelope& envelope)> type;

  // What `decode` makes of such a word. Nothing: the dialect has no such word.
  struct Meaning {
    core::Kind kind;
    bool is_exact;  // `decode` makes no other kind of it
  };
  Stated<std::optional<Meaning> (*)(std::string_view type)> meaning;
  Stated<bool> tells_questions_apart;  // its words for a query and for a request differ

  // The word by which /metrics counts messages of this kind.
  Stated<std::string_view (*)(core::Kind kind)> counted_as;

  // Where this dialect has the field that the machine names: `/to` for `/receiver`.
  Stated<std::string_view (*)(std::string_view canonical)> field;
  Stated<bool> has_machine_fields;  // all fields that the machine names have the machine's names

  // The tokens that its sender says it has used since it last said so; zero where it says nothing.
  // Only for a message that `decode` has taken.
  Stated<uint64_t (*)(lib::Json message)> tokens;

  // Of what asks: the title that its reader finds in it. Null: messages have no titles.
  using Read = std::string (*)(const Envelope& envelope);
  Stated<Read> title;
  // The task that its reader finds in the body; empty where it finds none. Null: tasks are not
  // given in this dialect.
  Stated<Read> task;

  // What moderators are shown of the message in a list, where it is for them alone, also where it
  // is not as the dialect asks; nothing for any other. `message` is none where the text is no JSON.
  // Null: the dialect has no such messages.
  using PrivateSummary = std::optional<std::string> (*)(std::string_view text, lib::Json message);
  Stated<PrivateSummary> private_summary;

  // A message with a part that is for the moderators alone: the message without it, and whether
  // that part says something. Nothing for any other message. Null: the dialect has none of the
  // kind.
  struct Apart {
    std::string rest;  // empty: all of it is for them
    bool is_flag = false;
    std::string summary{};  // for a list of flags
  };
  // Of a message in this dialect; or in another one, whose body may say something in this one.
  using SetApart = std::optional<Apart> (*)(lib::Json message, bool is_own);
  Stated<SetApart> set_apart;
  Stated<Read> id;  // of a message, as the dialect writes it. Null: its sender's own, else its UUID
  // The key of the member `foreign` in Envelope::extra (dialect/foreign.h), in quotes.
  Stated<std::string_view> foreign_key;
  Stated<bool> reads_body;  // what `decode` makes of a message depends on what its body says
};

}  // namespace parley::dialect
