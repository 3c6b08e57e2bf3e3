// SPDX-License-Identifier: Apache-2.0
#include <benchmark/benchmark.h>

#include <string>

#include "base/check.h"
#include "dialect/flow/flow.h"

namespace parley {
namespace {

base::Id128 hash_of(std::string_view, std::string_view) { return base::Id128{.bytes = {1}}; }

// A request of about 1 KiB: the envelope takes some 400 bytes, the rest is the body. `spelled` has
// what an envelope keeps in its `extra`: a member that flow does not know, and Python's timestamp.
std::string message_text(bool spelled) {
  std::string text =
      R"({"id":"f47ac10b-58cc-4372-a567-0e02b2c3d479","conversation_id":"conv-2026-000117",)"
      R"("type":"request","priority":"high","sender":"planner","receiver":"coder",)"
      R"("response_timeout":"10m","on_timeout":"retry","metadata":{"timestamp":")";
  text += spelled ? "2026-11-15T21:06:53.042123+00:00" : "2026-11-15T21:06:53.042Z";
  text += R"(","ttl":"1h","requires_ack":true,"sequence_number":17,"correlation_id":"release-9")";
  text += spelled ? R"(,"x-trace":{"a":1}})" : "}";
  text += R"(,"payload":{"content_type":"json","body":{"task":"T-042","files":[)";
  for (int n = 0; n < 6; ++n) {
    text += R"({"path":"src/core/file.cc","line":)" + std::to_string(100 + n) + "},";
  }
  text.back() = ']';
  text += R"(,"instructions":")";
  text.append(1024 - text.size() - 4, 'x');
  text += "\"}}}";
  return text;
}

void decode(benchmark::State& state, bool spelled) {
  const std::string text = message_text(spelled);
  const dialect::DecodeContext context{.sender = "planner", .derive = hash_of};
  lib::JsonDocument document;
  dialect::Texts texts;
  for (auto _ : state) {
    texts.clear();
    const auto message = document.parse(text);
    const auto envelope = dialect::decode_flow(*message, context, texts);
    CHECK(envelope.has_value());
    benchmark::DoNotOptimize(envelope->body.data());
  }
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations() * text.size()));
}

void encode(benchmark::State& state, bool spelled) {
  const std::string text = message_text(spelled);
  lib::JsonDocument document;
  dialect::Texts texts;
  const auto envelope =
      dialect::decode_flow(*document.parse(text), {.sender = "planner", .derive = hash_of}, texts);
  CHECK(envelope.has_value());
  std::string out;
  for (auto _ : state) {
    out.clear();
    dialect::encode_flow(*envelope, {}, out);
    benchmark::DoNotOptimize(out.data());
  }
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations() * out.size()));
}

void parse_only(benchmark::State& state) {
  const std::string text = message_text(false);
  lib::JsonDocument document;
  for (auto _ : state) {
    benchmark::DoNotOptimize(document.parse(text));
  }
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations() * text.size()));
}

BENCHMARK(parse_only)->Name("json/parse/1KiB");
BENCHMARK_CAPTURE(decode, plain, false)->Name("flow/decode/1KiB");
BENCHMARK_CAPTURE(decode, spelled, true)->Name("flow/decode/1KiB/extra");
BENCHMARK_CAPTURE(encode, plain, false)->Name("flow/encode/1KiB");
BENCHMARK_CAPTURE(encode, spelled, true)->Name("flow/encode/1KiB/extra");

}  // namespace
}  // namespace parley
