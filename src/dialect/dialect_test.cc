// SPDX-License-Identifier: Apache-2.0
// What the rows of the table of codecs say, beside what each codec's own tests say of it.
#include "dialect/dialect.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>

#include "core/model/policy.h"

namespace parley::dialect {
namespace {

uint64_t tokens_in(std::string_view dialect, std::string_view message) {
  lib::JsonDocument document;
  return find_codec(dialect)->tokens(*document.parse(message));
}

TEST(Codecs, AreInTheOrderOfTheEnumAndNamedAsTheirPolicies) {
  EXPECT_TRUE(std::ranges::is_sorted(codecs(), {}, &Codec::dialect));
  for (const Codec& codec : codecs()) {
    EXPECT_EQ(codec.name.value, core::policy_of(codec.dialect).name.value);
  }
}

TEST(Codecs, HaveAPublishedSchemaAndGoldenMessages) {
  for (const Codec& codec : codecs()) {
    const std::string name(codec.name);
    EXPECT_TRUE(std::filesystem::exists("schemas/" + name + "/message.schema.json")) << name;
    EXPECT_TRUE(std::filesystem::exists("tests/golden/" + name)) << name;
  }
}

TEST(Codecs, KnowTheKindOfTheirOwnWords) {
  for (const Codec& codec : codecs()) {
    for (uint8_t n = 0; n <= static_cast<uint8_t>(core::kind_last); ++n) {
      Envelope envelope;
      envelope.dialect = codec.dialect;
      envelope.kind = static_cast<core::Kind>(n);
      envelope.in_reply_to.bytes[0] = 1;
      const std::string_view word = codec.type(envelope);
      const auto meaning = codec.meaning(word);
      ASSERT_TRUE(meaning) << codec.name.value << " " << word;
      if (!meaning->is_exact) {
        continue;
      }
      // A kind that the dialect has no word for is written in the word of another kind.
      EXPECT_TRUE(meaning->kind == envelope.kind || envelope.kind > core::Kind::broadcast)
          << codec.name.value << " " << word;
      envelope.kind = meaning->kind;
      EXPECT_EQ(codec.type(envelope), word) << codec.name.value;
    }
    EXPECT_FALSE(codec.meaning("nothing of the kind"));
  }
}

TEST(Codecs, SayWhetherTheirWordsTellQuestionsApart) {
  for (const Codec& codec : codecs()) {
    Envelope request;
    request.kind = core::Kind::request;
    Envelope query;
    query.kind = core::Kind::query;
    EXPECT_EQ(codec.tells_questions_apart, codec.type(request) != codec.type(query))
        << codec.name.value;
  }
}

TEST(Codecs, TasksAreInTheDialectThatHasRolesForThem) {
  EXPECT_TRUE(core::policy_of(task_codec().dialect).has_task_roles);
  for (const Codec& codec : codecs()) {
    EXPECT_EQ(codec.task != nullptr, core::policy_of(codec.dialect).has_task_roles)
        << codec.name.value;
  }
}

TEST(Codecs, EachDialectHasOne) {
  for (uint8_t n = 0; n <= static_cast<uint8_t>(core::dialect_last); ++n) {
    const auto dialect = static_cast<Dialect>(n);
    ASSERT_NE(find_codec(dialect), nullptr) << core::policy_of(dialect).name.value;
    EXPECT_EQ(codec_of(dialect).dialect, dialect);
  }
}

TEST(Codecs, CountMessagesInTheWordsThatTheirDialectDefines) {
  using core::Kind;
  EXPECT_EQ(codec_of(Dialect::flow).counted_as(Kind::request), "request");
  EXPECT_EQ(codec_of(Dialect::inbox).counted_as(Kind::request), "request");
  EXPECT_EQ(codec_of(Dialect::superprompt).counted_as(Kind::health_report), "health_report");
  EXPECT_EQ(codec_of(Dialect::collab).counted_as(Kind::request), "command");
  EXPECT_EQ(codec_of(Dialect::collab).counted_as(Kind::notification), "event");
  EXPECT_EQ(codec_of(Dialect::collab).counted_as(Kind::broadcast), "event");
  EXPECT_EQ(codec_of(Dialect::collab).counted_as(Kind::query), "query");
}

TEST(Tokens, AreInTheMetadataOfFlow) {
  EXPECT_EQ(tokens_in("flow", R"({"metadata":{"tokens_used":600}})"), 600U);
  EXPECT_EQ(tokens_in("flow", R"({"metadata":{"tokens_used":null}})"), 0U);
  EXPECT_EQ(tokens_in("flow", R"({})"), 0U);
}

TEST(Tokens, AreInTheMetricsOfAnInboxResult) {
  EXPECT_EQ(tokens_in("inbox", R"({"type":"result","content":{"metrics":{"tokensUsed":7}}})"), 7U);
  EXPECT_EQ(
      tokens_in("inbox", R"({"type":"result","content":"{\"metrics\":{\"tokensUsed\":15000}}"})"),
      15'000U);
  EXPECT_EQ(tokens_in("inbox", R"({"type":"result","content":{}})"), 0U);
  EXPECT_EQ(tokens_in("inbox", R"({"type":"status","content":"{\"metrics\":{\"tokensUsed\":1}}"})"),
            0U);
  EXPECT_EQ(tokens_in("inbox", R"({"type":"result","metadata":{"tokens_used":1}})"), 0U);
}

TEST(Tokens, AreInTheMetricsOfASuperpromptCompletion) {
  EXPECT_EQ(
      tokens_in("superprompt", R"({"message_type":"task_completion","metrics":{"tokens_used":9}})"),
      9U);
  EXPECT_EQ(tokens_in("superprompt", R"({"message_type":"task_completion"})"), 0U);
  EXPECT_EQ(
      tokens_in("superprompt", R"({"message_type":"task_delegation","metrics":{"tokens_used":9}})"),
      0U);
}

TEST(Tokens, CollabHasNoMemberForThem) {
  EXPECT_EQ(tokens_in("collab", R"({"metadata":{"tokens_used":600}})"), 0U);
}

}  // namespace
}  // namespace parley::dialect
