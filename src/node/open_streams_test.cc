// SPDX-License-Identifier: Apache-2.0
#include "node/open_streams.h"

#include <gtest/gtest.h>

#include "core/machine/testing.h"

namespace parley::node {
namespace {

using core::testing::a_send;

constexpr uint64_t origin = 9;

struct Reader final : Receiver {
  int delivered = 0;
  int at_hand = 0;
  int closed = 0;

  void deliver(const core::Deliver&, const core::Envelope* envelope) override {
    ++delivered;
    at_hand += envelope != nullptr ? 1 : 0;
  }
  void stream_closed() override { ++closed; }
};

core::Entry a_sent(base::Seq seq) {
  core::Entry entry;
  entry.seq = seq;
  entry.command = a_send("ana", "m").to("bo");
  return entry;
}

TEST(OpenStreams, EachReceiverHearsOfItsOwnStream) {
  OpenStreams streams(origin);
  Reader ana;
  Reader bo;
  streams.add(ana);
  const core::StreamId stream = streams.add(bo);
  const core::Entry entry = a_sent(base::Seq{5});
  streams.hear(entry, core::Deliver{.stream = stream, .message = base::Seq{5}});
  streams.hear(entry, core::Deliver{.stream = stream, .message = base::Seq{3}});
  EXPECT_EQ(bo.delivered, 2);
  EXPECT_EQ(bo.at_hand, 1) << "of the message that was sent before only the record is there";
  EXPECT_EQ(ana.delivered, 0);
}

TEST(OpenStreams, WhatTheClientHasSeenAndWhatIsOfAnotherLifeIsNotTold) {
  OpenStreams streams(origin);
  Reader reader;
  const core::StreamId stream = streams.add(reader);
  const core::StreamId other{origin - 1, stream.number};
  const core::Entry entry = a_sent(base::Seq{5});
  streams.hear(entry, core::Deliver{.stream = stream, .message = base::Seq{5}, .seen = true});
  streams.hear(entry, core::Deliver{.stream = other, .message = base::Seq{5}});
  streams.hear(entry, core::StreamClosed{.workspace = {}, .stream = other});
  EXPECT_EQ(reader.delivered, 0);
  EXPECT_EQ(reader.closed, 0);
  EXPECT_TRUE(streams.remove(stream));
}

TEST(OpenStreams, WhatIsClosedHearsThatAndNothingMore) {
  OpenStreams streams(origin);
  Reader reader;
  const core::StreamId stream = streams.add(reader);
  const core::Entry entry = a_sent(base::Seq{5});
  for (int n = 0; n < 2; ++n) {
    streams.hear(entry, core::StreamClosed{.workspace = {}, .stream = stream});
    streams.hear(entry, core::Deliver{.stream = stream, .message = base::Seq{5}});
  }
  EXPECT_EQ(reader.closed, 1);
  EXPECT_EQ(reader.delivered, 0);
  EXPECT_FALSE(streams.remove(stream)) << "there is nothing left to close";
}

TEST(OpenStreams, ACloseThatWasPutOffIsDueOnceAfterASecond) {
  OpenStreams streams(origin);
  const base::Time now = core::testing::start_time;
  EXPECT_EQ(streams.due(), base::time_max);
  streams.put_off({core::workspace_first, {origin, 1}}, now);
  streams.put_off({core::workspace_first, {origin, 2}}, now);
  EXPECT_TRUE(streams.take_due(now).empty());
  EXPECT_EQ(streams.due(), now + base::seconds(1));
  EXPECT_EQ(streams.take_due(now + base::seconds(1)).size(), 2u);
  EXPECT_EQ(streams.due(), base::time_max);
  EXPECT_TRUE(streams.take_due(now + base::seconds(5)).empty());
}

}  // namespace
}  // namespace parley::node
