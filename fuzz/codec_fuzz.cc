// SPDX-License-Identifier: Apache-2.0
// Any bytes through the codec of each dialect: see run(). A new codec is tried without a line here.
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/check.h"
#include "dialect/dialect.h"

namespace parley {
namespace {

base::Id128 derive(std::string_view scope, std::string_view name) {
  base::Id128 id{.bytes = {1}};
  size_t at = 0;
  for (const std::string_view text : {scope, name}) {
    for (const char c : text) {
      id.bytes[1 + at % 15] = static_cast<uint8_t>(id.bytes[1 + at % 15] * 31 + c);
      ++at;
    }
  }
  return id;
}

// Knows every message and every task that is asked for.
class AnyMessage final : public dialect::Lookup {
 public:
  std::expected<base::MessageId, dialect::Error> find_received(
      std::string_view id, std::span<const std::string_view>) const override {
    const auto uuid = base::parse_uuid(id);
    return uuid && !uuid->is_none() ? *uuid : dialect::message_id_of(derive, "boss", id);
  }
  std::optional<base::MessageId> find_task(std::string_view task, std::span<const std::string_view>,
                                           std::string_view) const override {
    return dialect::message_id_of(derive, "boss", task);
  }
};

std::string text_in(dialect::Dialect dialect, const dialect::Envelope& envelope) {
  std::string out;
  dialect::find_codec(dialect)->encode(envelope, {.recipient = "worker"}, out);
  return out;
}

// `envelope` in the words of `other`, which may refuse what it cannot hold: a name that is no topic
// in a broadcast, say.
void through(dialect::Dialect own, dialect::Dialect other, const dialect::Envelope& envelope,
             const dialect::DecodeContext& context, dialect::Texts& texts) {
  lib::JsonDocument document;
  const auto parsed = document.parse(text_in(other, envelope));
  CHECK(parsed.has_value());
  const auto there = dialect::find_codec(other)->decode(*parsed, context, texts);
  if (!there) {
    CHECK(!there.error().detail.empty());
    return;
  }
  CHECK(there->id == envelope.id);
  (void)text_in(own, *there);
}

// What the codec takes, encodes and decodes again to the same text; in the words of the other
// dialects it is a message of those, with the same id. What it refuses has a detail. Any bytes in
// an envelope's `extra` encode without harm.
void run(dialect::Dialect own, std::string_view bytes, bool lenient) {
  lib::JsonDocument document;
  lib::JsonDocument document_again;
  const auto message = document.parse(bytes);
  if (!message) {
    return;
  }
  const dialect::Codec& codec = *dialect::find_codec(own);
  dialect::Texts texts;
  const AnyMessage lookup;
  const dialect::DecodeContext context{.sender = "planner",
                                       .fallback_id = {.bytes = {1, 2, 3, 4, 5, 6, 0x40, 8, 0x80}},
                                       .lenient = lenient,
                                       .derive = derive,
                                       .lookup = &lookup};
  auto envelope = codec.decode(*message, context, texts);
  if (!envelope) {
    CHECK(!envelope.error().detail.empty());
    return;
  }
  if (envelope->receivers.empty()) {
    envelope->receivers = {"boss"};  // an edge sends it to whoever asked
  }
  const std::string out = text_in(own, *envelope);
  const auto parsed = document_again.parse(out);
  CHECK(parsed.has_value());
  dialect::DecodeContext strict = context;
  strict.lenient = false;
  const auto again = codec.decode(*parsed, strict, texts);
  CHECK(again.has_value() || again.error().code == base::Code::payload_too_large);
  CHECK(!again || text_in(own, *again) == out);
  for (const dialect::Codec& other : dialect::codecs()) {
    if (other.dialect != own) {
      through(own, other.dialect, *envelope, strict, texts);
    }
  }
  dialect::Envelope strange = *envelope;
  strange.extra = bytes.substr(bytes.size() / 2);
  for (const dialect::Codec& each : dialect::codecs()) {
    (void)text_in(each.dialect, strange);
  }
}

}  // namespace
}  // namespace parley

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  for (const parley::dialect::Codec& codec : parley::dialect::codecs()) {
    parley::run(codec.dialect, bytes, false);
    parley::run(codec.dialect, bytes, true);
  }
  return 0;
}
