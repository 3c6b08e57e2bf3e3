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
    EXPECT_EQ(codec.name, core::policy_of(codec.dialect).name.value);
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
    for (uint8_t n = 0; n <= static_cast<uint8_t>(core::Kind::broadcast); ++n) {
      Envelope envelope;
      envelope.dialect = codec.dialect;
      envelope.kind = static_cast<core::Kind>(n);
      envelope.in_reply_to.bytes[0] = 1;
      const auto meaning = codec.meaning(codec.type(envelope));
      ASSERT_TRUE(meaning) << codec.name << " " << codec.type(envelope);
      EXPECT_TRUE(!meaning->is_exact || meaning->kind == envelope.kind)
          << codec.name << " " << codec.type(envelope);
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
    EXPECT_EQ(codec.tells_questions_apart, codec.type(request) != codec.type(query)) << codec.name;
  }
}

TEST(Codecs, TasksAreInTheDialectThatHasRolesForThem) {
  EXPECT_TRUE(core::policy_of(task_codec().dialect).has_task_roles);
  for (const Codec& codec : codecs()) {
    EXPECT_EQ(codec.task != nullptr, core::policy_of(codec.dialect).has_task_roles) << codec.name;
  }
}

TEST(Codecs, OneWithoutACodecIsWrittenInTheDefault) {
  EXPECT_EQ(codec_of(Dialect::inbox).name, "inbox");
  EXPECT_EQ(codec_of(Dialect::squad).dialect, default_dialect);
}

TEST(Codecs, CountMessagesInTheWordsThatTheirDialectDefines) {
  using core::Kind;
  EXPECT_EQ(codec_of(Dialect::flow).counted_as(Kind::request), "request");
  EXPECT_EQ(codec_of(Dialect::inbox).counted_as(Kind::request), "request");
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

TEST(Tokens, CollabHasNoMemberForThem) {
  EXPECT_EQ(tokens_in("collab", R"({"metadata":{"tokens_used":600}})"), 0U);
}

}  // namespace
}  // namespace parley::dialect
