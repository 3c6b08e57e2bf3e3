// SPDX-License-Identifier: Apache-2.0
#include "lib/toml.h"

#include <gtest/gtest.h>

namespace parley::lib {
namespace {

TEST(Toml, TablesAndDottedKeysBecomeDottedNamesWithLines) {
  const auto entries = read_toml(
      "listen = \"127.0.0.1:1\"\n"
      "flow.ttl.high = \"1h\"\n"
      "[server]\n"
      "connections_max = 10\n"
      "[tls]\n"
      "on = true\n"
      "hosts = [\"a\", \"b\"]\n");
  ASSERT_TRUE(entries.has_value()) << entries.error().detail;
  const std::vector<TomlEntry> wanted = {{"flow.ttl.high", "1h", 2},
                                         {"listen", "127.0.0.1:1", 1},
                                         {"server.connections_max", "10", 4},
                                         {"tls.hosts", "a,b", 7},
                                         {"tls.on", "true", 6}};
  EXPECT_EQ(*entries, wanted);
}

TEST(Toml, WhatIsNoTomlIsRefusedWithItsLine) {
  const auto entries = read_toml("a = 1\nb = \n");
  ASSERT_FALSE(entries.has_value());
  EXPECT_TRUE(entries.error().detail.starts_with("line 2: ")) << entries.error().detail;
}

TEST(Toml, ValuesOfOtherTypesAreRefused) {
  for (const char* text : {"a = inf", "a = nan", "a = 2026-01-01", "a = [[1]]", "a = [{b = 1}, 2]",
                           "[[a]]\nb = 2026-01-01"}) {
    EXPECT_FALSE(read_toml(text).has_value()) << text;
  }
}

TEST(Toml, TablesOfAnArrayHaveTheirNumberInTheName) {
  const auto entries = read_toml(
      "[[github.route]]\n"
      "worker = \"triage\"\n"
      "confidence_threshold = 0.5\n"
      "[[github.route]]\n");
  ASSERT_TRUE(entries.has_value()) << entries.error().detail;
  const std::vector<TomlEntry> wanted = {{"github.route[0]", "", 1},
                                         {"github.route[0].confidence_threshold", "0.5", 3},
                                         {"github.route[0].worker", "triage", 2},
                                         {"github.route[1]", "", 4}};
  EXPECT_EQ(*entries, wanted);
}

TEST(Toml, DeepNestingIsRefusedNotFollowed) {
  EXPECT_FALSE(read_toml("a = " + std::string(100'000, '[')).has_value());
}

TEST(Toml, APartIsTheSameInEverySpelling) {
  const std::vector<std::string> path = {"servers", "own"};
  const auto part = part_of_toml(
      "model = \"x\"\nratio = 0.5\nday = 2026-11-16\n[[list]]\na = 1\n"
      "[servers.own]\ncommand = 'c'\nargs = ['a', 'b']\n",
      path);
  const auto inlined = part_of_toml(
      "servers = {own = {args = [\"a\", \"b\"], command = \"c\"}}\n"
      "list = [{a = 1}]\nday = 2026-11-16\nratio = 5e-1\nmodel = 'x' # note\n",
      path);
  ASSERT_TRUE(part && inlined);
  EXPECT_EQ(*part, *inlined);
  EXPECT_EQ(part->value, R"({"args":["a","b",],"command":"c",})");
  const auto without = part_of_toml("model = 'x'\n[servers]\n", path);
  ASSERT_TRUE(without);
  EXPECT_EQ(*without, (TomlPart{"", R"({"model":"x",})"}));
  EXPECT_FALSE(part_of_toml("a = ", path));
}

}  // namespace
}  // namespace parley::lib
