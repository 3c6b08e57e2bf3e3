// SPDX-License-Identifier: Apache-2.0
#include "app/mcp/settings_text.h"

#include <gtest/gtest.h>

#include <vector>

namespace parley::app {
namespace {

using Change = Settings::Change;
const std::vector<std::string> json_path = {"mcpServers", "parley"};
const std::vector<std::string> toml_path = {"mcp_servers", "parley"};
constexpr std::string_view entry = R"({"command":"parley","args":["mcp","--agent","bo"]})";
constexpr std::string_view lines = "command = \"parley\"\nargs = [\"mcp\"]\n";

std::string added(std::string_view text, bool replace = false) {
  const auto edit = add_json_member(text, json_path, entry, replace);
  if (!edit) {
    return edit.error().detail;
  }
  // What was written is there, and the second time nothing changes.
  const auto again = add_json_member(edit->text, json_path, entry, replace);
  EXPECT_TRUE(again && (again->change == Change::none || edit->change == Change::refused));
  EXPECT_EQ(again ? again->text : "", edit->text);
  return edit->text;
}

TEST(SettingsJson, AnEmptyDocumentGetsTheEntryAlone) {
  const std::string wanted =
      "{\n"
      "  \"mcpServers\": {\n"
      "    \"parley\": {\n"
      "      \"command\": \"parley\",\n"
      "      \"args\": [\"mcp\", \"--agent\", \"bo\"]\n"
      "    }\n"
      "  }\n"
      "}\n";
  EXPECT_EQ(added(""), wanted);
  EXPECT_EQ(added("{}\n"), wanted);
  EXPECT_EQ(added("{\n}\n"), wanted);
  EXPECT_EQ(added("{\"mcpServers\": {}}\n"),
            "{\"mcpServers\": {\n"
            "  \"parley\": {\n"
            "    \"command\": \"parley\",\n"
            "    \"args\": [\"mcp\", \"--agent\", \"bo\"]\n"
            "  }\n"
            "}}\n");
}

TEST(SettingsJson, OtherEntriesCommentsAndTheLayoutStay) {
  EXPECT_EQ(added("// mine\n"
                  "{\n"
                  "\t\"theme\": \"dark\", // nice\n"
                  "\t\"mcpServers\": {\n"
                  "\t\t/* a: { } */\n"
                  "\t\t\"a\": {\"command\": \"x\"} // \"}\" the last\n"
                  "\t},\n"
                  "\t\"z\": [1, 2,],\n"
                  "}\n"),
            "// mine\n"
            "{\n"
            "\t\"theme\": \"dark\", // nice\n"
            "\t\"mcpServers\": {\n"
            "\t\t/* a: { } */\n"
            "\t\t\"a\": {\"command\": \"x\"}, // \"}\" the last\n"
            "\t\t\"parley\": {\n"
            "\t\t\t\"command\": \"parley\",\n"
            "\t\t\t\"args\": [\"mcp\", \"--agent\", \"bo\"]\n"
            "\t\t}\n"
            "\t},\n"
            "\t\"z\": [1, 2,],\n"
            "}\n");
  EXPECT_EQ(added("{\n    \"a\": 1,\n}"),
            "{\n    \"a\": 1,\n    \"mcpServers\": {\n        \"parley\": {\n"
            "            \"command\": \"parley\",\n"
            "            \"args\": [\"mcp\", \"--agent\", \"bo\"]\n        }\n    }\n}");
}

TEST(SettingsJson, LineEndsAndTheByteOrderMarkStay) {
  const std::string text = added("\xef\xbb\xbf{\r\n  \"a\": \"\\\"}\"\r\n}\r\n");
  EXPECT_TRUE(text.starts_with("\xef\xbb\xbf{\r\n  \"a\": \"\\\"}\",\r\n  \"mcpServers\": {\r\n"))
      << text;
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), std::count(text.begin(), text.end(), '\r'));
}

TEST(SettingsJson, AnotherEntryOfTheNameIsReplacedOnlyWhenAsked) {
  const std::string text = "{\"mcpServers\": {\"parley\": {\"url\": \"x\"}, \"b\": 1}}";
  const auto kept = add_json_member(text, json_path, entry, false);
  ASSERT_TRUE(kept);
  EXPECT_EQ(kept->change, Change::refused);
  EXPECT_EQ(kept->text, text);
  const auto edit = add_json_member(text, json_path, entry, true);
  ASSERT_TRUE(edit);
  EXPECT_EQ(edit->change, Change::replaced);
  EXPECT_EQ(edit->text,
            "{\"mcpServers\": {\"parley\": {\n  \"command\": \"parley\",\n"
            "  \"args\": [\"mcp\", \"--agent\", \"bo\"]\n}, \"b\": 1}}");
}

TEST(SettingsJson, TheSameEntryInAnotherLayoutIsTheSame) {
  const std::string text =
      "{\"mcpServers\":{\"parley\":{ \"command\" : \"parley\", // us\n"
      "\"args\":[\"mcp\",\"--agent\",\"bo\",], } } }";
  const auto edit = add_json_member(text, json_path, entry, false);
  ASSERT_TRUE(edit);
  EXPECT_EQ(edit->change, Change::none);
}

