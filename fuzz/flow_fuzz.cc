// SPDX-License-Identifier: Apache-2.0
// Any bytes through the decoder of flow. What it takes, encodes and decodes again to the same
// envelope; what it refuses has a detail. Any bytes in an envelope's `extra` encode without harm.
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/check.h"
#include "dialect/flow/flow.h"
#include "lib/json_fault.h"

namespace parley {
namespace {

base::Id128 hash_of(std::string_view, std::string_view key) {
  base::Id128 id{.bytes = {1}};
  for (size_t n = 0; n < key.size(); ++n) {
    id.bytes[1 + n % 15] = static_cast<uint8_t>(id.bytes[1 + n % 15] * 31 + key[n]);
  }
  return id;
}

std::string encoded(const dialect::Envelope& envelope) {
  std::string out;
  dialect::encode_flow(envelope, {}, out);
  return out;
}

void run(std::string_view bytes, bool lenient) {
  lib::JsonDocument document;
  lib::JsonDocument document_again;
  const auto message = document.parse(bytes);
  CHECK(message.has_value() != lib::find_json_fault(bytes, lib::JsonLimits{}.depth_max).found);
  if (!message) {
    CHECK(!message.error().detail.empty());
    return;
  }
  dialect::Texts texts;
  const dialect::DecodeContext context{.sender = "planner",
                                       .fallback_id = {.bytes = {1, 2, 3, 4, 5, 6, 0x40, 8, 0x80}},
                                       .lenient = lenient,
                                       .derive = hash_of};
  auto envelope = dialect::decode_flow(*message, context, texts);
  if (!envelope) {
    CHECK(!envelope.error().detail.empty());
    return;
  }
  const std::string out = encoded(*envelope);
  const auto parsed = document_again.parse(out);
  CHECK(parsed.has_value());
  dialect::DecodeContext strict = context;
  strict.lenient = false;
  const auto again = dialect::decode_flow(*parsed, strict, texts);
  CHECK(again.has_value());
  if (envelope->thread.empty()) {
    envelope->thread = again->thread;
  }
  CHECK(*again == *envelope);
  CHECK(encoded(*again) == out);
  dialect::Envelope strange = *envelope;
  strange.extra = bytes.substr(bytes.size() / 2);
  encoded(strange);
}

}  // namespace
}  // namespace parley

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  parley::run(bytes, false);
  parley::run(bytes, true);
  return 0;
}
