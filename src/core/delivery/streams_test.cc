// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "core/delivery/dispatch.h"
#include "core/machine/testing.h"

namespace parley::core {
namespace {

using testing::a_send;
using testing::an_agent;
using testing::Bench;
using testing::target;

TEST(ResumeMark, CoversWhatItsStreamHandedOutUntilThen) {
  const ResumeMark mark{12, 5};
  EXPECT_TRUE(mark.covers({12, 5}));
  EXPECT_TRUE(mark.covers({12, 0}));
  EXPECT_FALSE(mark.covers({12, 6}));
  EXPECT_FALSE(mark.covers({11, 1}));
  EXPECT_FALSE(mark.covers({}));
  EXPECT_FALSE(ResumeMark{}.covers({}));
  EXPECT_FALSE((ResumeMark{0, 9}.covers({0, 3})));
}

TEST(ResumeMark, HasTwoNumbersOf32Bits) {
  const auto read = [](uint64_t stream, uint64_t number) {
    std::string bytes;
    Writer out(bytes);
    out.varint(stream);
    out.varint(number);
    Reader in(bytes);
    ResumeMark mark;
    get(mark, in);
    return in.done() ? mark : ResumeMark{};
  };
  EXPECT_EQ(read(UINT32_MAX, UINT32_MAX), (ResumeMark{UINT32_MAX, UINT32_MAX}));
  EXPECT_TRUE(read(uint64_t{1} << 32, 1).is_none());
  EXPECT_TRUE(read(1, uint64_t{1} << 32).is_none());
}

struct Line {
  Tables tables{7};
  std::vector<Effect> effects;
  Dispatch dispatch{workspace_first, tables, effects};
  AgentRef bo = tables.agents.intern("bo");
  StreamRef stream = none;
  uint64_t seq = 0;

  Line() {
    tables.agents.set_kind(bo, PrincipalKind::agent);
    Stream opened;
    opened.id = {1, 1};
    opened.agent = bo;
    opened.window = 10;
    opened.number = tables.streams.new_number();
    stream = tables.streams.add(opened);
    tables.agents[bo].streams.push_back(stream);
  }

  ResumeMark send() {
    Message message;
    message.seq = Seq{++seq};
    message.id.bytes[0] = static_cast<uint8_t>(seq);
    message.sender = bo;
    message.expires = base::time_max;
    tables.agents.use(bo);
    const MessageRef ref = tables.messages.add(message);
    dispatch.deliver(ref, bo);
    return tables.messages.delivery(tables.messages.delivery_to(ref, bo)).mark;
  }
};

// A stream that has used up its numbers gets a new one: at worst something is pushed twice.
TEST(Stream, NeverGivesAMarkTwice) {
  Line line;
  EXPECT_EQ(line.send(), (ResumeMark{1, 1}));
  line.tables.streams[line.stream].handed_out = UINT32_MAX - 1;
  EXPECT_EQ(line.send(), (ResumeMark{1, UINT32_MAX}));
  EXPECT_EQ(line.send(), (ResumeMark{2, 1}));
  EXPECT_EQ(line.tables.streams.new_number(), 3u);
}

TEST(Stream, HasNoNumberZero) {
  Streams streams;
  streams.set_numbered(UINT32_MAX);
  EXPECT_EQ(streams.new_number(), 1u);
}

// What was seen before is in front of what was handed out, whenever it comes, and in its own order.
TEST(Stream, HoldsWhatWasSeenInFront) {
  Bench bench;
  bench.apply(broker_name, an_agent("ana"));
  bench.apply(broker_name, an_agent("cy"));
  bench.apply(broker_name, an_agent("bo"));
  bench.apply("bo", OpenStream{{bench.origin, 1}, 10});
  for (const std::string_view name : {"m1", "m2", "m3"}) {
    bench.apply("ana", a_send("ana", name).to("bo"));
  }
  bench.apply("bo", CloseStream{{bench.origin, 1}});
  bench.apply("cy", a_send("cy", "k").to("bo").urgent(Priority::critical));
  bench.apply("bo", OpenStream{{bench.origin, 2}, 3, {1, 3}});
  // What was seen takes no room, and all of it is held before anything new: k has none yet.
  const auto order = [&] {
    std::vector<Seq> seqs;
    const Tables& t = bench.tables();
    const Stream& stream = t.streams[t.streams.find({bench.origin, 2})];
    for (DeliveryRef d = stream.first; d != none; d = t.messages.delivery(d).next) {
      seqs.push_back(t.messages.message_of(d).seq);
    }
    return seqs;
  };
  const auto seq_of = [&](std::string_view name) {
    const Tables& t = bench.tables();
    const MessageRef ref = t.messages.find_received(t.agents.find("bo"), testing::id_of(name));
    return t.messages.message(ref).seq;
  };
  EXPECT_EQ(order(), (std::vector<Seq>{seq_of("m1"), seq_of("m2"), seq_of("m3")}));
  bench.apply("bo", Ack{target("m2")});
  EXPECT_EQ(order(), (std::vector<Seq>{seq_of("m1"), seq_of("m3"), seq_of("k")}));
  // So a mark of before the first covers these, and not k.
  const auto told = bench.apply("bo", Ack{.stream = {bench.origin, 2}, .upto = {2, 0}});
  EXPECT_EQ(told->count, 2u);
  EXPECT_EQ(order(), std::vector<Seq>{seq_of("k")});
  EXPECT_FALSE(bench.apply("bo", Ack{.stream = {bench.origin, 2}, .upto = {2, 2}}).has_value())
      << "not handed out yet";
  EXPECT_FALSE(bench.apply("cy", Ack{.stream = {bench.origin, 2}, .upto = {2, 1}}).has_value())
      << "another's";
  EXPECT_EQ(bench.apply("bo", Ack{.stream = {bench.origin, 2}, .upto = {2, 1}})->count, 1u);
}

}  // namespace
}  // namespace parley::core
