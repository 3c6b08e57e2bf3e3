// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "dialect/dialect.h"

namespace parley::dialect {

// The `squad` dialect, Inter-Agent Communication Protocol 1.0: schemas/squad/message.schema.json.
// Call it through find_codec().
//
// The envelope's body is the member `body` as it stands. The broker reads from it what the envelope
// has fields for: what a challenge asks for and how grave it is, what an answer does about it, how
// sure its sender is, since when it is blocked, what it does outside. `status` is the sender's word
// and travels along; the broker's own is the state of each delivery.
//
// A response without reply_to answers nothing: it reports. So does what has no word in squad: a
// notification, an event. What is written to `broadcast` is for all agents, and durable.
//
// An id has the form that the protocol gives it. A message of another dialect has one that is made
// of its time and its UUID.

constexpr size_t squad_name_bytes_max = 256;  // ids and names
constexpr size_t squad_subject_bytes_max = 512;

// Fails with validation_failed, sender_mismatch, not_found or conflict (of what reply_to names),
// or, where `message` is no object, bad_request.
std::expected<Envelope, Error> decode_squad(lib::Json message, const DecodeContext& context,
                                            Texts& texts);

void encode_squad(const Envelope& envelope, const EncodeContext& context, std::string& out);

// Its sender's own word, or what comes nearest.
std::string_view squad_type(const Envelope& envelope);

// All but `response` are exact.
std::optional<Codec::Meaning> squad_meaning(std::string_view type);

// Messages have no member for them.
uint64_t squad_tokens(lib::Json message);

// The subject that its reader finds.
std::string squad_title(const Envelope& envelope);

// `MSG-{YYYYMMDD}-{HHMMSS}-{short}`: its sender's own, or one that ends in its UUID.
std::string squad_id(const Envelope& envelope);
// The UUID in such an id; none in another.
std::optional<base::MessageId> squad_uuid(std::string_view id);

std::string_view squad_field(std::string_view canonical);

}  // namespace parley::dialect
