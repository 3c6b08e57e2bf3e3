// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "dialect/dialect.h"

namespace parley::dialect {

// The `collab` dialect, ProtocolMessage 1.0: schemas/collab/message.schema.json. Call it through
// find_codec().
//
// An id is any text. Where it is a UUID of version 4 it stands as it is; any other is kept in
// Envelope::native_id and mapped to a UUID (message_id_of). A response names what it answers in
// correlationId, or, where that names no message, in causationId; a lookup finds it.
//
// What an envelope has no field for, or what was spelled in another way than encode_collab would
// spell it, is kept in Envelope::extra by JSON pointer, as in flow. `/to` is kept as `[]` where one
// receiver was written as a list.

constexpr size_t collab_message_bytes_max = size_t{512} * 1024;
constexpr size_t collab_text_bytes_max = 256;  // ids, names and the action

// Fails with validation_failed, payload_too_large, sender_mismatch, not_found or conflict (of what
// a response names), or, where `message` is no object, bad_request.
std::expected<Envelope, Error> decode_collab(lib::Json message, const DecodeContext& context,
                                             Texts& texts);

// Members in a fixed order, then the unknown ones in the order in which they came. What another
// dialect has beyond collab goes into the member `foreign` (dialect/foreign.h).
void encode_collab(const Envelope& envelope, const EncodeContext& context, std::string& out);

// One that answers nothing is no response.
std::string_view collab_type(const Envelope& envelope);

// An `event` is a notification, or, to a topic or everyone, a broadcast.
std::optional<Codec::Meaning> collab_meaning(std::string_view type);

// Collab defines its metrics by its own words for the types.
std::string_view collab_counted_as(core::Kind kind);

std::string_view collab_field(std::string_view canonical);

// None: collab has no member for tokens.
uint64_t collab_tokens(lib::Json message);

}  // namespace parley::dialect
