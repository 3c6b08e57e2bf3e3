// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "dialect/dialect.h"

namespace parley::dialect {

// The `flow` dialect: schemas/flow/message.schema.json. Its own row of the table of codecs; call it
// through find_codec().
//
// There and back again loses nothing: what an envelope has no field for, or what was spelled in
// another way than encode_flow would spell it, is kept in Envelope::extra, one JSON object that
// maps the JSON pointer of each such member to its value:
//
//   {"/metadata/ttl":"PT5M","/payload/language":"en","/x-team":{"name":"blue"}}
//
// Members among the known ones that are null count as left out. Duplicate members are refused in
// the message, its payload and its metadata; the body is not looked into.

constexpr size_t flow_payload_bytes_max = size_t{1024} * 1024;
constexpr size_t flow_text_bytes_max = 256;  // conversation_id, correlation_id, receiver
constexpr size_t flow_key_bytes_max = 200;   // idempotency_key

// Fails with validation_failed, payload_too_large, sender_mismatch, or, where `message` is no
// object, bad_request.
std::expected<Envelope, Error> decode_flow(lib::Json message, const DecodeContext& context,
                                           Texts& texts);

// Members in a fixed order, then the unknown ones in the order in which they came. What another
// dialect has beyond flow goes into the member `foreign` of the metadata (dialect/foreign.h).
void encode_flow(const Envelope& envelope, const EncodeContext& context, std::string& out);

// One that answers nothing is no flow response.
std::string_view flow_type(const Envelope& envelope);

// Each word of flow stands for one kind.
std::optional<Codec::Meaning> flow_meaning(std::string_view type);

// The machine's fields have flow's names, but for what flow says in `foreign`.
std::string_view flow_field(std::string_view canonical);

// `metadata.tokens_used`.
uint64_t flow_tokens(lib::Json message);

}  // namespace parley::dialect
