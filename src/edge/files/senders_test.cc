// SPDX-License-Identifier: Apache-2.0
#include "edge/files/senders.h"

#include <gtest/gtest.h>

#include <vector>

namespace parley::edge::files {
namespace {

TEST(FileSenders, TheBrokersOwnUserIsAnyAgentAndOthersAreNobody) {  // SQ-11
  EXPECT_TRUE(may_send({}, 100, 100, "agent:main:main"));
  EXPECT_TRUE(may_send({}, 100, 100, "agent:main:subagent:1"));
  EXPECT_FALSE(may_send({}, 100, 101, "agent:main:main"));
  EXPECT_FALSE(may_send({}, 100, 0, "agent:main:main"));
}

TEST(FileSenders, AUserThatIsNamedIsThoseAgentsAlone) {
  const std::vector<FileSender> senders = {
      {100, "agent:main:main"}, {101, "agent:main:subagent:*"}, {101, "agent:main:reviewer"}};
  EXPECT_TRUE(may_send(senders, 100, 100, "agent:main:main"));
  EXPECT_FALSE(may_send(senders, 100, 100, "agent:main:reviewer"));
  EXPECT_TRUE(may_send(senders, 100, 101, "agent:main:subagent:7"));
  EXPECT_TRUE(may_send(senders, 100, 101, "agent:main:reviewer"));
  EXPECT_FALSE(may_send(senders, 100, 101, "agent:main:main"));
  EXPECT_FALSE(may_send(senders, 100, 102, "agent:main:subagent:7"));
}

// An agent that runs as the same user must not say what a person says.
TEST(FileSenders, AHumansWordIsNotGivenByAPattern) {
  EXPECT_FALSE(may_send({}, 100, 100, "human:mia"));
  EXPECT_FALSE(may_send(std::vector<FileSender>{{100, "*"}}, 100, 100, "human:mia"));
  EXPECT_FALSE(may_send(std::vector<FileSender>{{100, "human:*"}}, 100, 100, "human:mia"));
  EXPECT_TRUE(may_send(std::vector<FileSender>{{100, "human:mia"}}, 100, 100, "human:mia"));
}

TEST(FileSenders, AreWrittenAsUidAndName) {
  EXPECT_EQ(parse_file_sender("1000=agent:main:*"), (FileSender{1000, "agent:main:*"}));
  for (const std::string_view text :
       {"", "=", "1000", "1000=", "=agent:main:main", "x=y", "-1=y", "4294967295=y"}) {
    EXPECT_FALSE(parse_file_sender(text)) << text;
  }
}

}  // namespace
}  // namespace parley::edge::files
