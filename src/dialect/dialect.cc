// SPDX-License-Identifier: Apache-2.0
#include "dialect/dialect.h"

#include <algorithm>
#include <array>

#include "core/model/policy.h"
#include "dialect/collab/collab.h"
#include "dialect/flow/flow.h"
#include "dialect/inbox/inbox.h"
#include "dialect/reading.h"

namespace parley::dialect {

namespace {

constexpr std::array<Codec, 3> table = {{
    {Dialect::flow, "flow", flow_message_bytes_max, decode_flow, encode_flow, flow_type,
     flow_field},
    {Dialect::collab, "collab", collab_message_bytes_max, decode_collab, encode_collab, collab_type,
     collab_field},
    {Dialect::inbox, "inbox", inbox_message_bytes_max, decode_inbox, encode_inbox, inbox_type,
     inbox_field},
}};

}  // namespace

std::span<const Codec> codecs() { return table; }

const Codec* find_codec(Dialect dialect) {
  const auto* found = std::ranges::find(table, dialect, &Codec::dialect);
  return found == table.end() ? nullptr : found;
}

const Codec* find_codec(std::string_view name) {
  const auto* found = std::ranges::find(table, name, &Codec::name);
  return found == table.end() ? nullptr : found;
}

base::MessageId message_id_of(Derive derive, std::string_view sender, std::string_view name) {
  const base::Id128 of_name = derive({}, name);
  base::MessageId id = derive(sender, name);
  constexpr size_t half = 8;
  std::copy_n(of_name.bytes.begin(), half, id.bytes.begin() + half);
  id.bytes[6] = static_cast<uint8_t>((id.bytes[6] & 0x0f) | 0x40);
  id.bytes[8] = static_cast<uint8_t>((id.bytes[8] & 0x3f) | 0x80);
  return id;
}

std::optional<base::MessageId> uuid_of(std::string_view name) {
  const auto id = base::parse_uuid(name);
  return id && is_version_4(*id) ? id : std::nullopt;
}

std::string id_in(Dialect dialect, const Envelope& envelope) {
  return dialect == Dialect::flow || envelope.native_id.empty() ? base::format_uuid(envelope.id)
                                                                : std::string(envelope.native_id);
}

base::Id128 key_of(Derive derive, std::string_view key) { return derive("idempotency", key); }

std::string_view name_of(Dialect dialect) { return core::policy_of(dialect).name; }

}  // namespace parley::dialect
