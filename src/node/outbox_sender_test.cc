// SPDX-License-Identifier: Apache-2.0
#include "node/outbox_sender.h"

#include <gtest/gtest.h>

#include <map>

#include "base/trace.h"
#include "core/machine/testing.h"

namespace parley::node {
namespace {

using core::testing::a_send;
using core::testing::an_agent;
using core::testing::id_of;

// A machine whose records can be fetched again, and what a courier makes of what it owes.
struct Desk {
  core::testing::Bench bench;
  std::map<base::Seq, std::string> records;
  OutboxSender outbox_sender{[](const core::OutboxItem&) { return std::string("{}"); }};
  std::vector<core::Send> sent;
  std::vector<std::string> kept;  // what the texts of `sent` are views of
  bool refusals = false;          // what is sent may be refused
  bool trouble = false;           // no record can be read

  core::Outcome apply(std::string_view actor, core::Command command) {
    const base::Seq seq = bench.machine.seq().next();
    const core::Entry entry{
        seq,   bench.now,         {bench.origin, ++bench.number}, core::workspace_first,
        actor, std::move(command)};
    encode(entry, records[seq]);
    core::Outcome outcome = bench.apply(entry);
    outbox_sender.add(bench.machine, bench.effects);
    return outcome;
  }
  // Does what is owed; what was sent last.
  core::Send run() {
    const auto fetch = [this](base::Seq seq) -> std::expected<std::string_view, base::Error> {
      if (trouble) {
        return std::unexpected(base::Error{base::Code::storage_failed, "the disk is gone", {}});
      }
      const auto at = records.find(seq);
      if (at == records.end()) {
        return std::unexpected(base::Error{base::Code::not_found, "recycled", {}});
      }
      return at->second;
    };
    core::Send last;
    outbox_sender.run(bench.machine, bench.now, fetch,
                      [&](const OutboxSender::Job&, const core::Send& send) {
                        const core::Outcome outcome = apply(core::broker_name, send);
                        EXPECT_TRUE(outcome.has_value() || refusals) << outcome.error().detail;
                        const std::string& record = kept.emplace_back(records[bench.machine.seq()]);
                        last = std::get<core::Send>(
                            core::decode_entry(bench.machine.seq(), bench.now, record)->command);
                      });
    return last;
  }
};

// The answer of the first stage differs from what its owner asked in all that it can.
core::Send a_pipeline() {
  core::Send send = a_send("ana", "p1").to("bo").urgent(core::Priority::high).send;
  send.envelope.kind = core::Kind::request;
  send.envelope.thread = "release";
  send.envelope.correlation = "release-7";
  send.envelope.ttl = base::hours(2);
  send.envelope.trace_id = id_of("trace");
  send.envelope.parent_span_id = 7;
  send.envelope.body = R"({"n":1})";
  send.later_stages = {"cy"};
  return send;
}

core::Send an_answer() {
  core::Send send = a_send("bo", "r1").to("ana").answers("p1").urgent(core::Priority::low).send;
  send.envelope.status = core::Status::success;
  send.envelope.thread = "elsewhere";
  send.envelope.correlation = "other";
  send.envelope.ttl = base::hours(1);
  send.envelope.trace_id = id_of("another trace");
  send.envelope.content_type = core::ContentType::text;
  send.envelope.body = R"("done")";
  return send;
}

Desk with_agents() {
  Desk desk;
  for (const std::string_view name : {"ana", "bo", "cy"}) {
    EXPECT_TRUE(desk.apply(core::broker_name, an_agent(name)).has_value());
  }
  return desk;
}

// Who is owed much does not hold up who is owed little.
TEST(OutboxSender, ThoseWhoAreToldTakeTurns) {
  Desk desk = with_agents();
  for (const std::string_view name : {"m1", "m2", "m3", "m4"}) {
    ASSERT_TRUE(desk.apply("ana", a_send("ana", name).to("nobody").send).has_value());
  }
  ASSERT_TRUE(desk.apply("cy", a_send("cy", "m5").to("nobody").send).has_value());
  desk.run();
  std::vector<std::string> order;
  for (const std::string& record : desk.kept) {
    const auto entry = core::decode_entry(base::Seq{1}, base::Time{}, record);
    order.emplace_back(std::get<core::Send>(entry->command).envelope.receivers.front());
  }
  EXPECT_EQ(order, (std::vector<std::string>{"ana", "cy", "ana", "ana", "ana"}));
}

// FL-10
TEST(OutboxSender, AStageIsAskedAsTheOwnerAskedWithWhatTheLastOneAnswered) {
  Desk desk = with_agents();
  ASSERT_TRUE(desk.apply("ana", a_pipeline()).has_value());
  ASSERT_TRUE(desk.apply("bo", an_answer()).has_value());
  const core::Envelope e = desk.run().envelope;
  EXPECT_EQ(e.receivers, (std::vector<std::string_view>{"cy"}));
  EXPECT_EQ(e.sender, "ana");
  EXPECT_EQ(e.sender_kind, core::PrincipalKind::agent);
  EXPECT_EQ(e.on_behalf_of, (std::vector<std::string_view>{"ana", "bo"}));
  EXPECT_EQ(e.kind, core::Kind::request);
  EXPECT_EQ(e.thread, "release");
  EXPECT_EQ(e.correlation, "release-7");
  EXPECT_EQ(e.priority, core::Priority::high);
  EXPECT_EQ(e.ttl, base::hours(2));
  EXPECT_EQ(e.trace_id, id_of("trace"));
  EXPECT_EQ(e.parent_span_id, base::message_span(a_pipeline().envelope.id, "ana"));
  EXPECT_EQ(e.in_reply_to, id_of("r1"));
  EXPECT_EQ(e.content_type, core::ContentType::text);
  EXPECT_EQ(e.body, R"("done")");
}

const core::Pipeline& pipeline_in(const Desk& desk) {
  return desk.bench.machine.find(core::workspace_first)
      ->tables()
      .pending.pipelines()
      .begin()
      ->second;
}

// FL-10: a stage is not asked to go on with nothing: the pipeline ends, and its owner hears why.
TEST(OutboxSender, APipelineWhoseAnswerIsGoneEnds) {
  Desk desk = with_agents();
  ASSERT_TRUE(desk.apply("ana", a_pipeline()).has_value());
  ASSERT_TRUE(desk.apply("bo", an_answer()).has_value());
  desk.records.clear();
  desk.refusals = true;
  desk.run();
  EXPECT_EQ(pipeline_in(desk).state, core::PipelineState::failed);
  EXPECT_EQ(pipeline_in(desk).error,
            R"(stage 2, "cy": what the stage before it answered can no longer be read)");
  desk.refusals = false;
  EXPECT_EQ(desk.run().envelope.receivers, (std::vector<std::string_view>{"ana"}));
}

// FL-10: a disk that cannot be read now is asked again, not for ever.
TEST(OutboxSender, AStageWaitsForWhatCannotBeReadNow) {
  Desk desk = with_agents();
  ASSERT_TRUE(desk.apply("ana", a_pipeline()).has_value());
  ASSERT_TRUE(desk.apply("bo", an_answer()).has_value());
  desk.trouble = true;
  desk.run();
  EXPECT_EQ(pipeline_in(desk).state, core::PipelineState::running);
  desk.bench.now = desk.bench.now + base::seconds(1);
  desk.trouble = false;
  EXPECT_EQ(desk.run().envelope.body, R"("done")");

  Desk broken = with_agents();
  ASSERT_TRUE(broken.apply("ana", a_pipeline()).has_value());
  ASSERT_TRUE(broken.apply("bo", an_answer()).has_value());
  broken.trouble = true;
  broken.refusals = true;
  for (int tries = 0; tries <= 30; ++tries) {
    broken.run();
    broken.bench.now = broken.bench.now + base::seconds(1);
  }
  EXPECT_EQ(pipeline_in(broken).state, core::PipelineState::failed);
}

// FL-22
TEST(OutboxSender, ANoticeJoinsTheConversationOfWhatItIsAbout) {
  Desk desk = with_agents();
  core::Send lost = a_send("ana", "m1").to("nobody").send;
  lost.envelope.thread = "release";
  lost.envelope.correlation = "release-7";
  ASSERT_TRUE(desk.apply("ana", lost).has_value());
  const core::Envelope e = desk.run().envelope;
  EXPECT_EQ(e.sender, core::broker_sender);
  EXPECT_EQ(e.receivers, (std::vector<std::string_view>{"ana"}));
  EXPECT_EQ(e.in_reply_to, id_of("m1"));
  EXPECT_EQ(e.thread, "release");
  EXPECT_EQ(e.correlation, "release-7");
}

// Thousands may be owed at once, about messages of a megabyte each.
// SP-05: the answer to a task that nobody answered is the broker's, in the worker's name.
TEST(OutboxSender, TheFailureOfATaskIsAnAnswerOfTheBrokersInTheWorkersName) {
  Desk desk;
  core::Register oz = an_agent("oz", core::Dialect::superprompt);
  oz.role = "orchestrator";
  desk.apply(core::broker_name, oz);
  desk.apply(core::broker_name, an_agent("wil", core::Dialect::superprompt));
  desk.apply(core::broker_name, core::SetRules{{{"superprompt.retries_max", "0"}}});
  core::Send task = a_send("oz", "d1").to("wil").send;
  task.envelope.kind = core::Kind::request;
  task.envelope.dialect = core::Dialect::superprompt;
  task.envelope.task = "d1";
  task.envelope.thread = "triage";
  ASSERT_TRUE(desk.apply("oz", task));
  desk.bench.now = desk.bench.now + base::minutes(5);
  desk.apply(core::broker_name, core::Tick{});
  desk.run();
  size_t found = 0;
  for (const std::string& record : desk.kept) {
    const auto entry = core::decode_entry({}, desk.bench.now, record);
    const core::Envelope& e = std::get<core::Send>(entry->command).envelope;
    if (e.action != core::outbox_kind_name(core::OutboxKind::task_failed)) {
      continue;
    }
    ++found;
    EXPECT_EQ(e.sender, core::broker_sender);
    EXPECT_EQ(e.on_behalf_of, std::vector<std::string_view>{"wil"});
    EXPECT_EQ(e.receivers, std::vector<std::string_view>{"oz"});
    EXPECT_EQ(e.kind, core::Kind::response);
    EXPECT_EQ(e.status, core::Status::error);
    EXPECT_TRUE(e.is_recoverable);
    EXPECT_EQ(e.in_reply_to, id_of("d1"));
    EXPECT_EQ(e.task, "d1");
    EXPECT_EQ(e.thread, "triage");
    EXPECT_EQ(e.via, core::Via::broker);
  }
  EXPECT_EQ(found, 1u);
}

TEST(OutboxSender, ARunIsBoundedByNumberAndByBytes) {
  const auto sent_by_one_run = [](size_t body_bytes) {
    Desk desk = with_agents();
    const std::string body = '"' + std::string(body_bytes, 'x') + '"';
    for (size_t n = 0; n < OutboxSender::per_run_max + 1; ++n) {
      core::Send lost = a_send("ana", "m" + std::to_string(n)).to("nobody").send;
      lost.envelope.body = body;
      EXPECT_TRUE(desk.apply("ana", lost).has_value());
    }
    const std::vector<base::Seq> fetched = desk.outbox_sender.originals(desk.bench.machine);
    desk.run();
    EXPECT_LE(fetched.size(), desk.kept.size()) << "no more is read than a run writes";
    return desk.kept.size();
  };
  EXPECT_EQ(sent_by_one_run(10), OutboxSender::per_run_max);
  EXPECT_EQ(sent_by_one_run(OutboxSender::bytes_per_run_max / 2), 2u);
}

TEST(OutboxSender, WhatARunFetchesIsKnownBefore) {
  Desk desk = with_agents();
  ASSERT_TRUE(desk.apply("ana", a_send("ana", "m1").to("nobody").send).has_value());
  const base::Seq lost = desk.bench.machine.seq();
  ASSERT_TRUE(desk.apply("ana", a_pipeline()).has_value());
  const base::Seq first = desk.bench.machine.seq();
  ASSERT_TRUE(desk.apply("bo", an_answer()).has_value());
  const base::Seq answer = desk.bench.machine.seq();
  EXPECT_EQ(desk.outbox_sender.originals(desk.bench.machine),
            (std::vector<base::Seq>{lost, answer, first}));
}

// FL-09
TEST(OutboxSender, WhatIsPutOffKeepsItsPlace) {
  Desk desk = with_agents();
  for (int n = 0; n < 4; ++n) {
    ASSERT_TRUE(
        desk.apply("ana", a_send("ana", "m" + std::to_string(n)).to("nobody").send).has_value());
  }
  const auto fetch = [&](base::Seq seq) -> std::expected<std::string_view, base::Error> {
    return desk.records.at(seq);
  };
  std::vector<uint64_t> tried;
  const auto refuse = [&](const OutboxSender::Job& job, const core::Send&) {
    tried.push_back(job.outbox_item);
    if (tried.size() <= 2) {
      desk.outbox_sender.put_off(job, desk.bench.now);
    }
  };
  for (int n = 0; n < 3; ++n) {
    desk.outbox_sender.run(desk.bench.machine, desk.bench.now, fetch, refuse);
    desk.bench.now = desk.bench.now + base::seconds(1);
  }
  EXPECT_EQ(tried, (std::vector<uint64_t>{1, 1, 1, 2, 3, 4}));
}

}  // namespace
}  // namespace parley::node
