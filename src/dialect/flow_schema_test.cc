// SPDX-License-Identifier: Apache-2.0
// Holds the decoder to the published schema: both accept and refuse the same messages, but for
// what a schema cannot say. Those rules are the cases of beyond_schema().
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <vector>

#include "dialect/flow.h"
#include "lib/json_schema_test.h"
#include "lib/json_writer.h"

namespace parley::dialect {
namespace {

using base::Code;
using lib::Json;
using lib::JsonDocument;

std::string read(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

const lib::JsonSchema& schema() {
  static const lib::JsonSchema flow(read("schemas/flow/message.schema.json"));
  return flow;
}

base::Id128 hash_of(std::string_view, std::string_view) { return base::Id128{.bytes = {1}}; }

// Whether the decoder refused for a reason that no schema can express:
bool beyond_schema(const Error& error) {
  const auto says = [&](std::string_view text) {
    return error.detail.find(text) != std::string::npos;
  };
  return error.code == Code::sender_mismatch ||    // the sender is the token's principal
         error.code == Code::payload_too_large ||  // the size of the payload's text
         says("twice") ||                          // duplicate members
         says("leave the one outside") ||          // two spellings that disagree
         // A length in bytes, where the schema counts characters.
         (says("a string of 1 to") &&
          std::ranges::any_of(error.detail,
                              [](char c) { return static_cast<uint8_t>(c) >= 0x80; })) ||
         (error.field == "/metadata/timestamp" && says("02-3")) ||  // a date that does not exist
         (error.field == "/metadata/timestamp" && says("02-29")) ||
         says("99999999");  // a duration beyond 64 bits of microseconds
}

// Compares the two on `text`, which is JSON. Returns whether it was accepted.
bool agree(const std::string& text) {
  JsonDocument document;
  const auto message = document.parse(text);
  if (!message) {
    ADD_FAILURE() << message.error().detail;
    return false;
  }
  Texts texts;
  const auto envelope = decode_flow(*message, {.sender = "planner", .derive = hash_of}, texts);
  const std::string fault = schema().fault(text);
  if (envelope) {
    EXPECT_EQ(fault, "") << text;
  } else if (fault.empty() && !beyond_schema(envelope.error())) {
    ADD_FAILURE() << "only the decoder refuses: " << envelope.error().detail << " at "
                  << envelope.error().field << "\n"
                  << text;
  }
  return envelope.has_value();
}

std::vector<std::string> golden(bool errors) {
  std::vector<std::string> texts;
  for (const auto& entry : std::filesystem::directory_iterator("tests/golden/flow")) {
    const std::string path = entry.path();
    if (path.ends_with(".error.json") == errors) {
      texts.push_back(read(path));
    }
  }
  std::ranges::sort(texts);
  return texts;
}

// FL-02
TEST(FlowSchema, AcceptsWhatTheDecoderAccepts) {
  for (const std::string& text : golden(false)) {
    EXPECT_TRUE(agree(text)) << text;
  }
}

// FL-02
TEST(FlowSchema, RefusesWhatTheDecoderRefuses) {
  for (const std::string& text : golden(true)) {
    JsonDocument document;
    const auto golden_case = document.parse(text);
    ASSERT_TRUE(golden_case);
    EXPECT_FALSE(agree(std::string(golden_case->find("message").raw()))) << text;
  }
}

const std::vector<std::string>& keys() {
  static const std::vector<std::string> all = {"id",
                                               "conversation_id",
                                               "type",
                                               "priority",
                                               "sender",
                                               "receiver",
                                               "status",
                                               "on_timeout",
                                               "idempotency_key",
                                               "requires_ack",
                                               "in_reply_to",
                                               "response_timeout",
                                               "payload",
                                               "metadata",
                                               "content_type",
                                               "body",
                                               "timestamp",
                                               "ttl",
                                               "sequence_number",
                                               "correlation_id",
                                               "foreign",
                                               "x"};
  return all;
}

const std::vector<std::string>& values() {
  static const std::vector<std::string> all = [] {
    std::vector<std::string> list = {"null",
                                     "true",
                                     "false",
                                     "0",
                                     "7",
                                     "-1",
                                     "1.5",
                                     "{}",
                                     "[]",
                                     "[1]",
                                     R"({"body":{}})",
                                     R"({"body":"x"})",
                                     R"({"timestamp":"2026-01-01T00:00:00Z"})",
                                     "18446744073709551615"};
    std::vector<std::string> texts = {"",
                                      "x",
                                      "*",
                                      "a.b",
                                      "a..b",
                                      ".a",
                                      "a.",
                                      "a b.c",
                                      "topic:n",
                                      "topic:",
                                      "planner",
                                      "f47ac10b-58cc-4372-a567-0e02b2c3d479",
                                      "F47AC10B-58CC-4372-B567-0E02B2C3D479",
                                      "f47ac10b-58cc-1372-a567-0e02b2c3d479",
                                      "f47ac10b-58cc-4372-7567-0e02b2c3d479",
                                      "f47ac10b-58cc-4372-a567-0e02b2c3d47",
                                      "f47ac10b58cc4372a5670e02b2c3d479",
                                      "00000000-0000-0000-0000-000000000000",
                                      "2026-01-01T00:00:00Z",
                                      "2026-01-01T23:59:59.123456789+00:00",
                                      "2026-02-30T00:00:00Z",
                                      "2027-02-29T00:00:00Z",
                                      "2028-02-29T00:00:00Z",
                                      "2026-01-01T00:00:60Z",
                                      "2026-01-01T00:00:00",
                                      "2026-01-01T00:00:00+01:00",
                                      "2026-1-01T00:00:00Z",
                                      "5m",
                                      "0m",
                                      "007s",
                                      "5",
                                      "5d",
                                      "1us",
                                      "72h",
                                      "-5m",
                                      "PT5M",
                                      "P1DT2H",
                                      "P1W",
                                      "PT0S",
                                      "PT0.5S",
                                      "PT0.5M",
                                      "P1M",
                                      "P",
                                      "PT",
                                      "P1DT",
                                      "PT1S1M",
                                      "99999999999999999999h"};
    for (const std::string word :
         {"request", "response", "notification", "broadcast", "query", "critical", "high", "normal",
          "low", "text", "json", "artifact_ref", "success", "partial", "error", "declined", "retry",
          "escalate", "fail"}) {
      texts.push_back(word);
    }
    for (const size_t size : {200, 201, 256, 257}) {
      texts.push_back(std::string(size, 'k'));
    }
    texts.push_back("Gespräch");
    for (const std::string& text : texts) {
      lib::append_json_string(list.emplace_back(), text);
    }
    return list;
  }();
  return all;
}

// The text of `message` after one random change: a member of it, its payload or its metadata is
// dropped, renamed, given another value, or added.
std::string mutate(const std::string& message, std::mt19937& random) {
  JsonDocument document;
  const auto root = document.parse(message);
  if (!root || !root->is_object()) {
    return message;
  }
  const auto pick = [&](const auto& from) { return from[random() % from.size()]; };
  const std::vector<std::string_view> parts = {"", "payload", "metadata"};
  const std::string_view part = pick(parts);
  const unsigned action = random() % 4;
  const auto write_part = [&](Json object, auto& self, bool chosen) -> std::string {
    std::string out;
    lib::JsonWriter writer(out);
    writer.object();
    size_t count = 0;
    for ([[maybe_unused]] const auto& member : object.members()) {
      ++count;
    }
    const size_t target = chosen && count > 0 ? random() % count : count;
    size_t at = 0;
    for (const auto& [key, value] : object.members()) {
      const bool hit = at++ == target;
      if (hit && action == 0) {
        continue;
      }
      writer.key(hit && action == 1 ? std::string_view(pick(keys())) : key);
      if (hit && action == 2) {
        writer.raw(pick(values()));
      } else if (value.is_object() && key == part && !chosen) {
        writer.raw(self(value, self, true));
      } else {
        writer.raw(value.raw());
      }
    }
    const std::string added = pick(keys());
    if (chosen && action == 3 && !object.find(added)) {
      writer.key(added).raw(pick(values()));
    }
    writer.end_object();
    return out;
  };
  return write_part(*root, write_part, part.empty());
}

// FL-02
TEST(FlowSchema, AgreesWithTheDecoderOnMutatedMessages) {
  constexpr unsigned seed = 20260716;
  std::mt19937 random(seed);
  const std::vector<std::string> originals = golden(false);
  size_t accepted = 0;
  constexpr size_t rounds = 4'000;  // valijson builds its expressions anew for each
  for (size_t round = 0; round < rounds && !testing::Test::HasFailure(); ++round) {
    std::string text = originals[random() % originals.size()];
    for (unsigned change = 0; change <= random() % 3; ++change) {
      text = mutate(text, random);
    }
    accepted += agree(text) ? 1 : 0;
  }
  EXPECT_FALSE(testing::Test::HasFailure()) << "seed " << seed;
  // Neither side is reached by luck alone.
  EXPECT_GT(accepted, rounds / 10);
  EXPECT_LT(accepted, rounds * 9 / 10);
  RecordProperty("accepted", static_cast<int>(accepted));
}

}  // namespace
}  // namespace parley::dialect
