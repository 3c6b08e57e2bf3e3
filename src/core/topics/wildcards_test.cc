// SPDX-License-Identifier: Apache-2.0
// FL-13: subscriptions to patterns of names.
#include "core/topics/wildcards.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "core/agents/agents.h"
#include "core/machine/testing.h"
#include "core/model/wire.h"

namespace parley::core {
namespace {

std::vector<AgentRef> matching(const Wildcards& wildcards, std::string_view topic) {
  std::vector<AgentRef> agents;
  wildcards.add_matching(topic, agents);
  return agents;
}

TEST(Wildcards, AStarIsOneTokenAndAGreaterSignTheRest) {
  EXPECT_TRUE(matches("build.*", "build.done"));
  EXPECT_FALSE(matches("build.*", "build"));
  EXPECT_FALSE(matches("build.*", "build.done.late"));
  EXPECT_TRUE(matches("*.done", "build.done"));
  EXPECT_TRUE(matches("build.>", "build.done.late"));
  EXPECT_FALSE(matches("build.>", "build"));
  EXPECT_TRUE(matches(">", "build"));
  EXPECT_TRUE(matches("build.done", "build.done"));
  EXPECT_FALSE(matches("build.done", "build.failed"));
  EXPECT_FALSE(matches("b*.done", "build.done"));
}

TEST(Wildcards, OnlyWholeTokensMakeAPattern) {
  EXPECT_TRUE(is_pattern("*"));
  EXPECT_TRUE(is_pattern("a.*.b"));
  EXPECT_TRUE(is_pattern("a.>"));
  EXPECT_FALSE(is_pattern("a.b*"));
  EXPECT_FALSE(is_pattern("a->b.c"));
  EXPECT_EQ(wrong_with_pattern("a.*.b.>"), "");
  EXPECT_NE(wrong_with_pattern("a.>.b"), "");
  EXPECT_NE(wrong_with_pattern("a..*"), "");
  EXPECT_EQ(wrong_with_pattern("1.2.3.4.5.6.7.*"), "");
  EXPECT_NE(wrong_with_pattern("1.2.3.4.5.6.7.8.*"), "");
}

TEST(Wildcards, EachSubscriberIsFoundOnce) {
  Wildcards wildcards;
  wildcards.subscribe("build.*", 1);
  wildcards.subscribe("build.>", 1);
  wildcards.subscribe("*.done", 2);
  wildcards.subscribe("build.*", 3);
  std::vector<AgentRef> all = matching(wildcards, "build.done");
  std::ranges::sort(all);
  EXPECT_EQ(all, std::vector<AgentRef>({1, 2, 3}));
  std::vector<AgentRef> known = {3, 9};
  wildcards.add_matching("build.failed", known);
  EXPECT_EQ(known, std::vector<AgentRef>({3, 9, 1}));
  wildcards.unsubscribe("build.>", 1);
  wildcards.unsubscribe("build.*", 1);
  wildcards.unsubscribe("build.*", 1);
  EXPECT_EQ(matching(wildcards, "build.failed"), std::vector<AgentRef>({3}));
  wildcards.unsubscribe("build.*", 3);
  wildcards.unsubscribe("*.done", 2);
  EXPECT_FALSE(wildcards.matches_any("build.done"));
  EXPECT_EQ(wildcards.size(), 0u);
  EXPECT_EQ(wildcards.nodes(), 0u);
}

// Random patterns against each of them asked alone.
TEST(Wildcards, FindsWhatEachPatternMatches) {
  testing::Random random(17);
  const std::vector<std::string_view> words = {"a", "b", "*", ">"};
  const auto name = [&](size_t kinds) {
    std::string text;
    const uint32_t length = 1 + random.below(4);
    for (uint32_t n = 0; n < length; ++n) {
      std::string_view word = words[random.below(static_cast<uint32_t>(kinds))];
      word = word == ">" && n + 1 < length ? "*" : word;
      text.append(n == 0 ? "" : ".").append(word);
    }
    return text;
  };
  Wildcards wildcards;
  std::vector<std::string> patterns;
  for (AgentRef agent = 0; agent < 200; ++agent) {
    patterns.push_back(name(4));
    if (is_pattern(patterns.back())) {
      wildcards.subscribe(patterns.back(), agent);
    }
  }
  for (int n = 0; n < 200; ++n) {
    const std::string topic = name(2);
    std::set<AgentRef> wanted;
    for (AgentRef agent = 0; agent < patterns.size(); ++agent) {
      if (is_pattern(patterns[agent]) && matches(patterns[agent], topic)) {
        wanted.insert(agent);
      }
    }
    const std::vector<AgentRef> found = matching(wildcards, topic);
    EXPECT_EQ(std::set<AgentRef>(found.begin(), found.end()), wanted) << topic;
    EXPECT_EQ(found.size(), wanted.size());
  }
}

// What a publication costs: it visits the branches of its own tokens, which do not grow with the
// patterns.
TEST(Wildcards, ManyPatternsOfManyShapesAreNotLookedAt) {
  testing::Random random(23);
  Wildcards wildcards;
  for (AgentRef agent = 0; agent < 50'000; ++agent) {
    std::string pattern = "t" + std::to_string(agent);
    const uint32_t length = random.below(Wildcards::tokens_max);
    for (uint32_t n = 1; n < length; ++n) {
      pattern.append(random.below(2) == 0 ? ".*" : ".x" + std::to_string(random.below(1'000)));
    }
    wildcards.subscribe(pattern.append(".>"), agent);
  }
  EXPECT_EQ(wildcards.size(), 50'000u);
  EXPECT_EQ(matching(wildcards, "t7.a.b.c.d.e.f.g.h").size(), 1u);
  EXPECT_LE(wildcards.steps_for("t7.a.b.c.d.e.f.g.h"), Wildcards::tokens_max + 1);
  EXPECT_EQ(wildcards.steps_for("another.a.b.c.d.e.f.g"), 1u);
}

// The dearest that can be: every shape is in use and matches.
TEST(Wildcards, APublicationThatAllShapesMatchHasABound) {
  Wildcards wildcards;
  const auto subscribe_to_all = [&](size_t tokens, std::string_view end) {
    for (uint32_t stars = 0; stars < 1u << tokens; ++stars) {
      std::string pattern;
      for (size_t n = 0; n < tokens; ++n) {
        pattern.append(n == 0 ? "" : ".").append((stars >> n & 1u) != 0 ? "*" : "a");
      }
      pattern.append(end);
      if (is_pattern(pattern)) {
        wildcards.subscribe(pattern, 1);
      }
    }
  };
  subscribe_to_all(8, "");
  for (size_t tokens = 1; tokens < 8; ++tokens) {
    subscribe_to_all(tokens, ".>");
  }
  wildcards.subscribe(">", 1);
  EXPECT_EQ(wildcards.size(), 510u);
  EXPECT_EQ(matching(wildcards, "a.a.a.a.a.a.a.a"), std::vector<AgentRef>({1}));
  EXPECT_EQ(wildcards.steps_for("a.a.a.a.a.a.a.a"), Wildcards::steps_max);
  EXPECT_EQ(wildcards.steps_for("b.b.b.b.b.b.b.b"), 9u);
  EXPECT_LE(wildcards.steps_for("a.a.a.a.a.a.a.a.a.a.a.a.a"), Wildcards::steps_max);
}

TEST(Wildcards, ASnapshotHasThem) {
  Agents agents(1);
  for (const std::string_view name : {"ana", "bo"}) {
    agents.set_kind(agents.intern(name), PrincipalKind::agent);
  }
  Wildcards wildcards;
  wildcards.subscribe("a.*", agents.find("bo"));
  wildcards.subscribe("a.*", agents.find("ana"));
  wildcards.subscribe("a.>", agents.find("bo"));
  std::string bytes;
  Writer out(bytes);
  wildcards.encode(agents, out);
  Wildcards restored;
  Reader in(bytes);
  EXPECT_TRUE(restored.decode(agents, in));
  EXPECT_EQ(restored.by_pattern(), wildcards.by_pattern());
  EXPECT_EQ(agents[agents.find("bo")].subscriptions.size(), 2u);
  Wildcards again;
  Reader twice(bytes);
  EXPECT_FALSE(again.decode(agents, twice));  // they subscribe already
}

// One command costs the same however many topics there are and patterns it names.
TEST(Wildcards, WhatALateSubscriberGetsIsBounded) {
  testing::Bench bench;
  bench.set("flow.rate.pair_per_min", "0");
  bench.set("topics_max", "10000");
  bench.set("share_percent", "100");  // one agent makes them all
  for (const char* const name : {"ana", "bo", "cy"}) {
    ASSERT_TRUE(bench.apply(broker_name, testing::an_agent(name, Dialect::collab)).has_value());
  }
  constexpr size_t count = 5'000;
  std::vector<std::string> topics;
  std::vector<std::string> patterns;
  for (size_t n = 0; n < count; ++n) {
    topics.push_back("t" + std::to_string(n) + ".x");
    patterns.push_back("*.x" + std::to_string(n));
  }
  for (const std::string& topic : topics) {
    bench.now = bench.now + base::milliseconds(10);
    Send send = testing::a_send("ana", topic).to(topic).send;
    send.envelope.kind = Kind::broadcast;
    send.envelope.dialect = Dialect::collab;
    const Outcome sent = bench.apply("ana", send);
    ASSERT_TRUE(sent.has_value()) << sent.error().detail;
  }
  const std::string_view all = ">";
  const Outcome some = bench.apply("bo", Subscribe{all, {}});
  ASSERT_TRUE(some.has_value()) << some.error().detail;
  EXPECT_EQ(some->count, 1'000u);
  EXPECT_EQ(bench.tables().agents[bench.tables().agents.find("bo")].inbox.unsettled, 1'000u);
  // With a thousand patterns only the newest topics are looked at.
  Register many = testing::an_agent("cy", Dialect::collab);
  many.subscriptions.emplace_back("*.x");
  many.subscriptions.insert(many.subscriptions.end(), patterns.begin(), patterns.begin() + 999);
  const Outcome few = bench.apply("cy", many);
  ASSERT_TRUE(few.has_value()) << few.error().detail;
  EXPECT_EQ(few->count, 5u);
}

}  // namespace
}  // namespace parley::core
