// SPDX-License-Identifier: Apache-2.0
#include "edge/api/members.h"

#include <gtest/gtest.h>

#include "edge/api/commands.h"

namespace parley::edge {
namespace {

class MembersTest : public ::testing::Test {
 protected:
  lib::Json json(std::string_view text) {
    const auto parsed = document_.parse(text);
    EXPECT_TRUE(parsed) << text;
    return *parsed;
  }

  lib::JsonDocument document_;
};

TEST_F(MembersTest, GivesWhatIsThereAndWhatStandsForTheRest) {
  Members members(json(R"({"a":"x","b":["y","z"],"c":true,"d":7,"e":"5m","f":null,"tokens":3})"));
  EXPECT_EQ(members.text("a"), "x");
  EXPECT_EQ(members.texts("b"), (std::vector<std::string_view>{"y", "z"}));
  EXPECT_TRUE(members.flag("c", false));
  EXPECT_EQ(members.number("d", ""), 7);
  EXPECT_EQ(members.duration("e"), base::minutes(5));
  EXPECT_EQ(members.tokens("tokens"), 3);
  EXPECT_EQ(members.text("f", "before"), "before");
  EXPECT_EQ(members.text("none", "before"), "before");
  EXPECT_TRUE(members.texts("none").empty());
  EXPECT_TRUE(members.flag("f", true));
  EXPECT_EQ(members.number("none", ""), std::nullopt);
  EXPECT_EQ(members.duration("f"), base::Duration{});
  EXPECT_EQ(members.said("none", "before"), "before");
  EXPECT_EQ(members.said("f", "before"), "");
  EXPECT_FALSE(members.error());
}

TEST_F(MembersTest, BlamesTheFirstThatIsWrong) {
  Members members(json(R"({"a":1,"b":["y",2],"c":"no"})"), "/metadata/");
  EXPECT_EQ(members.text("a", "before"), "before");
  (void)members.texts("b");
  (void)members.flag("c", false);
  ASSERT_TRUE(members.error());
  EXPECT_EQ(members.error()->field, "/metadata/a");
  EXPECT_EQ(members.error()->code, base::Code::bad_request);
}

TEST_F(MembersTest, RefusesWhatIsOfAnotherType) {
  const lib::Json all = json(R"({"a":1,"b":"y","c":"no","d":null,"e":"soon","g":""})");
  const auto field = [&](auto&& read) {
    Members members(all);
    read(members);
    return members.error() ? members.error()->field : "none";
  };
  EXPECT_EQ(field([](Members& m) { (void)m.text("a"); }), "/a");
  EXPECT_EQ(field([](Members& m) { (void)m.texts("b"); }), "/b");
  EXPECT_EQ(field([](Members& m) { (void)m.flag("c", true); }), "/c");
  EXPECT_EQ(field([](Members& m) { (void)m.number("d", "a number"); }), "/d");
  EXPECT_EQ(field([](Members& m) { (void)m.duration("e"); }), "/e");
  EXPECT_EQ(field([](Members& m) { (void)m.tokens("b"); }), "/b");
  EXPECT_EQ(field([](Members& m) { (void)m.needed_text("g", "a text"); }), "/g");
  EXPECT_EQ(field([](Members& m) { (void)m.needed_text("none", "a text"); }), "/none");
}

using Commands = MembersTest;

// Over a WebSocket a reason that was no text was taken for none.
TEST_F(Commands, SettleAsTheMembersSayOrRefuse) {
  const core::Target target{.seq = base::Seq{7}, .id = {}};
  const auto nack = settle_command(settling_of("nack"), target,
                                   json(R"({"reason":"busy","retry_after":"2s","failed":false})"));
  ASSERT_TRUE(nack);
  EXPECT_EQ(std::get<core::Nack>(*nack), (core::Nack{target, base::seconds(2), "busy", false}));
  const auto extend = settle_command(settling_of("extend"), target, json(R"({"lease":"5m"})"));
  ASSERT_TRUE(extend);
  EXPECT_EQ(std::get<core::Extend>(*extend), (core::Extend{target, base::minutes(5)}));
  const auto ack = settle_command(settling_of("ack"), target, json("{}"));
  ASSERT_TRUE(ack);
  EXPECT_EQ(std::get<core::Ack>(*ack), core::Ack{.target = target});
  const auto reject = settle_command(settling_of("reject"), target, json(R"({"reason":"no"})"));
  ASSERT_TRUE(reject);
  EXPECT_EQ(std::get<core::Reject>(*reject), (core::Reject{target, "no"}));
  for (const std::string_view act : {"nack", "reject"}) {
    const auto refused = settle_command(settling_of(act), target, json(R"({"reason":5})"));
    ASSERT_FALSE(refused) << act;
    EXPECT_EQ(refused.error().field, "/reason") << act;
  }
}

// It was an ack.
TEST(CommandsDeathTest, AnActThatIsUnknownSettlesNothing) {
  EXPECT_DEATH((void)settling_of("defer"), "check failed");
}

TEST_F(Commands, HeartbeatKeepsWhatIsLeftOut) {
  core::Agent before;
  before.dialect = core::Dialect::collab;
  before.status = "working";
  before.task = "t-1";
  const auto kept = heartbeat_command(before, json(R"({"tokens":5})"));
  ASSERT_TRUE(kept);
  EXPECT_EQ(*kept, (core::Heartbeat{.status = "working", .task = "t-1", .tokens = 5}));
  const auto cleared = heartbeat_command(before, json(R"({"status":null,"currentTask":null})"));
  ASSERT_TRUE(cleared);
  EXPECT_EQ(*cleared, core::Heartbeat{});
  EXPECT_FALSE(heartbeat_command(before, json(R"({"status":"bored"})")));
  EXPECT_FALSE(heartbeat_command(before, json(R"({"status":5})")));
}

}  // namespace
}  // namespace parley::edge
