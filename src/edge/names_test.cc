// SPDX-License-Identifier: Apache-2.0
#include "edge/names.h"

#include <gtest/gtest.h>

#include "core/machine/testing.h"
#include "lib/crypto.h"

namespace parley::edge {
namespace {

using core::testing::a_send;
using core::testing::an_agent;

// Several agents that send to one, each with ids of its own choice.
class NamesTest : public testing::Test {
 protected:
  NamesTest() {
    for (const std::string_view name : {"ana", "bo", "cy", "vic"}) {
      bench_.apply(core::broker_name, an_agent(name, core::Dialect::collab));
    }
    vic_.ref = bench_.tables().agents.find("vic");
    vic_.name = "vic";
  }
  // Its place.
  base::Seq send(std::string_view sender, std::string_view id) {
    core::testing::SendBuilder builder = a_send(sender, id).to("vic");
    builder.send.envelope.id = dialect::message_id_of(lib::derived_id, sender, id);
    builder.send.envelope.native_id = id;
    const core::Outcome outcome = bench_.apply(sender, builder);
    EXPECT_TRUE(outcome) << outcome.error().detail;
    return outcome ? outcome->message : base::Seq{};
  }
  void settle(base::Seq seq) {
    const core::Target target{.seq = seq, .id = {}};
    EXPECT_TRUE(bench_.apply("vic", core::Read{target}));
    EXPECT_TRUE(bench_.apply("vic", core::Ack{target, {}}));
  }
  std::expected<core::Target, base::Error> meant(std::string_view id) const {
    return Names(bench_.tables(), vic_).target(id);
  }

  core::testing::Bench bench_;
  Principal vic_;
};

TEST_F(NamesTest, TheOneThatWaitsIsMeantRatherThanOneThatIsSettled) {
  const base::Seq first = send("ana", "m1");
  const base::Seq second = send("bo", "m1");
  settle(second);
  EXPECT_EQ(meant("m1")->seq, first);
}

TEST_F(NamesTest, OfSeveralThatAreSettledTheNewestIsMeant) {
  const base::Seq first = send("ana", "m1");
  const base::Seq second = send("bo", "m1");
  settle(second);
  settle(first);
  EXPECT_EQ(meant("m1")->seq, second);
}

TEST_F(NamesTest, OfSeveralThatWaitNoneIsGuessed) {
  send("ana", "m1");
  send("bo", "m1");
  const auto found = meant("m1");
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, base::Code::conflict);
}

TEST_F(NamesTest, OneThatIsSettledDoesNotHideThatSeveralWait) {
  for (const std::string_view settled : {"ana", "bo", "cy"}) {
    base::Seq done;
    for (const std::string_view sender : {"ana", "bo", "cy"}) {
      const base::Seq seq = send(sender, settled);
      done = sender == settled ? seq : done;
    }
    settle(done);
    EXPECT_FALSE(meant(settled)) << "that of " << settled << " is settled";
  }
}

// It compares 500 names at most: those of the same length first.
TEST_F(NamesTest, TheNearestNameIsFoundAmongManyOthers) {
  for (int n = 0; n < 600; ++n) {
    bench_.apply(core::broker_name, an_agent("worker" + std::to_string(1'000 + n)));
  }
  bench_.apply(core::broker_name, an_agent("reviewer"));
  EXPECT_EQ(no_such_name(bench_.tables(), "reveiwer"),
            "there is no \"reveiwer\" here; the nearest name is \"reviewer\"");
  EXPECT_EQ(no_such_name(bench_.tables(), "reviewr"),
            "there is no \"reviewr\" here; the nearest name is \"reviewer\"");
  EXPECT_EQ(no_such_name(bench_.tables(), "zzzzzzzz"), "there is no \"zzzzzzzz\" here");
  bench_.apply(core::broker_name, core::Unregister{"reviewer"});
  EXPECT_EQ(no_such_name(bench_.tables(), "reveiwer"), "there is no \"reveiwer\" here");
}

}  // namespace
}  // namespace parley::edge
