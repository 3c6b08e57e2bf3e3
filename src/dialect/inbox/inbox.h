// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "dialect/dialect.h"

namespace parley::dialect {

// The `inbox` dialect, Agent Communication Protocol 1.0: schemas/inbox/message.schema.json. Call it
// through find_codec().
//
// A message is sent as {to, content, type} with what else its sender likes to say, and read as {id,
// from, to, content, type, threadId, priority, createdAt}. The content is text: JSON that fits the
// schema of its type (schemas/inbox/task.schema.json and its like), or, in a status or an error,
// any text. An object in its place is taken for its JSON. So the envelope's body is that object, or
// a JSON string; whoever reads it in inbox gets text in any case.
//
// A result or an error with the taskId of a task that its sender was given answers that task; a
// status follows it. Any other is a notification.
//
// What other dialects say is written as the content of the type that comes nearest: as it is where
// it fits the schema, else with the body in a member `body`.

constexpr size_t inbox_content_bytes = size_t{10} * 1024;  // a content has fewer
constexpr size_t inbox_text_bytes_max = 256;               // ids and names

// Fails with validation_failed, payload_too_large, sender_mismatch, not_found or conflict (of what
// `foreign` answers), or, where `message` is no object, bad_request. DecodeContext::bytes_max is
// what a content must be smaller than.
std::expected<Envelope, Error> decode_inbox(lib::Json message, const DecodeContext& context,
                                            Texts& texts);

void encode_inbox(const Envelope& envelope, const EncodeContext& context, std::string& out);

// `task`, `result`, `status` or `error`: its sender's own word, or what comes nearest.
std::string_view inbox_type(const Envelope& envelope);

// None is exact: a task may be a request or a query, and an error may answer or tell.
std::optional<Codec::Meaning> inbox_meaning(std::string_view type);

// `metrics.tokensUsed` in the content of a result.
uint64_t inbox_tokens(lib::Json message);

// The taskId in the body, where that is the content of a task; else empty.
std::string inbox_task(const Envelope& envelope);

// Of what asks: the title that its reader finds in the content.
std::string inbox_title(const Envelope& envelope);

std::string_view inbox_field(std::string_view canonical);

}  // namespace parley::dialect
