// SPDX-License-Identifier: Apache-2.0
#include "edge/files/names.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

namespace parley::edge::files {
namespace {

// SQ-11: the directories of the text.
TEST(FileNames, DirectoriesAreThoseOfTheText) {
  EXPECT_EQ(directory_of("agent:main:main"), "main");
  EXPECT_EQ(directory_of("agent:main:subagent:a0c0a955-1b"), "subagent-a0c0a955-1b");
  EXPECT_EQ(directory_of("agent:main:council:grok"), "council-grok");
  EXPECT_EQ(directory_of("agent:main:reviewer"), "reviewer");
  EXPECT_EQ(directory_of("agent:alice:main"), "alice.main");
  EXPECT_EQ(directory_of("agent:alice:subagent:7"), "alice.subagent-7");
}

// Whatever an agent is called, its directory is one part of a path, not hidden and not too long.
TEST(FileNames, NoNameLeavesTheTree) {
  const std::string zero("agent:main:subagent:a\0b", 23);
  const std::vector<std::string> names = {"agent:main:..",
                                          "agent:..:..",
                                          "agent:main:subagent:..",
                                          "agent:main:subagent:../../etc/passwd",
                                          "agent:/:main",
                                          "..",
                                          ".",
                                          "",
                                          "/",
                                          ".parley",
                                          "agent:",
                                          "agent::",
                                          "agent:main:",
                                          "agent:main:.parley",
                                          "agent:main:human",
                                          "agent:main:broadcast",
                                          "agent:main:subagent:\n",
                                          "agent:main:subagent:\xc3\xa9",
                                          zero,
                                          "agent:main:subagent:" + std::string(400, 'x'),
                                          "agent:main:subagent:" + std::string(401, 'x'),
                                          "agent:" + std::string(400, '/') + ":main"};
  std::set<std::string> seen;
  for (const std::string& name : names) {
    const std::string directory = directory_of(name);
    EXPECT_FALSE(directory.empty()) << name;
    EXPECT_LE(directory.size(), directory_bytes_max) << name;
    EXPECT_EQ(directory.find('/'), std::string::npos) << name;
    EXPECT_EQ(directory.find('\0'), std::string::npos) << name;
    EXPECT_NE(directory[0], '.') << name;
    EXPECT_NE(directory, human_directory) << name;
    EXPECT_NE(directory, broadcast_directory) << name;
    EXPECT_TRUE(seen.insert(directory).second) << name << " shares " << directory;
  }
}

TEST(FileNames, AgentsWithSimilarNamesHaveTheirOwn) {
  const std::vector<std::string> names = {"agent:main:council:grok",
                                          "agent:main:council-grok",
                                          "agent:main:council",
                                          "agent:main:council:",
                                          "agent:council:grok",
                                          "agent:alice:main",
                                          "agent:main:alice.main",
                                          "agent:alice.main:main",
                                          "agent:main:council:a:b",
                                          "agent:main:council:a-b",
                                          "council-grok",
                                          "agent:main:council:a%3Ab",
                                          "agent:main:council:a%2Fb",
                                          "agent:main:council:a/b",
                                          "agent:main:subagent:x.y",
                                          "agent:main:subagent:%ncouncil"};
  std::set<std::string> seen;
  for (const std::string& name : names) {
    EXPECT_TRUE(seen.insert(directory_of(name)).second) << name << " " << directory_of(name);
  }
}

TEST(FileNames, ASubagentIsKnownByItsRole) {
  EXPECT_TRUE(is_subagent("agent:main:subagent:1"));
  EXPECT_TRUE(is_subagent("agent:alice:subagent:x:y"));
  for (const std::string_view other : {"agent:main:main", "agent:main:subagent", "agent:subagent:1",
                                       "subagent:1", "", "agent:main:council:subagent:1"}) {
    EXPECT_FALSE(is_subagent(other)) << other;
  }
}

TEST(FileNames, AMessageIsCalledByItsId) {
  EXPECT_EQ(message_name("MSG-20260201-043500-f7a2"), "MSG-20260201-043500-f7a2.json");
  EXPECT_EQ(message_name("MSG-1", 17), "MSG-1~17.json");
  EXPECT_EQ(id_in("MSG-1.json"), "MSG-1");
  EXPECT_EQ(id_in("MSG-1~17.json"), "MSG-1");
}

TEST(FileNames, NamesOfMessagesAreHarmlessWhateverTheId) {
  for (const std::string& id :
       {std::string(), std::string("../../x"), std::string("-rf"), std::string("a/b"),
        std::string("x.error"), std::string(".x"), std::string(1'000, 'x'), std::string(1, '\0')}) {
    EXPECT_TRUE(is_message_name(message_name(id))) << message_name(id);
    EXPECT_TRUE(is_message_name(message_name(id, UINT64_MAX))) << message_name(id, UINT64_MAX);
  }
  EXPECT_NE(message_name(std::string(1'000, 'x')), message_name(std::string(1'001, 'x')));
}

TEST(FileNames, OtherFilesAreNoMessages) {
  for (const std::string_view name :
       {".x.json", "x.json.tmp", "x.json~", "x.tmp", ".json", "x.error.json", "x.rejected",
        "a b.json", "a\n.json", "-x.json", "README.md", "x/y.json", "x.JSON", ""}) {
    EXPECT_FALSE(is_message_name(name)) << name;
  }
  EXPECT_TRUE(is_message_name("reply.json"));
  EXPECT_FALSE(is_message_name(std::string(file_bytes_max, 'x') + ".json"));
}

}  // namespace
}  // namespace parley::edge::files
