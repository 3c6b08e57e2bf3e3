// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "dialect/codec.h"

namespace parley::dialect {

// The codecs there are, in the order of the enum.
std::span<const Codec> codecs();

// Null for a dialect that has no codec yet, or a name that is no dialect's.
const Codec* find_codec(Dialect dialect);
const Codec* find_codec(std::string_view name);

// Stands in where a dialect is needed and none is named, or the one that is has no codec yet.
constexpr Dialect default_dialect = Dialect::flow;
// The codec of the dialect, or the default one's where it has none yet.
const Codec& codec_of(Dialect dialect);
// The codec in whose words tasks are given and reported.
const Codec& task_codec();

// The UUID, of version 4, of a message whose sender named it in another form. Its lower half is of
// the name alone, so that a message can be found without its sender; the upper half is of both.
base::MessageId message_id_of(Derive derive, std::string_view sender, std::string_view name);

// What `name` says if it is a UUID that may stand as it is: of version 4. None otherwise.
std::optional<base::MessageId> uuid_of(std::string_view name);

// The same of an id in the form of any dialect: in squad's, a UUID may stand at the end.
std::optional<base::MessageId> uuid_said(std::string_view name);

// A message's id in the form of a dialect.
std::string id_in(Dialect dialect, const Envelope& envelope);

// An idempotency key of the sender's, as envelopes have it. Keys are compared only with those of
// the same sender.
base::Id128 key_of(Derive derive, std::string_view key);

// Every dialect has a name, with or without a codec.
std::string_view name_of(Dialect dialect);

}  // namespace parley::dialect
