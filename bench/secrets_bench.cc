// SPDX-License-Identifier: Apache-2.0
// What it costs to look for secrets in texts that have none. The bound is 1 us per KiB.
#include <benchmark/benchmark.h>

#include <string>
#include <string_view>

#include "base/check.h"
#include "base/secrets/secrets.h"
#include "dialect/dialect.h"
#include "edge/secrets/screen.h"
#include "lib/json.h"

namespace parley {
namespace {

constexpr std::string_view prose =
    "The inbox test fails since yesterday: a message that was given back comes twice. I looked at "
    "the log (see below) and think that the lease ends while the answer is on its way - please "
    "check whether that is so, and mend it if you can. Note: the password of the test account "
    "was changed last week, ask Ana for it. ";
constexpr std::string_view code =
    "std::expected<Submission, Error> submission_of(const Call& call) {\n  const auto "
    "on_unavailable =\n      "
    "parse_on_unavailable(call.parameter(\"on_unavailable\").value_or({}));\n"
    "  if (!on_unavailable) {\n    return std::unexpected(on_unavailable.error());\n  }\n  return "
    "Submission{.via = call.via, .lenient = call.flag(\"lenient\"), .token_count = tokens};\n}\n";
constexpr std::string_view json =
    R"({"id":"f47ac10b-58cc-4372-a567-0e02b2c3d479","conversation_id":"conv-2026-000117",)"
    R"("type":"request","priority":"high","sender":"planner","receiver":"coder","metadata":)"
    R"({"timestamp":"2026-11-15T21:06:53.042Z","ttl":"1h","requires_ack":true,)"
    R"("sequence_number":17}},)";
constexpr std::string_view base64 =
    "iVBORw0KGgoAAAANSUhEUgAAAAUAAAAFCAYAAACNbyblAAAAHElEQVQI12P4JA38gIwMRAEJuHeJwoiDNKAAIGrBVyjLq";
constexpr std::string_view log =
    "2026-11-18T14:19:08.123Z INFO net: connection=17 caller=planner method=POST path=/v1/messages "
    "status=202 bytes=1024 took_us=812 trace_id=4bf92f3577b34da6a3ce929d0e0e4736\n";

void look(benchmark::State& state, std::string_view part) {
  std::string text;
  while (text.size() < static_cast<size_t>(state.range(0))) {
    text.append(part);
  }
  text.resize(static_cast<size_t>(state.range(0)));
  CHECK(base::find_secrets(text).empty());
  for (auto _ : state) {
    base::Looks looks;
    benchmark::DoNotOptimize(base::find_secrets(text, looks));
  }
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations() * text.size()));
}

// A message of about 1 KiB.
std::string a_message() {
  std::string text(json.substr(0, json.rfind('}')));
  text.append(R"(,"payload":{"content_type":"json","body":{"text":")").append(prose).append(prose);
  return text.append(R"(","files":["src/core/file.cc","src/edge/api/api.cc"]}}})");
}

// What it costs to look for what is for moderators alone in a message of another dialect.
void set_apart(benchmark::State& state) {
  const std::string text = a_message();
  lib::JsonDocument document;
  const auto message = document.parse(text);
  CHECK(message.has_value());
  const auto& codec = *dialect::find_codec("superprompt");
  for (auto _ : state) {
    CHECK(!codec.set_apart.value(*message, false));
  }
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations() * text.size()));
}
BENCHMARK(set_apart);

// What a message costs at the door, once it is parsed.
void screen(benchmark::State& state, core::SecretsPolicy policy) {
  const std::string text = a_message();
  lib::JsonDocument document;
  const auto message = document.parse(text);
  CHECK(message.has_value());
  for (auto _ : state) {
    base::Looks looks;
    const auto passed = edge::screened(*message, policy, looks);
    CHECK(passed && passed->warnings.empty());
  }
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations() * text.size()));
}
BENCHMARK_CAPTURE(screen, warn, core::SecretsPolicy::warn);
BENCHMARK_CAPTURE(screen, redact, core::SecretsPolicy::redact);

void sizes(benchmark::internal::Benchmark* benchmark) {
  benchmark->Arg(64)->Arg(1'024)->Arg(65'536);
}

BENCHMARK_CAPTURE(look, secrets_in_prose, prose)->Apply(sizes);
BENCHMARK_CAPTURE(look, secrets_in_code, code)->Apply(sizes);
BENCHMARK_CAPTURE(look, secrets_in_json, json)->Apply(sizes);
BENCHMARK_CAPTURE(look, secrets_in_base64, base64)->Apply(sizes);
BENCHMARK_CAPTURE(look, secrets_in_log, log)->Apply(sizes);

}  // namespace
}  // namespace parley
