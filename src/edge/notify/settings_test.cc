// SPDX-License-Identifier: Apache-2.0
#include "edge/notify/settings.h"

#include <gtest/gtest.h>

namespace parley::edge::notify {
namespace {

std::expected<std::vector<Target>, SettingFault> read(std::string_view text) {
  auto entries = lib::read_toml(text);
  EXPECT_TRUE(entries) << text;
  return read_targets(*entries);
}

TEST(NotifySettings, RowsAreTargets) {  // SQ-08
  const auto targets = read(R"(
listen = "127.0.0.1:0"
[[notify]]
url = "https://example.org/hook"
secret = "s3"
which = ["escalations"]
[[notify]]
url = "https://hooks.slack.example/T/B"
form = "slack"
which = "approvals"
for = "human:mia"
[[notify]]
url = "https://api.telegram.org/bot1:x/sendMessage"
form = "telegram"
chat_id = "-100"
which = ["p0"]
)");
  ASSERT_TRUE(targets);
  ASSERT_EQ(targets->size(), 3u);
  EXPECT_EQ((*targets)[0], (Target{.url = "https://example.org/hook",
                                   .secret = "s3",
                                   .escalations = true,
                                   .approvals = false}));
  EXPECT_EQ((*targets)[1], (Target{.url = "https://hooks.slack.example/T/B",
                                   .form = Form::slack,
                                   .escalations = false,
                                   .approvals = true,
                                   .for_whom = "human:mia"}));
  EXPECT_EQ((*targets)[2], (Target{.url = "https://api.telegram.org/bot1:x/sendMessage",
                                   .form = Form::telegram,
                                   .chat_id = "-100",
                                   .escalations = true,
                                   .approvals = true,
                                   .only_p0 = true}));
}

TEST(NotifySettings, SayWhatIsWrongAndNotWhatIsSecret) {
  const struct {
    std::string_view text;
    std::string_view said;
  } cases[] = {
      {"[[notify]]\n", "needs the key \"url\""},
      {"[[notify]]\nurl = \"ftp://secret\"\n", "url takes a URL of http or https"},
      {"[[notify]]\nurl = \"https://secret\"\nform = \"secret\"\n", "json, slack or telegram"},
      {"[[notify]]\nurl = \"https://secret\"\nform = \"telegram\"\n", "needs the key \"chat_id\""},
      {"[[notify]]\nurl = \"https://secret\"\nchat_id = \"1\"\n", "for the form telegram alone"},
      {"[[notify]]\nurl = \"https://secret\"\nform = \"slack\"\nsecret = \"secret\"\n",
       "for the form json alone"},
      {"[[notify]]\nurl = \"https://secret\"\nwhich = [\"p0\", \"p1\"]\n", "some of escalations"},
      {"[[notify]]\nlink = \"https://secret\"\n", "the nearest is"},
      {"[[notify]]\nurl = \"\"\n", "a text of 1 to"},
  };
  for (const auto& [text, said] : cases) {
    const auto targets = read(text);
    ASSERT_FALSE(targets) << text;
    EXPECT_NE(targets.error().error.detail.find(said), std::string::npos)
        << targets.error().error.detail;
    EXPECT_EQ(targets.error().error.detail.find("://secret"), std::string::npos);
    EXPECT_GT(targets.error().line, 0);
  }
}

TEST(NotifySettings, OtherTablesAreNotRead) {
  EXPECT_TRUE(is_of_table("notify[0]"));
  EXPECT_TRUE(is_of_table("notify[12].url"));
  EXPECT_FALSE(is_of_table("notify.url"));
  EXPECT_FALSE(is_of_table("notify[x].url"));
  EXPECT_FALSE(is_of_table("schedule[0].name"));
}

}  // namespace
}  // namespace parley::edge::notify
