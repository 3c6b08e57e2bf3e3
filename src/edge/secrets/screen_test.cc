// SPDX-License-Identifier: Apache-2.0
#include "edge/secrets/screen.h"

#include <gtest/gtest.h>

#include "base/secrets/secrets.h"

namespace parley::edge {
namespace {

using base::Code;
using core::SecretsPolicy;

// Put together, so that no token stands in the sources in one piece.
const std::string token = std::string("gh") + "p_" + "aZ3kQ9xLm2Vb7TnR4pWc8YsD1fHg6JeUoKtN";

class Screen : public ::testing::Test {
 protected:
  std::expected<Screened, base::Error> with(SecretsPolicy policy, const std::string& text) {
    return screened(*document_.parse(text), policy, looks_);
  }
  std::string redacted(const std::string& text) {
    const auto passed = with(SecretsPolicy::redact, text);
    return passed ? std::string(passed->value.raw()) : passed.error().detail;
  }

  lib::JsonDocument document_;
  base::Looks looks_;
};

// SP-11
TEST_F(Screen, ReplacesSecretsAndNothingElse) {
  EXPECT_EQ(redacted(R"({"a" : [1, "use )" + token + R"( now"],"b":{}})"),
            R"({"a" : [1, "use [redacted:github_token] now"],"b":{}})");
  EXPECT_EQ(redacted(R"({"password":"hunter2hunter2","n":1})"),
            R"({"password":"[redacted:password]","n":1})");
  EXPECT_EQ(redacted(R"({"password":12345678901,"token":12345678901})"),
            R"({"password":"[redacted:password]","token":12345678901})");
  EXPECT_EQ(redacted(R"({")" + token + R"(":1})"), R"({"[redacted:github_token]":1})");
  EXPECT_EQ(redacted(R"({"password":["hunter2hunter2"]})"),
            R"({"password":["[redacted:password]"]})");
  EXPECT_EQ(redacted('"' + token + '"'), R"("[redacted:github_token]")");
}

TEST_F(Screen, SeesThroughEscapes) {
  std::string escaped;
  for (const char c : token) {
    constexpr std::string_view digits = "0123456789abcdef";
    escaped.append("\\u00").push_back(digits[static_cast<uint8_t>(c) >> 4]);
    escaped.push_back(digits[static_cast<uint8_t>(c) & 15]);
  }
  EXPECT_EQ(redacted(R"({"a":"x \"y\" )" + escaped + R"( \n z"})"),
            R"({"a":"x \"y\" [redacted:github_token] \n z"})");
  EXPECT_EQ(redacted(R"({"pass\u0077ord":"hunter2hunter2"})"),
            R"({"pass\u0077ord":"[redacted:password]"})");
  EXPECT_EQ(redacted(R"({"a":"postgres:\/\/app:s3cr3tpw@db\/x"})"),
            R"({"a":"postgres://app:[redacted:url_password]@db/x"})");
  EXPECT_EQ(redacted(R"({"a":"{\"password\": \"hunter2hunter2\"}"})"),
            R"({"a":"{\"password\": \"[redacted:password]\"}"})");
}

TEST_F(Screen, LeavesWhatHasNone) {
  const std::string text = R"({ "a":"\u0041\/b","password":"<your password>","c":[1.50,null] })";
  const auto passed = with(SecretsPolicy::redact, text);
  ASSERT_TRUE(passed);
  EXPECT_EQ(passed->document, nullptr);
  EXPECT_TRUE(passed->warnings.empty());
  EXPECT_EQ(passed->value.raw(), document_.parse(text)->raw());
}

TEST_F(Screen, WarnsOfKindAndPlaceOnly) {
  const std::string text = R"({"a/b":[0,{"c~":")" + token + R"("}]})";
  for (const SecretsPolicy policy : {SecretsPolicy::warn, SecretsPolicy::redact}) {
    const auto passed = with(policy, text);
    ASSERT_TRUE(passed);
    ASSERT_EQ(passed->warnings.size(), 1u);
    EXPECT_TRUE(passed->warnings[0].starts_with("github_token at /a~1b/1/c~0 "));
    EXPECT_EQ(passed->warnings[0].find(token), std::string::npos);
    EXPECT_EQ(passed->document != nullptr, policy == SecretsPolicy::redact);
  }
}

TEST_F(Screen, NamesNoSecretByAPlace) {
  const auto passed =
      with(SecretsPolicy::warn, R"({")" + token + R"(":{"password":"hunter2hunter2"}})");
  ASSERT_TRUE(passed);
  ASSERT_EQ(passed->warnings.size(), 2u);
  for (const std::string& warning : passed->warnings) {
    EXPECT_EQ(warning.find(token), std::string::npos) << warning;
  }
}

TEST_F(Screen, RefusesWithThePlace) {
  const auto passed = with(SecretsPolicy::refuse, R"({"a":[1,")" + token + R"("]})");
  ASSERT_FALSE(passed);
  EXPECT_EQ(passed.error().code, Code::secret_found);
  EXPECT_EQ(passed.error().field, "/a/1");
  EXPECT_EQ(passed.error().detail.find(token), std::string::npos);
}

TEST_F(Screen, LetsAllPassWhenItIsOff) {
  const auto passed = with(SecretsPolicy::off, R"({"a":")" + token + R"("})");
  ASSERT_TRUE(passed);
  EXPECT_TRUE(passed->warnings.empty());
}

TEST_F(Screen, WarnsOfAFewAndCountsTheRest) {
  std::string text = "[";
  for (int n = 0; n < 20; ++n) {
    text.append(n == 0 ? "\"" : ",\"").append(token).append("\"");
  }
  const auto passed = with(SecretsPolicy::warn, text + "]");
  ASSERT_TRUE(passed);
  ASSERT_EQ(passed->warnings.size(), 9u);
  EXPECT_EQ(passed->warnings.back(), "12 more that look like secrets");
}

TEST_F(Screen, RefusesAMessageWhoseNameWasWrittenAnew) {
  const std::string name = base::without_secrets("thread of " + token);
  EXPECT_TRUE(screen_names({.subject = name, .body = name}));
  for (const core::Envelope& each :
       {core::Envelope{.native_id = name}, core::Envelope{.thread = name},
        core::Envelope{.correlation = name}, core::Envelope{.causation = name},
        core::Envelope{.session = name}, core::Envelope{.task = name}}) {
    const auto good = screen_names(each);
    ASSERT_FALSE(good);
    EXPECT_EQ(good.error().code, Code::secret_found);
  }
}

TEST_F(Screen, RefusesNamesWithASecret) {
  EXPECT_TRUE(screen_name("deploy", SecretsPolicy::refuse));
  EXPECT_TRUE(screen_name(token, SecretsPolicy::warn));
  for (const SecretsPolicy policy : {SecretsPolicy::redact, SecretsPolicy::refuse}) {
    const auto good = screen_name("lock-of " + token, policy);
    ASSERT_FALSE(good);
    EXPECT_EQ(good.error().code, Code::secret_found);
    EXPECT_EQ(good.error().detail.find(token), std::string::npos);
  }
}

TEST_F(Screen, KeepsNoSecretOfWhatIsRefused) {
  EXPECT_EQ(
      text_without_secrets(*document_.parse(R"({"type":")" + token + R"("})"), SIZE_MAX, looks_),
      R"({"type":"[redacted:github_token]"})");
}

// However much of it is kept, what is kept is the beginning of what would be kept of all, but for
// the end of a string that is cut.
TEST_F(Screen, KeepsNoSecretInPart) {
  const std::string text = R"({"a":")" + token + R"(","password":"hunter2hunter2","c":["x )" +
                           token + ' ' + std::string(3'000, 'y') + R"("]})";
  const lib::Json value = *document_.parse(text);
  const std::string all = text_without_secrets(value, SIZE_MAX, looks_);
  EXPECT_EQ(base::find_secrets(all), std::vector<base::Secret>{});
  for (size_t size = 0; size < 400; ++size) {
    const std::string kept = text_without_secrets(value, size, looks_);
    EXPECT_GE(kept.size() + token.size(), size);
    const size_t compared = std::min(kept.size() - 1, size);
    EXPECT_EQ(kept.substr(0, compared), all.substr(0, compared));
    EXPECT_EQ(kept.find("hunter2"), kept.npos);
    EXPECT_EQ(kept.find(token.substr(4, 8)), kept.npos);
  }
}

// What stands behind the part that is kept costs no look.
TEST_F(Screen, LooksNoFurtherThanItKeeps) {
  std::string text = R"({"a":"short","all":[)";
  for (int n = 0; n < 1'000; ++n) {
    text.append(n == 0 ? "\"" : ",\"").append(token).append("\"");
  }
  text.append(R"(],"long":")");
  for (int n = 0; n < 1'000; ++n) {
    text.append(token).append(" ");
  }
  const lib::Json value = *document_.parse(text + R"("})");
  base::Looks few(200);
  EXPECT_TRUE(text_without_secrets(value, 500, few).starts_with(R"({"a":"short","all":["[red)"));
  EXPECT_EQ(few.denied(), 0u);
  base::Looks too_few(9);
  const std::string some = text_without_secrets(value, 500, too_few);
  EXPECT_TRUE(some.ends_with("[redacted:github_token]\",")) << some;
  EXPECT_EQ(some.find(token), some.npos);
}

// A name that many findings stand under is not looked at for each of them: the warnings name a few,
// and the first bytes of it.
TEST_F(Screen, NamesThePlacesOfAFewAndCutsThem) {
  const std::string name = "x " + token + std::string(500'000, ' ') + token;
  std::string text = R"({")" + name + R"(":[)";
  for (int n = 0; n < 1'000; ++n) {
    text.append(n == 0 ? "\"" : ",\"").append(token).append("\"");
  }
  const auto passed = with(SecretsPolicy::warn, text + "]}");
  ASSERT_TRUE(passed);
  ASSERT_EQ(passed->warnings.size(), 9u);
  EXPECT_EQ(passed->warnings.back(), "994 more that look like secrets");
  for (const std::string& warning : passed->warnings) {
    EXPECT_LT(warning.size(), 400u);
    EXPECT_EQ(warning.find(token), warning.npos);
  }
  EXPECT_TRUE(passed->warnings[0].starts_with("github_token at /x [redacted:github_token]   "));
}

// A secret in a name that is cut in the middle of it is not shown in part.
TEST_F(Screen, CutsNoSecretInAPlace) {
  for (size_t before = 200; before < 300; ++before) {
    const std::string name = std::string(before, 'n') + ' ' + token + std::string(2'000, ' ');
    const auto passed = with(SecretsPolicy::refuse, R"({")" + name + R"(":1})");
    ASSERT_FALSE(passed);
    EXPECT_LE(passed.error().field.size(), 256u);
    EXPECT_EQ(passed.error().field.find("ghp_"), std::string::npos) << before;
  }
}

class ManyLooks : public Screen {
 protected:
  // So many values that have to be judged, and then a token.
  static std::string judged(size_t count) {
    std::string text = "[";
    for (size_t n = 0; n < count; ++n) {
      text.append(R"({"password":"aaaaaaaa"},)");
    }
    return text + '"' + token + "\"]";
  }
};

TEST_F(ManyLooks, AreEnoughForARequest) {
  const auto passed = with(SecretsPolicy::warn, judged(base::Looks::units_max / 2));
  ASSERT_TRUE(passed);
  ASSERT_EQ(passed->warnings.size(), 1u);
  EXPECT_TRUE(passed->warnings[0].starts_with("github_token at "));
}

TEST_F(ManyLooks, BeyondThatAWarningSaysSo) {
  const auto passed = with(SecretsPolicy::warn, judged(base::Looks::units_max));
  ASSERT_TRUE(passed);
  ASSERT_EQ(passed->warnings.size(), 1u);
  EXPECT_TRUE(passed->warnings[0].starts_with("there are too many places that look like secrets"));
}

TEST_F(ManyLooks, BeyondThatWhatMayHaveNoSecretIsRefused) {
  for (const SecretsPolicy policy : {SecretsPolicy::redact, SecretsPolicy::refuse}) {
    looks_ = base::Looks();
    const auto passed = with(policy, judged(base::Looks::units_max));
    ASSERT_FALSE(passed);
    EXPECT_EQ(passed.error().code, Code::secret_found);
    EXPECT_TRUE(passed.error().detail.starts_with("there are too many places"));
  }
}

// Other messages of the same request pass as long as there is nothing in them to be judged.
TEST_F(ManyLooks, AreSharedByAllMessagesOfARequest) {
  EXPECT_FALSE(with(SecretsPolicy::redact, judged(base::Looks::units_max)));
  EXPECT_TRUE(with(SecretsPolicy::redact, R"({"a":"nothing to be judged","password":"none"})"));
  EXPECT_FALSE(with(SecretsPolicy::redact, R"({"password":"aaaaaaaa"})"));
  EXPECT_FALSE(with(SecretsPolicy::redact, R"({"password":12345678})"));
}

}  // namespace
}  // namespace parley::edge
