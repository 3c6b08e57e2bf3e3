// SPDX-License-Identifier: Apache-2.0
#include "dialect/dialect.h"

#include <algorithm>
#include <array>

#include "base/check.h"
#include "core/model/policy.h"
#include "dialect/collab/collab.h"
#include "dialect/flow/flow.h"
#include "dialect/inbox/inbox.h"
#include "dialect/reading.h"
#include "dialect/squad/squad.h"
#include "dialect/superprompt/superprompt.h"

namespace parley::dialect {

namespace {

std::string_view canonical_word(core::Kind kind) { return word_of(kind); }

constexpr std::array table = {
    Codec{.dialect = Dialect::flow,
          .name = std::string_view("flow"),
          .decode = decode_flow,
          .encode = encode_flow,
          .type = flow_type,
          .meaning = flow_meaning,
          .tells_questions_apart = true,
          .counted_as = canonical_word,
          .field = flow_field,
          .has_machine_fields = true,
          .tokens = flow_tokens,
          .title = nullptr,
          .task = nullptr,
          .private_summary = nullptr,
          .set_apart = nullptr,
          .id = nullptr,
          .foreign_key = std::string_view(R"("/metadata/foreign")"),
          .reads_body = false},
    Codec{.dialect = Dialect::collab,
          .name = std::string_view("collab"),
          .decode = decode_collab,
          .encode = encode_collab,
          .type = collab_type,
          .meaning = collab_meaning,
          .tells_questions_apart = true,
          .counted_as = collab_counted_as,
          .field = collab_field,
          .has_machine_fields = false,
          .tokens = collab_tokens,
          .title = nullptr,
          .task = nullptr,
          .private_summary = nullptr,
          .set_apart = nullptr,
          .id = nullptr,
          .foreign_key = std::string_view(R"("/foreign")"),
          .reads_body = false},
    Codec{.dialect = Dialect::inbox,
          .name = std::string_view("inbox"),
          .decode = decode_inbox,
          .encode = encode_inbox,
          .type = inbox_type,
          .meaning = inbox_meaning,
          .tells_questions_apart = false,
          .counted_as = canonical_word,
          .field = inbox_field,
          .has_machine_fields = false,
          .tokens = inbox_tokens,
          .title = inbox_title,
          .task = inbox_task,
          .private_summary = nullptr,
          .set_apart = nullptr,
          .id = nullptr,
          .foreign_key = std::string_view(R"("/foreign")"),
          .reads_body = true},
    Codec{.dialect = Dialect::superprompt,
          .name = std::string_view("superprompt"),
          .decode = decode_superprompt,
          .encode = encode_superprompt,
          .type = superprompt_type,
          .meaning = superprompt_meaning,
          .tells_questions_apart = false,
          .counted_as = canonical_word,
          .field = superprompt_field,
          .has_machine_fields = false,
          .tokens = superprompt_tokens,
          .title = superprompt_title,
          .task = nullptr,
          .private_summary = superprompt_private_summary,
          .set_apart = superprompt_set_apart,
          .id = nullptr,
          .foreign_key = std::string_view(R"("/foreign")"),
          .reads_body = true},
    Codec{.dialect = Dialect::squad,
          .name = std::string_view("squad"),
          .decode = decode_squad,
          .encode = encode_squad,
          .type = squad_type,
          .meaning = squad_meaning,
          .tells_questions_apart = true,
          .counted_as = canonical_word,
          .field = squad_field,
          .has_machine_fields = false,
          .tokens = squad_tokens,
          .title = squad_title,
          .task = nullptr,
          .private_summary = nullptr,
          .set_apart = nullptr,
          .id = squad_id,
          .foreign_key = std::string_view(R"("/foreign")"),
          .reads_body = true},
};

}  // namespace

std::span<const Codec> codecs() { return table; }

const Codec* find_codec(Dialect dialect) {
  const auto* found =
      std::ranges::find_if(table, [&](const Codec& each) { return each.dialect == dialect; });
  return found == table.end() ? nullptr : found;
}

const Codec* find_codec(std::string_view name) {
  const auto* found =
      std::ranges::find_if(table, [&](const Codec& each) { return each.name.value == name; });
  return found == table.end() ? nullptr : found;
}

const Codec& codec_of(Dialect dialect) {
  const Codec* const codec = find_codec(dialect);
  return codec == nullptr ? *find_codec(default_dialect) : *codec;
}

const Codec& task_codec() {
  // Not when this is compiled: with a sanitizer the address of a function is no constant.
  const auto* const found =
      std::ranges::find_if(table, [](const Codec& each) { return each.task != nullptr; });
  CHECK(found != table.end());
  return *found;
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

std::optional<base::MessageId> uuid_said(std::string_view name) {
  const auto uuid = uuid_of(name);
  return uuid ? uuid : squad_uuid(name);
}

std::string id_in(Dialect dialect, const Envelope& envelope) {
  if (const auto& id = codec_of(dialect).id; id != nullptr) {
    return id(envelope);
  }
  return core::policy_of(dialect).ids_are_uuids || envelope.native_id.empty()
             ? base::format_uuid(envelope.id)
             : std::string(envelope.native_id);
}

base::Id128 key_of(Derive derive, std::string_view key) { return derive("idempotency", key); }

std::string_view name_of(Dialect dialect) { return core::policy_of(dialect).name; }

}  // namespace parley::dialect
