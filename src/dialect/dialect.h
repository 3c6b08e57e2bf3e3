// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <expected>
#include <list>
#include <span>
#include <string>
#include <string_view>

#include "base/error.h"
#include "core/envelope.h"
#include "lib/json.h"

namespace parley::dialect {

using base::Error;
using core::Dialect;
using core::Envelope;

// What a codec has to know beyond the text. It has no clock and makes no ids: the edge gives both.
struct DecodeContext {
  std::string_view sender;  // the authenticated principal; a message that claims another is refused
  base::Time received;
  base::MessageId fallback_id;  // for a message without an id

  // Fills in id, sender and timestamp where they are missing, and lets the conversation be missing
  // (an empty thread): for the command line and simple HTTP clients. Else they are required.
  bool lenient = false;

  // Derives Envelope::idempotency_key from the sender's text. Must be set, and must not return
  // none. Keys are compared only with those of the same sender.
  base::Id128 (*key_hash)(std::string_view key) = nullptr;
};

// Keeps the texts alive that a decoder had to make (Envelope::extra). Grows by what is decoded; an
// edge clears it when the envelopes are no longer used.
using Texts = std::list<std::string>;

struct EncodeContext {
  // Whom it is written for: used where the dialect names one receiver and the envelope several. The
  // text of an envelope with one receiver is the same for all who get it.
  std::string_view recipient;
};

// A dialect's two pure functions and its limits. A new dialect is one file and one row.
struct Codec {
  Dialect dialect;
  std::string_view name;
  size_t message_bytes_max;  // of a whole message's source text

  // Checks `message` whole and maps it. The envelope's texts are views into the document of
  // `message`, into the context and into `texts`. An error names the field by JSON pointer. An id
  // that is no UUID is mapped to one of version 4, which every dialect can write.
  std::expected<Envelope, Error> (*decode)(lib::Json message, const DecodeContext& context,
                                           Texts& texts);

  // Appends the message to `out` in this dialect, whatever dialect it was sent in.
  void (*encode)(const Envelope& envelope, const EncodeContext& context, std::string& out);
};

// The codecs there are, in the order of the enum.
std::span<const Codec> codecs();

// Null for a dialect that has no codec yet, or a name that is no dialect's.
const Codec* find_codec(Dialect dialect);
const Codec* find_codec(std::string_view name);

// Every dialect has a name, with or without a codec.
std::string_view name_of(Dialect dialect);

}  // namespace parley::dialect
