// SPDX-License-Identifier: Apache-2.0
#include "core/agents/agents.h"

#include <gtest/gtest.h>

#include "core/machine/testing.h"

namespace parley::core {
namespace {

using testing::token_of;

TEST(Agents, NameIsFoundUntilNothingNeedsIt) {
  Agents agents(3);
  const AgentRef ana = agents.intern("ana");
  EXPECT_EQ(agents.intern("ana"), ana);
  EXPECT_FALSE(agents[ana].is_registered());
  agents.use(ana);
  agents.use(ana);
  agents.release(ana);
  EXPECT_EQ(agents.find("ana"), ana);
  agents.release(ana);
  EXPECT_EQ(agents.find("ana"), none);
  EXPECT_EQ(agents.size(), 0u);
}

TEST(Agents, RegisteredOneStaysWithoutUses) {
  Agents agents(3);
  const AgentRef ana = agents.intern("ana");
  agents.set_kind(ana, PrincipalKind::agent);
  agents.use(ana);
  agents.release(ana);
  EXPECT_EQ(agents.find("ana"), ana);
  EXPECT_EQ(agents.registered(), 1u);
  agents.set_kind(ana, PrincipalKind::human);
  EXPECT_EQ(agents.registered(), 1u);
}

TEST(Agents, UnregisteredOneKeepsItsNameWhileAMessageNeedsIt) {
  Agents agents(3);
  const AgentRef ana = agents.intern("ana");
  agents.set_kind(ana, PrincipalKind::agent);
  agents[ana].role = "boss";
  agents[ana].rights = 8;
  agents.add_token(ana, token_of("t"), 4);
  agents.use(ana);
  agents.unregister(ana);
  EXPECT_EQ(agents.registered(), 0u);
  EXPECT_EQ(agents.find("ana"), ana);
  EXPECT_EQ(agents.find_token(token_of("t")), none);
  EXPECT_EQ(agents[ana].role, "");
  EXPECT_EQ(agents[ana].rights, 0);
  agents.release(ana);
  EXPECT_EQ(agents.find("ana"), none);
}

TEST(Agents, OldestTokenGoesBeyondTheLimit) {
  Agents agents(3);
  const AgentRef ana = agents.intern("ana");
  agents.set_kind(ana, PrincipalKind::agent);
  agents.add_token(ana, token_of("1"), 2);
  agents.add_token(ana, token_of("2"), 2);
  agents.add_token(ana, token_of("2"), 2);
  EXPECT_EQ(agents.find_token(token_of("1")), ana);
  agents.add_token(ana, token_of("3"), 2);
  EXPECT_EQ(agents.find_token(token_of("1")), none);
  EXPECT_EQ(agents.find_token(token_of("2")), ana);
  EXPECT_EQ(agents.find_token(token_of("3")), ana);
  agents.add_token(ana, token_of("4"), 1);
  EXPECT_EQ(agents[ana].tokens.size(), 1u);
}

TEST(Agents, SortedIsByNameWhateverTheSlots) {
  Agents agents(3);
  for (const std::string_view name : {"cy", "ana", "bo"}) {
    agents.set_kind(agents.intern(name), PrincipalKind::agent);
  }
  agents.unregister(agents.find("ana"));
  agents.set_kind(agents.intern("zed"), PrincipalKind::agent);
  std::vector<std::string> names;
  for (const AgentRef ref : agents.sorted()) {
    names.push_back(agents[ref].name);
  }
  EXPECT_EQ(names, (std::vector<std::string>{"bo", "cy", "zed"}));
}

TEST(Agents, RightsAreWordsAndBack) {
  EXPECT_EQ(parse_right("boss"), 0);
  EXPECT_EQ(parse_right(""), 0);
  uint8_t all = 0;
  for (const std::string_view word : {"admin", "approver", "maintainer", "moderator"}) {
    ASSERT_NE(parse_right(word), 0) << word;
    all = static_cast<uint8_t>(all | parse_right(word));
  }
  EXPECT_EQ(right_words(all),
            (std::vector<std::string_view>{"approver", "moderator", "maintainer", "admin"}));
  EXPECT_TRUE(right_words(0).empty());
}

TEST(Agents, StewardsMaintainersAndAdminsLookAfterTheWorkspace) {
  Agents agents(3);
  for (const std::string_view name : {"ana", "boss"}) {
    agents.set_kind(agents.intern(name), PrincipalKind::agent);
  }
  const AgentRef ana = agents.find("ana");
  const AgentRef boss = agents.find("boss");
  const AgentRef mia = agents.intern("mia");
  const AgentRef admin = agents.intern("admin");
  agents.set_kind(mia, PrincipalKind::human);
  agents.set_kind(admin, PrincipalKind::admin);
  EXPECT_TRUE(agents.is_steward(admin));
  EXPECT_FALSE(agents.looks_after_workspace(mia));

  agents.set_rights(mia, static_cast<uint8_t>(Right::maintainer));
  agents.set_role(boss, "orchestrator");
  EXPECT_EQ(agents.stewards(), std::vector<AgentRef>{boss});
  EXPECT_FALSE(agents.is_steward(mia));
  EXPECT_FALSE(agents.is_steward(admin));
  EXPECT_TRUE(agents.looks_after_workspace(boss));
  EXPECT_TRUE(agents.looks_after_workspace(mia));
  EXPECT_TRUE(agents.looks_after_workspace(admin));
  EXPECT_FALSE(agents.looks_after_workspace(ana));

  agents.set_rights(mia, static_cast<uint8_t>(Right::moderator));
  EXPECT_FALSE(agents.looks_after_workspace(mia));
  agents.set_rights(mia, static_cast<uint8_t>(Right::admin));
  EXPECT_TRUE(agents.looks_after_workspace(mia));
}

TEST(Agents, AreFoundByWhatTheyCanDo) {
  Agents agents(3);
  const AgentRef ana = agents.intern("ana");
  const AgentRef bo = agents.intern("bo");
  for (const AgentRef ref : {ana, bo}) {
    agents.set_kind(ref, PrincipalKind::agent);
  }
  using Refs = Directory::Refs;
  agents.set_capabilities(ana, {"read", "write", "write"});
  agents.set_capabilities(bo, {"read"});
  EXPECT_EQ(agents.directory().with_capability("read"), (Refs{ana, bo}));
  EXPECT_EQ(agents.directory().with_capability("write"), Refs{ana});
  EXPECT_EQ(agents.directory().of_length(2), Refs{bo});
  agents.set_capabilities(ana, {"read"});
  EXPECT_EQ(agents.directory().with_capability("write"), Refs{});
  agents.unregister(bo);
  EXPECT_EQ(agents.directory().with_capability("read"), Refs{ana});
  EXPECT_EQ(agents.directory().of_length(2), Refs{});
}

}  // namespace
}  // namespace parley::core
