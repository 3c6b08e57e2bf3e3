// SPDX-License-Identifier: Apache-2.0
// Spans are made of what the history has: CO-12, and the chain of CO-05.
#include "view/traces.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>
#include <string>

#include "base/trace.h"
#include "view/world_test.h"

namespace parley::view {
namespace {

using core::workspace_first;
using testing::a_send;
using testing::an_agent;
using testing::Folder;
using testing::id_of;
using testing::target;
using testing::World;

constexpr Reader::Viewer admin{workspace_first, std::nullopt};
Reader::Viewer as(std::string_view name) { return {workspace_first, name}; }

Reader reader_of(const World& world) {
  auto reader = Reader::open(world.history_path());
  EXPECT_TRUE(reader) << reader.error().detail;
  return std::move(*reader);
}

void add_agents(World& world) {
  for (const char* name : {"ana", "bo", "cy", "di"}) {
    ASSERT_TRUE(world.ask("", an_agent(name)));
  }
}

// As an edge would send it, in the trace of its cause.
core::Send caused(core::testing::SendBuilder builder, std::string_view cause,
                  std::string_view cause_sender, std::string_view trace) {
  core::Send send = std::move(builder).send;
  send.envelope.in_reply_to = id_of(cause);
  send.envelope.trace_id = id_of(trace);
  send.envelope.parent_span_id = base::message_span(id_of(cause), cause_sender);
  return send;
}

Trace trace_of_message(const World& world, std::string_view name,
                       const Reader::Viewer& viewer = admin) {
  Reader reader = reader_of(world);
  auto found = find_trace(reader, viewer, target(name));
  EXPECT_TRUE(found && *found);
  return std::move(**found);
}

std::vector<Span> all_spans(const Trace& trace) {
  std::vector<Span> spans;
  for (const TracedMessage& message : trace.messages) {
    for (Span& span : spans_of(message)) {
      spans.push_back(std::move(span));
    }
  }
  return spans;
}

std::vector<std::string> drawn(const std::vector<Span>& spans) {
  std::vector<std::string> lines;
  for (const Branch& branch : tree_of(spans)) {
    lines.push_back(std::string(branch.depth, '.') + spans[branch.span].operation);
  }
  return lines;
}

std::string tag_of(const Span& span, std::string_view key) {
  for (const Span::Tag& tag : span.tags) {
    if (tag.key == key) {
      return tag.text;
    }
  }
  return "none";
}

// CO-12
TEST(Traces, MessageHasItsWaitAndItsWork) {
  World world;
  Folder folder(world);
  add_agents(world);
  const Time sent = world.clock.now();
  ASSERT_TRUE(world.ask("ana", a_send("ana", "m1").to("bo").body("{\"n\":1}")));
  world.clock.advance(base::seconds(2));
  ASSERT_TRUE(world.ask("bo", core::Take{}));
  world.clock.advance(base::seconds(3));
  ASSERT_TRUE(world.ask("bo", core::Ack{target("m1"), {}}));
  folder.fold();
  const std::vector<Span> spans = all_spans(trace_of_message(world, "m1"));
  ASSERT_EQ(drawn(spans), (std::vector<std::string>{"send bo", ".queue bo", ".process bo"}));
  EXPECT_EQ(spans[0].trace, id_of("m1"));
  EXPECT_EQ(spans[0].id, base::message_span(id_of("m1"), "ana"));
  EXPECT_EQ(spans[0].parent, 0u);
  EXPECT_EQ(spans[0].start, sent);
  EXPECT_EQ(spans[0].end, sent + base::seconds(5));
  EXPECT_EQ(tag_of(spans[0], "messaging.client.id"), "ana");
  EXPECT_EQ(tag_of(spans[0], "messaging.message.body.size"), "7");
  EXPECT_EQ(spans[1].parent, spans[0].id);
  EXPECT_EQ(spans[1].start, sent);
  EXPECT_EQ(spans[1].end, sent + base::seconds(2));
  EXPECT_EQ(spans[2].start, sent + base::seconds(2));
  EXPECT_EQ(spans[2].end, sent + base::seconds(5));
  EXPECT_EQ(tag_of(spans[2], "parley.state"), "acked");
  for (const Span& span : spans) {
    EXPECT_FALSE(span.failed);
  }
}

// CO-12: what was answered with a failure failed, in the whole trace as in what is exported of one
// message; who refused did so in its own span.
TEST(Traces, RequestFailsWithItsAnswer) {
  World world;
  Folder folder(world);
  add_agents(world);
  core::Send question = a_send("ana", "m1").to("bo").send;
  question.envelope.kind = core::Kind::request;
  ASSERT_TRUE(world.ask("ana", question));
  ASSERT_TRUE(world.ask("bo", core::Take{}));
  core::Send answer = caused(a_send("bo", "m2").to("ana").answers("m1"), "m1", "ana", "m1");
  answer.envelope.status = core::Status::declined;
  ASSERT_TRUE(world.ask("bo", answer));
  folder.fold();
  const std::vector<Span> spans = all_spans(trace_of_message(world, "m1"));
  ASSERT_EQ(drawn(spans), (std::vector<std::string>{"send bo", ".queue bo", ".process bo",
                                                    ".send ana", "..queue ana"}));
  EXPECT_TRUE(spans[0].failed);
  EXPECT_EQ(spans[0].error, "bo answered with declined");
  EXPECT_EQ(tag_of(spans[0], "error.type"), "declined");
  EXPECT_FALSE(spans[1].failed);
  EXPECT_TRUE(spans[2].failed);
  EXPECT_FALSE(spans[3].failed) << "the answer itself arrived";
  Reader reader = reader_of(world);
  auto stored = reader.find(admin, id_of("m1"));
  ASSERT_TRUE(stored && *stored);
  const auto alone = traced(reader, std::move(**stored));
  ASSERT_TRUE(alone);
  ASSERT_EQ(alone->failures.size(), 1u);
  EXPECT_EQ(alone->failures[0].receiver, "bo");
  EXPECT_TRUE(spans_of(*alone)[0].failed);
}

// A topic has one name, however it is written.
TEST(Traces, TopicIsNamedWithoutItsPrefix) {
  World world;
  Folder folder(world);
  add_agents(world);
  core::Send event = a_send("ana", "m1").to("topic:build.done").send;
  event.envelope.kind = core::Kind::broadcast;
  ASSERT_TRUE(world.ask("ana", event));
  folder.fold();
  const std::vector<Span> spans = all_spans(trace_of_message(world, "m1"));
  EXPECT_EQ(spans[0].operation, "publish build.done");
  EXPECT_EQ(tag_of(spans[0], "messaging.destination.name"), "build.done");
}

TEST(Traces, WhatGoesOnHasNoEndAndWhatFailedSaysWhy) {
  World world;
  Folder folder(world);
  add_agents(world);
  ASSERT_TRUE(world.ask("ana", a_send("ana", "m1").to("bo").to("cy")));
  ASSERT_TRUE(world.ask("bo", core::Take{}));
  ASSERT_TRUE(world.ask("bo", core::Reject{target("m1"), "not mine"}));
  folder.fold();
  const std::vector<Span> spans = all_spans(trace_of_message(world, "m1"));
  ASSERT_EQ(drawn(spans),
            (std::vector<std::string>{"send", ".queue bo", ".process bo", ".queue cy"}));
  EXPECT_TRUE(spans[0].failed);
  EXPECT_FALSE(spans[0].end);
  EXPECT_EQ(spans[0].error, "not mine");
  EXPECT_FALSE(spans[1].failed);
  EXPECT_TRUE(spans[2].failed);
  EXPECT_EQ(tag_of(spans[2], "error.type"), "rejected");
  EXPECT_FALSE(spans[3].end);
}

// CO-05: ana asks bo, who asks cy, who asks di, who answers ana; drawn from the end.
TEST(Traces, ChainIsDrawnFromItsEnd) {
  World world;
  Folder folder(world);
  add_agents(world);
  ASSERT_TRUE(world.ask("ana", a_send("ana", "m1").to("bo")));
  ASSERT_TRUE(world.ask("bo", caused(a_send("bo", "m2").to("cy"), "m1", "ana", "m1")));
  folder.fold();
  ASSERT_TRUE(world.ask("cy", caused(a_send("cy", "m3").to("di"), "m2", "bo", "m1")));
  ASSERT_TRUE(world.ask("di", caused(a_send("di", "m4").to("ana"), "m3", "cy", "m1")));
  ASSERT_TRUE(world.ask("bo", a_send("bo", "another").to("cy")));
  folder.fold();
  const Trace trace = trace_of_message(world, "m4");
  EXPECT_EQ(trace.id, id_of("m1"));
  EXPECT_EQ(drawn(all_spans(trace)),
            (std::vector<std::string>{"send bo", ".queue bo", ".send cy", "..queue cy",
                                      "..send di", "...queue di", "...send ana",
                                      "....queue ana"}));
}

// CO-05: also where a sender began a trace of its own in the middle.
TEST(Traces, ChainGoesOnWhereATraceBeginsAnew) {
  World world;
  Folder folder(world);
  add_agents(world);
  ASSERT_TRUE(world.ask("ana", a_send("ana", "m1").to("bo")));
  core::Send second = a_send("bo", "m2").to("cy").send;
  const std::string cause = base::format_uuid(id_of("m1"));
  second.envelope.causation = cause;
  second.envelope.trace_id = id_of("of bo's own");
  second.envelope.parent_span_id = 77;  // a span of bo's, which is unknown here
  ASSERT_TRUE(world.ask("bo", second));
  folder.fold();
  const std::vector<Span> spans = all_spans(trace_of_message(world, "m2"));
  EXPECT_EQ(drawn(spans),
            (std::vector<std::string>{"send bo", ".queue bo", ".send cy", "..queue cy"}));
  EXPECT_EQ(spans[2].parent, 77u);
}

TEST(Traces, EachSeesWhatItSentOrReceived) {
  World world;
  Folder folder(world);
  add_agents(world);
  ASSERT_TRUE(world.ask("ana", a_send("ana", "m1").to("bo")));
  ASSERT_TRUE(world.ask("bo", caused(a_send("bo", "m2").to("cy"), "m1", "ana", "m1")));
  folder.fold();
  Reader reader = reader_of(world);
  const auto sees = [&](std::string_view name) {
    const auto found = find_trace(reader, as(name), id_of("m1"));
    EXPECT_TRUE(found && *found) << name;
    return drawn(all_spans(**found));
  };
  EXPECT_EQ(sees("ana"), (std::vector<std::string>{"send bo", ".queue bo"}));
  EXPECT_EQ(sees("bo"),
            (std::vector<std::string>{"send bo", ".queue bo", ".send cy", "..queue cy"}));
  EXPECT_EQ(sees("cy"), (std::vector<std::string>{"send cy", ".queue cy"}));
  EXPECT_FALSE(find_trace(reader, as("di"), id_of("m1"))->has_value());
  EXPECT_FALSE(find_trace(reader, as("di"), target("m1"))->has_value());
  EXPECT_FALSE(find_trace(reader, {core::WorkspaceId{1}, std::nullopt}, id_of("m1"))->has_value());
  EXPECT_FALSE(find_trace(reader, admin, id_of("none"))->has_value());
}

// Its id is in the messages of all who take part, so anyone may know it.
TEST(Traces, WhoGoesOnWithAnothersTraceSeesNothingOfIt) {
  World world;
  Folder folder(world);
  add_agents(world);
  ASSERT_TRUE(world.ask("ana", a_send("ana", "m1").to("bo")));
  core::Send borrowed = a_send("di", "m2").to("di").send;
  borrowed.envelope.trace_id = id_of("m1");
  borrowed.envelope.parent_span_id = base::message_span(id_of("m1"), "ana");
  ASSERT_TRUE(world.ask("di", borrowed));
  folder.fold();
  Reader reader = reader_of(world);
  const auto found = find_trace(reader, as("di"), id_of("m1"));
  ASSERT_TRUE(found && *found);
  EXPECT_EQ(drawn(all_spans(**found)), (std::vector<std::string>{"send di", ".queue di"}));
  EXPECT_EQ(drawn(all_spans(**find_trace(reader, as("ana"), id_of("m1")))),
            (std::vector<std::string>{"send bo", ".queue bo"}));
}

// One that was sent to several is refused by one of them: that is for its sender to know.
TEST(Traces, CauseOfAnothersIsABareLinkAndOtherReceiversAreHidden) {
  World world;
  Folder folder(world);
  add_agents(world);
  ASSERT_TRUE(world.ask("ana", a_send("ana", "m1").to("bo").to("di")));
  ASSERT_TRUE(world.ask("bo", caused(a_send("bo", "m2").to("cy"), "m1", "ana", "m1")));
  folder.fold();
  const Trace seen = trace_of_message(world, "m2", as("cy"));
  ASSERT_EQ(seen.messages.size(), 1u);
  ASSERT_TRUE(seen.messages.front().link.has_value());
  EXPECT_EQ(seen.messages.front().link->trace, id_of("m1"));
  EXPECT_EQ(seen.messages.front().link->span, base::message_span(id_of("m1"), "ana"));
  const Trace got = trace_of_message(world, "m1", as("di"));
  ASSERT_EQ(got.messages.size(), 1u);
  EXPECT_EQ(got.messages.front().receivers.count, 1u);
  EXPECT_EQ(got.messages.front().receivers.listed.front().receiver, "di");
  EXPECT_EQ(trace_of_message(world, "m1", as("ana")).messages.front().receivers.count, 2u);
}

// SP-09: what is for moderators alone is in no trace.
TEST(Traces, PrivateFlagIsInNone) {
  World world;
  Folder folder(world);
  add_agents(world);
  core::Send flag = a_send("ana", "m1").to("bo").send;
  flag.envelope.kind = core::Kind::private_flag;
  ASSERT_TRUE(world.ask("ana", flag));
  folder.fold();
  Reader reader = reader_of(world);
  EXPECT_FALSE(find_trace(reader, admin, id_of("m1"))->has_value());
}

TEST(Traces, SpanThatNamesALaterOneMakesNoCircle) {
  std::vector<Span> spans(2);
  spans[0].id = 1;
  spans[0].parent = 2;
  spans[1].id = 2;
  spans[1].parent = 1;
  const std::vector<Branch> tree = tree_of(spans);
  ASSERT_EQ(tree.size(), 2u);
  EXPECT_EQ(tree[0].depth, 0u);
  EXPECT_EQ(tree[1].depth, 1u);
}

// CO-14: event, message, from, to, type, how long it took and how it ended, for each receiver.
TEST(Traces, HistoryKeepsWhatAnAuditEntryNeeds) {
  World world;
  Folder folder(world);
  add_agents(world);
  core::Send send = a_send("ana", "m1").to("bo").to("cy").send;
  send.envelope.type = "command";
  ASSERT_TRUE(world.ask("ana", send));
  const Time accepted = world.clock.now();
  world.clock.advance(base::milliseconds(5));
  ASSERT_TRUE(world.ask("bo", core::Take{}));
  ASSERT_TRUE(world.ask("bo", core::Ack{target("m1"), {}}));
  world.clock.advance(base::milliseconds(2));
  ASSERT_TRUE(world.ask("cy", core::Take{}));
  ASSERT_TRUE(world.ask("cy", core::Reject{target("m1"), "no"}));
  folder.fold();
  Reader reader = reader_of(world);
  const auto found = reader.find(admin, id_of("m1"));
  ASSERT_TRUE(found && *found);
  EXPECT_EQ((*found)->time, accepted);
  const auto entry = (*found)->entry();
  const core::Envelope& e = std::get<core::Send>(entry->command).envelope;
  EXPECT_EQ(e.sender, "ana");
  EXPECT_EQ(e.type, "command");
  const auto deliveries = reader.deliveries(admin, (*found)->seq).value();
  ASSERT_EQ(deliveries.size(), 2u);
  EXPECT_EQ(deliveries[0].receiver, "bo");
  EXPECT_EQ(deliveries[0].state, core::State::acked);
  EXPECT_EQ(deliveries[0].offered - accepted, base::milliseconds(5));
  EXPECT_EQ(deliveries[0].time - accepted, base::milliseconds(5));
  EXPECT_EQ(deliveries[1].receiver, "cy");
  EXPECT_EQ(deliveries[1].state, core::State::rejected);
  EXPECT_EQ(deliveries[1].last_error, "no");
  EXPECT_EQ(deliveries[1].time - accepted, base::milliseconds(7));
}

// Of all that happens to a message one fact says that it is over, so that it is exported once.
TEST(Traces, MessageIsFinishedOnce) {
  World world;
  Folder folder(world);
  add_agents(world);
  ASSERT_TRUE(world.ask("ana", a_send("ana", "m1").to("bo").to("cy")));
  for (const char* name : {"bo", "cy"}) {
    ASSERT_TRUE(world.ask(name, core::Take{}));
    ASSERT_TRUE(world.ask(name, core::Ack{target("m1"), {}}));
  }
  ASSERT_TRUE(world.ask("bo", a_send("bo", "m2").to("ana").answers("m1")));
  ASSERT_TRUE(world.ask("ana", a_send("ana", "m3").to("build.done")));
  std::map<Seq, int> finished;
  for (const Fact& fact : folder.facts.all()) {
    if (fact.kind != Fact::Kind::dead_letter && fact.is_finished()) {
      ++finished[fact.message];
    }
  }
  EXPECT_EQ(finished.size(), 2u);  // m1, and m3 which nobody hears
  for (const auto& [seq, count] : finished) {
    EXPECT_EQ(count, 1) << seq.n;
  }
}

// Whatever happens, each accepted message has one span, its parts lie within it, and the parent of
// each that an edge gave one is there.
TEST(Traces, EveryMessageHasASpanAndEveryParentIsThere) {
  for (uint32_t seed = 1; seed <= 5; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    const auto pick = [&](size_t n) { return random() % n; };
    World world;
    Folder folder(world);
    add_agents(world);
    const std::vector<std::string> names = {"ana", "bo", "cy", "di"};
    std::vector<std::pair<std::string, std::string>> sent;  // message, sender
    std::map<std::string, std::string> roots;               // by message
    for (size_t n = 0; n < 200; ++n) {
      const std::string& who = names[pick(names.size())];
      const std::string& other = names[pick(names.size())];
      if (pick(3) == 0) {
        const std::string name = "m" + std::to_string(sent.size());
        core::Send send = a_send(who, name).to(other).send;
        roots[name] = name;
        if (!sent.empty() && pick(2) == 0) {
          const auto& [cause, by] = sent[pick(sent.size())];
          send.envelope.trace_id = id_of(roots[cause]);
          send.envelope.parent_span_id = base::message_span(id_of(cause), by);
          roots[name] = roots[cause];
        }
        if (world.ask(who, send)) {
          sent.emplace_back(name, who);
        }
      } else if (pick(2) == 0) {
        world.ask(who, core::Take{});
      } else if (!sent.empty()) {
        world.ask(who, core::Ack{target(sent[pick(sent.size())].first), {}});
      }
      if (pick(20) == 0) {
        world.wait(base::minutes(1));
      }
      if (pick(10) == 0) {
        folder.fold();
      }
    }
    folder.fold();
    for (const auto& [name, sender] : sent) {
      const std::vector<Span> spans = all_spans(trace_of_message(world, name));
      std::map<uint64_t, const Span*> by_id;
      for (const Span& span : spans) {
        EXPECT_TRUE(by_id.emplace(span.id, &span).second) << "a span twice";
        EXPECT_EQ(span.trace, id_of(roots[name]));
        EXPECT_TRUE(!span.end || *span.end >= span.start);
      }
      EXPECT_TRUE(by_id.contains(base::message_span(id_of(name), sender)));
      for (const Span& span : spans) {
        ASSERT_TRUE(span.parent == 0 || by_id.contains(span.parent));
        if (span.kind != Span::Kind::message) {
          const Span& above = *by_id[span.parent];
          EXPECT_GE(span.start, above.start);
          EXPECT_TRUE(!above.end || (span.end && *span.end <= *above.end));
        }
      }
      EXPECT_EQ(tree_of(spans).size(), spans.size());
    }
  }
}

}  // namespace
}  // namespace parley::view
