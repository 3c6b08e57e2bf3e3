// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "dialect/golden_test.h"
#include "lib/json_schema_test.h"

namespace parley::dialect {

// Holds a decoder to its published schema: both accept and refuse the same messages, but for what
// a schema cannot say. The tests of all dialects, which differ in what they try.
struct SchemaTest {
  std::string folder;                       // of the golden inputs
  bool (*agree)(const std::string& text);   // compares the two; returns whether it was accepted
  std::vector<std::string> keys;            // names that a member is given
  std::vector<std::string> values;          // JSON that a member is given
  std::vector<std::string> parts = {""};    // objects in it whose members are changed as well

  void accepts_golden() const {
    for (const auto& [name, text] : golden_texts(folder, false)) {
      EXPECT_TRUE(agree(text)) << name;
    }
  }

  void refuses_golden_errors() const {
    for (const auto& [name, text] : golden_texts(folder, true)) {
      lib::JsonDocument document;
      const auto golden_case = document.parse(text);
      ASSERT_TRUE(golden_case);
      EXPECT_FALSE(agree(std::string(golden_case->find("message").raw()))) << name;
    }
  }

  void agrees_on_mutated_messages(unsigned seed) const {
    std::mt19937 random(seed);
    std::vector<std::string> originals;
    for (const auto& [name, text] : golden_texts(folder, false)) {
      originals.push_back(text);
    }
    size_t accepted = 0;
    constexpr size_t rounds = 4'000;  // valijson builds its expressions anew for each
    for (size_t round = 0; round < rounds && !testing::Test::HasFailure(); ++round) {
      std::string text = originals[random() % originals.size()];
      for (unsigned change = 0; change <= random() % 3; ++change) {
        text = mutated(text, random);
      }
      accepted += agree(text) ? 1 : 0;
    }
    EXPECT_FALSE(testing::Test::HasFailure()) << "seed " << seed;
    // Neither side is reached by luck alone.
    EXPECT_GT(accepted, rounds / 10);
    EXPECT_LT(accepted, rounds * 9 / 10);
  }

  // The text of `message` after one random change: a member of it, or of a part of it, is dropped,
  // renamed, given another value, or added. A part that is text is JSON in text.
  std::string mutated(const std::string& message, std::mt19937& random) const {
    lib::JsonDocument document;
    const auto root = document.parse(message);
    if (!root || !root->is_object()) {
      return message;
    }
    const std::string part = pick(parts, random);
    const unsigned action = random() % 4;
    return part.empty() ? changed(*root, action, random) : with_part(*root, part, action, random);
  }

 private:
  static const std::string& pick(const std::vector<std::string>& from, std::mt19937& random) {
    return from[random() % from.size()];
  }

  std::string with_part(lib::Json root, std::string_view part, unsigned action,
                        std::mt19937& random) const {
    std::string out;
    lib::JsonWriter writer(out);
    writer.object();
    for (const auto& [key, value] : root.members()) {
      writer.key(key);
      lib::JsonDocument inner;
      const auto text = value.as_string();
      const auto parsed = key == part && text ? inner.parse(*text) : lib::Json();
      if (key == part && value.is_object()) {
        writer.raw(changed(value, action, random));
      } else if (parsed && *parsed && parsed->is_object()) {
        writer.text(changed(*parsed, action, random));
      } else {
        writer.raw(value.raw());
      }
    }
    writer.end_object();
    return out;
  }

  std::string changed(lib::Json object, unsigned action, std::mt19937& random) const {
    size_t count = 0;
    for ([[maybe_unused]] const auto& member : object.members()) {
      ++count;
    }
    const size_t target = count == 0 ? 0 : random() % count;
    std::string out;
    lib::JsonWriter writer(out);
    writer.object();
    size_t at = 0;
    for (const auto& [key, value] : object.members()) {
      const bool hit = at++ == target;
      if (hit && action == 0) {
        continue;
      }
      writer.key(hit && action == 1 ? std::string_view(pick(keys, random)) : key);
      writer.raw(hit && action == 2 ? std::string_view(pick(values, random)) : value.raw());
    }
    const std::string& added = pick(keys, random);
    if (action == 3 && !object.find(added)) {
      writer.key(added).raw(pick(values, random));
    }
    writer.end_object();
    return out;
  }
};

// Texts as the JSON of values.
inline void add_texts(std::vector<std::string>& values, const std::vector<std::string>& texts) {
  for (const std::string& text : texts) {
    lib::append_json_string(values.emplace_back(), text);
  }
}

// Whether a text that the error quotes has characters of several bytes: a length in bytes is not
// what a schema counts.
inline bool has_long_characters(const Error& error) {
  return error.detail.find("1 to") != std::string::npos &&
         std::ranges::any_of(error.detail, [](char c) { return static_cast<uint8_t>(c) >= 0x80; });
}

}  // namespace parley::dialect
