// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "dialect/dialect.h"

namespace parley::dialect {

// The `superprompt` dialect, Communication Protocols for Multi-Agent System 1.0:
// schemas/superprompt/message.schema.json. Call it through find_codec().
//
// A message has a head (message_type, message_id, in_reply_to, timestamp, from_agent, to_agent) and
// the members of its type. Those are the envelope's body, as one object, in the order in which they
// came: agents of other dialects read them there. The broker reads from them what the envelope has
// fields for. Of a hitl_approval_request the body is the proposed action alone, since people decide
// on that; the rest is kept in Envelope::extra.
//
// The task of a delegation is its own message_id, by which its completion names it.
//
// What other dialects say is written as the type that comes nearest. The body of one stands as it
// is where it has the members of that type and says what the envelope says. Else it is written into
// the members of the type, or into the extension member `body`, and `foreign` says `wrapped`.
// `system_notice` and `hitl_approval_decision` are for agents to read, never to send.

constexpr size_t superprompt_message_bytes_max = size_t{100} * 1024;
constexpr size_t superprompt_name_bytes_max = 256;         // ids and names
constexpr size_t superprompt_rationale_chars_max = 1'000;  // characters, not bytes
constexpr size_t superprompt_actions_max = 50;

// Fails with validation_failed, payload_too_large, sender_mismatch, not_found or conflict (of what
// in_reply_to names), forbidden (of what only the broker sends), or, where `message` is no object,
// bad_request.
std::expected<Envelope, Error> decode_superprompt(lib::Json message, const DecodeContext& context,
                                                  Texts& texts);

void encode_superprompt(const Envelope& envelope, const EncodeContext& context, std::string& out);

// Its sender's own word, or what comes nearest.
std::string_view superprompt_type(const Envelope& envelope);

// A delegation may be a request or a query. A flag is never taken on the word of another dialect.
std::optional<Codec::Meaning> superprompt_meaning(std::string_view type);

// `metrics.tokens_used` of a completion.
uint64_t superprompt_tokens(lib::Json message);

// The description that its reader finds in a delegation.
std::string superprompt_title(const Envelope& envelope);

// Severity and type of the violation, for what is a coc_violation_flag or may be meant as one: also
// with a type that is spelled in another way, without one, or in a text that is no JSON. A doubt is
// for the moderators (SP-09).
std::optional<std::string> superprompt_private_summary(std::string_view text, lib::Json message);

// `flags.coc_concern` of any message, in any spelling, is for the moderators (SP-09). It is left
// out also where it is false, or who reads messages would see where one was. Of a message in
// another dialect that holds for each object in it, also for one that stands in a text; and where
// one says that it is a flag, all of the message is for the moderators.
std::optional<Codec::Apart> superprompt_set_apart(lib::Json message, bool is_own);

std::string_view superprompt_field(std::string_view canonical);

}  // namespace parley::dialect
