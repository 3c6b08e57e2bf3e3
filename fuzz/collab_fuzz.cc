// SPDX-License-Identifier: Apache-2.0
// Any bytes through the decoder of collab. What it takes, encodes and decodes again to the same
// envelope; written in flow it is a flow message, and comes back with the same id, kind and body.
// What it refuses has a detail. Any bytes in an envelope's `extra` encode without harm.
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/check.h"
#include "dialect/collab.h"
#include "dialect/flow.h"

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

// Knows every message that is asked for.
class AnyMessage final : public dialect::Lookup {
 public:
  std::expected<base::MessageId, dialect::Error> find_received(
      std::string_view id, std::span<const std::string_view>) const override {
    const auto uuid = base::parse_uuid(id);
    return uuid && !uuid->is_none() ? *uuid : dialect::message_id_of(derive, "boss", id);
  }
};

std::string in_collab(const dialect::Envelope& envelope) {
  std::string out;
  dialect::encode_collab(envelope, {}, out);
  return out;
}

std::string in_flow(const dialect::Envelope& envelope) {
  std::string out;
  dialect::encode_flow(envelope, {}, out);
  return out;
}

void run(std::string_view bytes, bool lenient) {
  lib::JsonDocument document;
  lib::JsonDocument document_again;
  lib::JsonDocument document_flow;
  const auto message = document.parse(bytes);
  if (!message) {
    return;
  }
  dialect::Texts texts;
  const AnyMessage lookup;
  const dialect::DecodeContext context{.sender = "planner",
                                       .fallback_id = {.bytes = {1, 2, 3, 4, 5, 6, 0x40, 8, 0x80}},
                                       .lenient = lenient,
                                       .derive = derive,
                                       .lookup = &lookup};
  auto envelope = dialect::decode_collab(*message, context, texts);
  if (!envelope) {
    CHECK(!envelope.error().detail.empty());
    return;
  }
  if (envelope->receivers.empty()) {
    envelope->receivers = {"boss"};  // an edge sends it to whoever asked
  }
  const std::string out = in_collab(*envelope);
  const auto parsed = document_again.parse(out);
  CHECK(parsed.has_value());
  dialect::DecodeContext strict = context;
  strict.lenient = false;
  const auto again = dialect::decode_collab(*parsed, strict, texts);
  CHECK(again.has_value() || again.error().code == base::Code::payload_too_large);
  CHECK(!again || in_collab(*again) == out);
  const auto flow = document_flow.parse(in_flow(*envelope));
  CHECK(flow.has_value());
  if (const auto through = dialect::decode_flow(*flow, strict, texts)) {
    CHECK(through->id == envelope->id);
    CHECK(through->kind == envelope->kind);
    CHECK(through->body == envelope->body);
    in_collab(*through);
  } else {
    // Only what flow cannot hold: a name that is no topic in a broadcast, say.
    CHECK(!through.error().field.empty());
  }
  dialect::Envelope strange = *envelope;
  strange.extra = bytes.substr(bytes.size() / 2);
  in_collab(strange);
  in_flow(strange);
}

}  // namespace
}  // namespace parley

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  parley::run(bytes, false);
  parley::run(bytes, true);
  return 0;
}
