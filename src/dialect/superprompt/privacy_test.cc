// SPDX-License-Identifier: Apache-2.0
// SP-09: what is a flag, or may be meant as one, is for the moderators, whatever is wrong with it.
#include <gtest/gtest.h>

#include "dialect/golden_test.h"
#include "dialect/superprompt/superprompt.h"

namespace parley::dialect {
namespace {

std::optional<std::string> summary_of(const std::string& text) {
  lib::JsonDocument document;
  const auto message = document.parse(text);
  return superprompt_private_summary(text, message ? *message : lib::Json{});
}

TEST(SuperpromptPrivacy, FlagIsPrivate) {
  const std::string text = read_file("tests/golden/superprompt/text_violation_flag.json");
  EXPECT_EQ(summary_of(text), "severity: high, violation_type: harassment");
  EXPECT_EQ(find_codec("superprompt")->private_summary(text, {}),
            "severity: unknown, violation_type: unknown");
}

TEST(SuperpromptPrivacy, MalformedFlagIsPrivate) {
  for (const char* text : {
           R"({"message_type":"coc_violation_flag"})",
           R"({"message_type":"COC_Violation_Flag"})",
           R"({"message_type":" coc_violation_flag "})",
           R"({"message_type":"coc violation flag\n"})",
           R"({"message_type":"coc-violation-flag"})",
           R"({"message_type":"coc_violation"})",
           R"({"message_type":["coc_violation_flag"]})",
           R"({"message_type":"coc\u005fviolation\u005fflag"})",
           R"({"Message_Type":"coc_violation_flag"})",
           R"({"type":"coc_violation_flag"})",
           R"({"message_type":"task_delegation","message_type":"coc_violation_flag"})",
           R"({"message_type":"agent_health_check","privacy_level":"PRIVATE_TO_MODERATORS"})",
           R"({"message_type":"task_completion","privacy_level":"private to moderators"})",
           R"({"violation":{"severity":"low"}})",
           R"({"message_type":"coc","violation":"he said"})",
           R"([{"message_type":"coc_violation_flag"}])",
           R"("coc_violation_flag")",
           R"({"message_type":"coc_violation_flag", "violation": {)",
           R"({"message_type":"coc\u005fviolation\u005fflag",,})",
           R"({'privacy_level':'PRIVATE_TO_MODERATORS'})",
           "COC VIOLATION FLAG: @user wrote",
       }) {
    const auto summary = summary_of(text);
    ASSERT_TRUE(summary) << text;
    EXPECT_TRUE(summary->starts_with("severity: ")) << *summary;
  }
  std::string wide;
  for (const char c : std::string_view(R"({"message_type":"coc_violation_flag"})")) {
    wide.append({c, '\0'});  // UTF-16
  }
  EXPECT_TRUE(summary_of(wide));
}

// The summary has no word of what was said, and of whom.
TEST(SuperpromptPrivacy, SummaryHasSeverityAndTypeOnly) {
  const auto summary = summary_of(
      R"({"message_type":"coc_violation_flag","violation":{"severity":"high","location":"@mark",)"
      R"("violation_type":")" +
      std::string(500, 'v') + R"("},"context":{"excerpt":"@mark"}})");
  ASSERT_TRUE(summary);
  EXPECT_EQ(summary->find("mark"), std::string::npos);
  EXPECT_LT(summary->size(), 200u);
}

// SP-09: a concern within another message is set apart, and the rest of the message stays as it is.
TEST(SuperpromptPrivacy, ConcernWithinAMessageIsSetApart) {
  const auto apart = [](const std::string& text) {
    lib::JsonDocument document;
    return superprompt_set_apart(*document.parse(text), true);
  };
  const std::string head = R"({"message_type":"task_completion","n":1.50,"flags":{"gap":"\u00e9")";
  for (const char* concern :
       {R"("coc_concern":"@mark is rude")", R"("coc_concern":true)",
        R"("CoC-Concern":{"by":"@mark"})", R"("coc_concern":false,"coc\u005fconcern":["@mark"])",
        R"("coc_concern":1)"}) {
    const auto found = apart(head + "," + concern + R"(},"rationale":"done"})");
    ASSERT_TRUE(found) << concern;
    EXPECT_TRUE(found->is_flag) << concern;
    EXPECT_EQ(found->rest, head + R"(},"rationale":"done"})") << concern;
    EXPECT_FALSE(summary_of(head + "," + concern + "}}")) << "the rest is for all";
  }
  for (const char* none :
       {R"("coc_concern":false)", R"("coc_concern":null)", R"("coc_concern":"")"}) {
    const auto found = apart(head + "," + none + "}}");
    ASSERT_TRUE(found) << "who reads it sees no difference";
    EXPECT_FALSE(found->is_flag) << none;
    EXPECT_EQ(found->rest, head + "}}");
  }
  EXPECT_FALSE(apart(head + "}}"));
  EXPECT_FALSE(apart(R"({"flags":"none","context":{"flags":{"coc_concern":true}}})"));
  // In another form than the text has, all of the member goes.
  for (const char* odd :
       {R"([{"coc_concern":"@mark is rude"}])", R"("{\"coc_concern\":\"@mark is rude\"}")",
        R"([["CoC Concern","@mark is rude"]])"}) {
    const auto found = apart(std::string(R"({"message_type":"task_completion","flags":)") + odd +
                             R"(,"rationale":"done"})");
    ASSERT_TRUE(found) << odd;
    EXPECT_TRUE(found->is_flag) << odd;
    EXPECT_EQ(found->rest, R"({"message_type":"task_completion","rationale":"done"})") << odd;
  }
  EXPECT_TRUE(summary_of(R"({"flags":[{"coc_concern":"@mark is rude"}]})")) << "of no known type";
  EXPECT_TRUE(summary_of(R"({"flags":{"coc_concern":"@mark is rude"}})")) << "of no known type";
}