TEST(SettingsJson, WhatIsNoJsonIsRefusedWithItsLine) {
  EXPECT_EQ(added("{\n  \"a\": tru\n}"), "line 2 is not JSON");
  EXPECT_EQ(added("[]"), "line 1: the document is no object");
  EXPECT_EQ(added("{\"a\": 1 \"b\": 2}"), "line 1 is not JSON");
  EXPECT_EQ(added("{\"a\": {"), "line 1 is not JSON");
  EXPECT_EQ(added("{\"a\": 1} x"), "line 1 is not JSON");
  EXPECT_EQ(added("{\"a\": \"x"), "line 1 is not JSON");
  EXPECT_EQ(added("{\n/* \"a\": 1}"), "line 2 is not JSON");
  EXPECT_EQ(added("{\n\"mcpServers\": []}"), "line 2: mcpServers is no object");
  EXPECT_EQ(added("{\"mcpServers\": 5}"), "line 1: mcpServers is no object");
  EXPECT_EQ(added(std::string(100'000, '[')), "line 1 is not JSON");
}

TEST(SettingsJson, EveryBeginningOfADocumentIsEitherTakenOrRefused) {
  const std::string whole =
      added("{\"a\\u0062\": [1, {\"b\": null}], /* c */ \"mcpServers\": {}} //");
  for (size_t size = 0; size < whole.size(); ++size) {
    (void)add_json_member(std::string_view(whole).substr(0, size), json_path, entry, true);
  }
}

TEST(SettingsJson, AnElementIsAddedOnce) {
  constexpr std::string_view input = R"({"id":"t","password":true})";
  const std::vector<std::string> path = {"inputs"};
  const auto first = add_json_element("{\n  \"a\": 1\n}\n", path, input, R"("id":"t")");
  ASSERT_TRUE(first);
  EXPECT_EQ(first->change, Change::added);
  const auto again = add_json_element(first->text, path, input, R"("id":"t")");
  ASSERT_TRUE(again);
  EXPECT_EQ(again->change, Change::none);
  EXPECT_EQ(again->text, first->text);
  const auto beside = add_json_element("{\n  \"inputs\": [\n    {\"id\": \"b\"}\n  ]\n}\n", path,
                                       input, R"("id":"t")");
  ASSERT_TRUE(beside);
  EXPECT_EQ(beside->text,
            "{\n  \"inputs\": [\n    {\"id\": \"b\"},\n    {\n      \"id\": \"t\",\n"
            "      \"password\": true\n    }\n  ]\n}\n");
  EXPECT_FALSE(add_json_element("{\"inputs\": {}}", path, input, "x"));
  EXPECT_FALSE(add_json_element("{\"inputs\": [}", path, input, "x"));
}

TEST(SettingsJson, AnElementFindsItsWayDown) {
  const std::vector<std::string> path = {"hooks", "Stop"};
  const auto made = add_json_element("", path, "{}", "none");
  ASSERT_TRUE(made);
  EXPECT_EQ(made->text, "{\n  \"hooks\": {\n    \"Stop\": [{}]\n  }\n}\n");
  const auto added_to = add_json_element("{\"hooks\": {\"Stop\": [1]}}", path, "2", "none");
  ASSERT_TRUE(added_to);
  EXPECT_EQ(added_to->text, "{\"hooks\": {\"Stop\": [1,\n  2\n]}}");
  EXPECT_FALSE(add_json_element("{\"hooks\": []}", path, "2", "none"));
}

TEST(SettingsJson, NullIsNothingYet) {
  EXPECT_EQ(added("{\"mcpServers\": null}"),
            "{\"mcpServers\": {\n  \"parley\": {\n    \"command\": \"parley\",\n"
            "    \"args\": [\"mcp\", \"--agent\", \"bo\"]\n  }\n}}");
  const std::vector<std::string> path = {"hooks", "Stop"};
  EXPECT_EQ(add_json_element("{\"hooks\": null}", path, "2", "none")->text,
            "{\"hooks\": {\n  \"Stop\": [2]\n}}");
}

std::expected<Settings, base::Error> hooked(std::string_view text, bool replace) {
  const std::vector<std::string> path = {"hooks", "Stop"};
  return add_json_hook(
      text, path, R"({"command":"ours new"})", "ours new",
      [](std::string_view command) { return command.starts_with("ours"); }, replace);
}

TEST(SettingsJson, AHookOfOursIsAddedOnce) {
  const auto made = hooked("", false);
  ASSERT_TRUE(made);
  EXPECT_EQ(made->change, Change::added);
  EXPECT_EQ(made->text,
            "{\n  \"hooks\": {\n    \"Stop\": [{\n"
            "      \"command\": \"ours new\"\n    }]\n  }\n}\n");
  const auto again = hooked(made->text, false);
  ASSERT_TRUE(again);
  EXPECT_EQ(again->change, Change::none);
  EXPECT_EQ(again->text, made->text);
  EXPECT_EQ(hooked(R"({"hooks": {"Stop": [{"command": "theirs"}, 7, "ours"]}})", false)->change,
            Change::added);
  EXPECT_EQ(hooked(R"({"hooks": {"Stop": 1}})", true).error().detail, "line 1: Stop is no array");
}

TEST(SettingsJson, AnotherHookOfOursIsReplacedOnlyWhenAsked) {
  const std::string text =
      "{\"hooks\": {\"Stop\": [\n"
      "  {\"hooks\": [{\"command\": \"theirs\"}, "
      "{\"command\": \"ours old\", \"timeout\": 9}]}, // a\n"
      "  {\"command\": \"ours older\"}, // b\n"
      "  {\"hooks\": [\n"
      "    {\"command\": \"ours new\"}\n"
      "  ]}\n"
      "]}}\n";
  const auto kept = hooked(text, false);
  ASSERT_TRUE(kept);
  EXPECT_EQ(kept->change, Change::refused);
  EXPECT_EQ(kept->text, text);
  EXPECT_EQ(kept->instead, "ours new");
  const auto edit = hooked(text, true);
  ASSERT_TRUE(edit);
  EXPECT_EQ(edit->change, Change::replaced);
  EXPECT_EQ(edit->text,
            "{\"hooks\": {\"Stop\": [\n"
            "  {\"hooks\": [{\"command\": \"theirs\"}, "
            "{\"command\": \"ours new\", \"timeout\": 9}]} // a\n"
            "   // b\n"
            "]}}\n");
}

TEST(SettingsToml, TheTableComesLastAndTheRestStays) {
  const std::string text = "model = \"o\" # mine\n\n[mcp_servers.a]\nurl = 'x'";
  const auto edit = add_toml_table(text, toml_path, lines, false);
  ASSERT_TRUE(edit);
  EXPECT_EQ(edit->change, Change::added);
  EXPECT_EQ(edit->text, text + "\n\n[mcp_servers.parley]\n" + std::string(lines));
  const auto again = add_toml_table(edit->text, toml_path, lines, false);
  ASSERT_TRUE(again);
  EXPECT_EQ(again->change, Change::none);
  EXPECT_EQ(again->text, edit->text);
  EXPECT_EQ(add_toml_table("", toml_path, lines, false)->text,
            "[mcp_servers.parley]\n" + std::string(lines));
}

TEST(SettingsToml, AnotherTableOfTheNameIsReplacedOnlyWhenAsked) {
  const std::string text =
      "a = 1\n[mcp_servers.parley]\nurl = 'x'\n[mcp_servers.parley.env]\nb = '1'\n[z]\nc = 2\n";
  const auto kept = add_toml_table(text, toml_path, lines, false);
  ASSERT_TRUE(kept);
  EXPECT_EQ(kept->change, Change::refused);
  EXPECT_EQ(kept->text, text);
  const auto edit = add_toml_table(text, toml_path, lines, true);
  ASSERT_TRUE(edit);
  EXPECT_EQ(edit->text, "a = 1\n[mcp_servers.parley]\n" + std::string(lines) + "[z]\nc = 2\n");
}

TEST(SettingsToml, AReplacedTableLeavesWhatIsNotItsOwn) {
  const auto edit = add_toml_table(
      "[mcp_servers . \"parley\"]  # ours\ncommand='old'\n"
      "\n# settings of z: keep me\n[z]\nq=1\n",
      toml_path, lines, true);
  ASSERT_TRUE(edit);
  EXPECT_EQ(edit->text, "[mcp_servers . \"parley\"]  # ours\n" + std::string(lines) +
                            "\n# settings of z: keep me\n[z]\nq=1\n");
  const auto last = add_toml_table("# top\r\n[mcp_servers.'parley']", toml_path, lines, true);
  ASSERT_TRUE(last);
  EXPECT_EQ(last->text,
            "# top\r\n[mcp_servers.'parley']\r\ncommand = \"parley\"\r\nargs = [\"mcp\"]\r\n");
  const auto below =
      add_toml_table("[mcp_servers.parley.env]\nA = '1'\n# end\n", toml_path, lines, true);
  ASSERT_TRUE(below);
  EXPECT_EQ(below->text, "[mcp_servers.parley]\n" + std::string(lines) + "# end\n");
}

TEST(SettingsToml, WhatCannotBeExtendedIsLeftAlone) {
  EXPECT_FALSE(add_toml_table("mcp_servers = {}\n", toml_path, lines, true));
  EXPECT_FALSE(add_toml_table("[mcp_servers]\nparley = {url = 'x'}\n", toml_path, lines, true));
  EXPECT_FALSE(add_toml_table("mcp_servers = \n", toml_path, lines, true));
  // Cutting this table would cut a string of another.
  EXPECT_FALSE(add_toml_table("a = '''\n[mcp_servers.parley]\n'''\n[mcp_servers.parley]\nb = 1\n",
                              toml_path, lines, true));
}

TEST(SettingsToml, ANameThatIsNoBareKeyIsQuoted) {
  const std::vector<std::string> path = {"mcp_servers", "par ley"};
  EXPECT_EQ(add_toml_table("", path, lines, false)->text,
            "[mcp_servers.\"par ley\"]\n" + std::string(lines));
}

}  // namespace
}  // namespace parley::app