std::optional<Codec::Apart> apart_in_another(const std::string& text) {
  lib::JsonDocument document;
  return superprompt_set_apart(*document.parse(text), false);
}

// SP-09: what an agent of another dialect writes in its body is no less for the moderators alone.
TEST(SuperpromptPrivacy, ConcernInABodyOfAnotherDialectIsSetApart) {
  const std::string head = R"({"type":"response","payload":{"content_type":"json","body":)";
  const std::string tail = R"(},"n":1.50})";
  const auto found = apart_in_another(
      head + R"({"message_type":"task_completion","flags":{"gap":"x","coc_concern":"@mark"}})" +
      tail);
  ASSERT_TRUE(found);
  EXPECT_TRUE(found->is_flag);
  EXPECT_EQ(found->rest, head + R"({"message_type":"task_completion","flags":{"gap":"x"}})" + tail);
  const auto odd = apart_in_another(head + R"([{"flags":[{"CoC concern":"@mark"}],"a":1}])" + tail);
  ASSERT_TRUE(odd);
  EXPECT_EQ(odd->rest, head + R"([{"a":1}])" + tail);
  const auto none = apart_in_another(head + R"({"flags":{"coc_concern":false}})" + tail);
  ASSERT_TRUE(none) << "who reads it sees no difference";
  EXPECT_FALSE(none->is_flag);
  EXPECT_EQ(none->rest, head + R"({"flags":{}})" + tail);
  // Models write JSON into texts.
  const auto text = apart_in_another(
      R"({"to":"ana","content":" {\"flags\":{\"coc_concern\":\"@mark\"},\"a\":\"\\n\"}"})");
  ASSERT_TRUE(text);
  EXPECT_TRUE(text->is_flag);
  EXPECT_EQ(text->rest, R"({"to":"ana","content":"{\"flags\":{},\"a\":\"\\n\"}"})");
}

TEST(SuperpromptPrivacy, FlagInABodyOfAnotherDialectIsAllForTheModerators) {
  const std::string flag =
      R"({"message_type":"coc_violation_flag","violation":{"severity":"high","location":"@mark"}})";
  for (const std::string& text :
       {R"({"type":"notification","payload":{"content_type":"json","body":)" + flag + "}}",
        R"({"to":"ana","content":)" + flag + "}",
        std::string(R"({"to":"ana","content":"{\"privacy_level\":\"PRIVATE_TO_MODERATORS\"}"})"),
        std::string(R"({"payload":{"body":{"value":{"type":"CoC-Violation"}}}})")}) {
    const auto found = apart_in_another(text);
    ASSERT_TRUE(found) << text;
    EXPECT_TRUE(found->is_flag);
    EXPECT_EQ(found->rest, "") << text;
    EXPECT_TRUE(found->summary.starts_with("severity: ")) << found->summary;
    EXPECT_EQ(found->summary.find("mark"), std::string::npos);
  }
}

// What only speaks of flags passes on, to the byte.
TEST(SuperpromptPrivacy, WordsAboutFlagsAreNoFlag) {
  for (const char* text : {
           R"({"payload":{"body":"a coc_violation_flag goes to the moderators"}})",
           R"({"payload":{"body":{"flags":["--verbose"],"violation":"eslint","type":"lint"}}})",
           R"({"payload":{"body":{"flags":{"documentation_gap":"coc_concern is not described"}}}})",
           R"({"payload":{"body":{"message_type":{"const":"coc_violation_flag"}}}})",
           R"({"content":"{ no JSON, flags: coc_concern"})",
           R"({"content":"{\"a\":\"{\\\"flags\\\":{\\\"coc_concern\\\":1}}\"}"})",
           R"({"a":{"b":{"c":{"d":{"e":{"message_type":"coc_violation_flag"}}}}}})",
       }) {
    EXPECT_FALSE(apart_in_another(text)) << text;
  }
  std::string many = R"({"content":[)";
  for (int n = 0; n < 100; ++n) {
    many.append(n == 0 ? "" : ",").append(R"("{}")");
  }
  EXPECT_FALSE(apart_in_another(many + R"(,"{\"flags\":{\"coc_concern\":1}}"]})"))
      << "so many texts are read and no more";
}

TEST(SuperpromptPrivacy, OtherMessagesAreNot) {
  for (const auto& [name, text] : golden_texts("tests/golden/superprompt", false)) {
    EXPECT_EQ(summary_of(text).has_value(), name.find("flag") != std::string::npos) << name;
  }
  EXPECT_FALSE(summary_of(R"({"message_type":"task_completion","rationale":)"
                          R"("I sent a coc_violation_flag","flags":{"coc_concern":true}})"));
  EXPECT_FALSE(summary_of(R"({"message_type":"task_delegation","violation":{}})"));
  EXPECT_FALSE(summary_of(R"({"message_type":"task_delegation","task":{)"));
  EXPECT_FALSE(summary_of("{}"));
  EXPECT_FALSE(summary_of(""));
}

}  // namespace
}  // namespace parley::dialect
