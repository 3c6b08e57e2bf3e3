// SPDX-License-Identifier: Apache-2.0
#include "view/history.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <string>

#include "view/reader.h"
#include "view/world_test.h"

namespace parley::view {
namespace {

using core::State;
using core::workspace_first;

using testing::a_send;
using testing::an_agent;
using testing::Folder;
using testing::id_of;
using testing::target;
using testing::World;

constexpr Reader::Viewer admin{workspace_first, std::nullopt};

Reader reader_of(const World& world) {
  auto reader = Reader::open(world.history_path());
  EXPECT_TRUE(reader) << reader.error().detail;
  return std::move(*reader);
}

std::vector<Seq> seqs_of(const std::expected<Reader::Page, Error>& found) {
  EXPECT_TRUE(found);
  std::vector<Seq> seqs;
  for (const StoredMessage& message : found->messages) {
    seqs.push_back(message.seq);
  }
  return seqs;
}

Reader::Viewer as(std::string_view name) { return {workspace_first, name}; }

core::Send in_thread(core::Command command, std::string_view thread) {
  core::Send send = std::get<core::Send>(command);
  send.envelope.thread = thread;
  return send;
}

void add_agents(World& world) {
  for (const char* name : {"ana", "bo", "cy"}) {
    ASSERT_TRUE(world.ask("", an_agent(name)));
  }
}

TEST(History, MessageIsThereWholeWithItsDelivery) {
  World world;
  Folder folder(world);
  add_agents(world);
  const auto sent = world.ask("ana", a_send("ana", "m1").to("bo").body("{\"hello\":1}"));
  ASSERT_TRUE(sent);
  folder.fold();
  EXPECT_EQ(folder.history->position(), world.last());
  Reader reader = reader_of(world);
  const auto found = reader.find(as("bo"), id_of("m1"));
  ASSERT_TRUE(found && *found);
  EXPECT_EQ((*found)->seq, sent->message);
  const auto entry = (*found)->entry();
  ASSERT_TRUE(entry);
  EXPECT_EQ(std::get<core::Send>(entry->command).envelope.body, "{\"hello\":1}");
  EXPECT_EQ(reader.deliveries(admin, sent->message).value(),
            (std::vector<StoredDelivery>{{"bo", State::queued, world.clock.now(), 0, ""}}));
  ASSERT_TRUE(world.ask("bo", core::Take{}));
  const Time taken = world.clock.now();
  world.clock.advance(base::seconds(1));
  ASSERT_TRUE(world.ask("bo", core::Ack{target("m1"), {}}));
  folder.fold();
  EXPECT_EQ(reader.deliveries(admin, sent->message).value(),
            (std::vector<StoredDelivery>{{"bo", State::acked, world.clock.now(), 1, "", taken}}));
  EXPECT_EQ(reader.position().value(), world.last());
}

TEST(History, OnlySenderAndReceiversAndAdminFindAMessage) {
  World world;
  Folder folder(world);
  add_agents(world);
  const Seq seq = world.ask("ana", a_send("ana", "m1").to("bo"))->message;
  folder.fold();
  Reader reader = reader_of(world);
  for (const auto& viewer : {as("ana"), as("bo"), admin}) {
    EXPECT_TRUE(reader.find(viewer, id_of("m1"))->has_value());
    EXPECT_TRUE(reader.find(viewer, seq)->has_value());
  }
  for (const auto& viewer :
       {as("cy"), as("nobody"), Reader::Viewer{core::WorkspaceId{1}, std::nullopt}}) {
    EXPECT_FALSE(reader.find(viewer, id_of("m1"))->has_value());
    EXPECT_FALSE(reader.find(viewer, seq)->has_value());
  }
  EXPECT_FALSE(reader.find(admin, id_of("m2"))->has_value());
}

// A name that is registered anew is another agent.
TEST(History, ANameFindsNothingFromBeforeItsRegistration) {
  World world;
  Folder folder(world);
  add_agents(world);
  const auto first = world.ask("ana", in_thread(a_send("ana", "m1").to("bo"), "talk"));
  const auto second = world.ask("bo", in_thread(a_send("bo", "m2").to("ana"), "talk"));
  ASSERT_TRUE(first && second);
  folder.fold();
  Reader reader = reader_of(world);
  const Time last = reader.find(admin, second->message).value()->time;
  const Reader::Viewer anew{workspace_first, "bo", last + base::milliseconds(1)};
  for (const Seq seq : {first->message, second->message}) {
    EXPECT_TRUE(reader.find(as("bo"), seq).value().has_value());
    EXPECT_FALSE(reader.find(anew, seq).value().has_value());
    EXPECT_TRUE(reader.receivers(as("bo"), seq, 9)->count > 0);
  }
  EXPECT_TRUE(reader.search(anew, {})->messages.empty());
  EXPECT_TRUE(reader.search(anew, {.thread = "talk"})->messages.empty());
  EXPECT_TRUE(reader.search(anew, {.sent_only = true})->messages.empty());
  EXPECT_FALSE(reader.thread(anew, "talk").value().has_value());
  EXPECT_EQ(reader.thread(as("bo"), "talk").value()->messages, 2u);
}

// What a former agent of the name wrote to itself may be the next one's mail, and is not its word.
TEST(History, WhatAFormerAgentSentIsNotFoundAsSentByTheNext) {
  World world;
  Folder folder(world);
  add_agents(world);
  const auto old = world.ask("bo", a_send("bo", "m1").to("bo"));
  world.wait(base::seconds(1));
  const Time registered = world.clock.now();
  const auto sent = world.ask("bo", a_send("bo", "m2").to("ana"));
  ASSERT_TRUE(old && sent && world.ask("bo", core::Read{target("m1"), {}}));
  folder.fold();
  Reader reader = reader_of(world);
  const Reader::Viewer anew{workspace_first, "bo", registered};
  EXPECT_EQ(seqs_of(reader.search(anew, {})), (std::vector{sent->message, old->message}));
  EXPECT_EQ(seqs_of(reader.search(anew, {.sent_only = true})), std::vector{sent->message});
  EXPECT_EQ(seqs_of(reader.search(as("bo"), {.sent_only = true})),
            (std::vector{sent->message, old->message}));
}

TEST(History, RefusedAndRepeatedSendsLeaveNoRow) {
  World world;
  Folder folder(world);
  add_agents(world);
  EXPECT_FALSE(world.ask("bo", a_send("ana", "m1").to("bo")));
  const Seq first = world.ask("ana", a_send("ana", "m2").to("bo"))->message;
  EXPECT_TRUE(world.ask("ana", a_send("ana", "m2").to("bo"))->duplicate);
  folder.fold();
  Reader reader = reader_of(world);
  EXPECT_FALSE(reader.find(admin, id_of("m1"))->has_value());
  EXPECT_EQ(seqs_of(reader.search(as("ana"), {.sent_only = true})), std::vector{first});
}

TEST(History, PagesByThreadAndAgentAndTime) {
  World world;
  Folder folder(world);
  add_agents(world);
  std::vector<Seq> seqs;
  std::vector<Time> times;
  for (int n = 0; n < 10; ++n) {
    world.clock.advance(base::seconds(1));
    times.push_back(world.clock.now());
    const std::string name = "m" + std::to_string(n);
    seqs.push_back(
        world.ask("ana", in_thread(a_send("ana", name).to("bo"), n % 2 == 0 ? "even" : ""))
            ->message);
  }
  folder.fold();
  Reader reader = reader_of(world);
  EXPECT_EQ(seqs_of(reader.search(as("bo"), {.thread = "even", .limit = 2})),
            (std::vector{seqs[8], seqs[6]}));
  EXPECT_EQ(seqs_of(reader.search(as("bo"), {.thread = "even", .before = seqs[6]})),
            (std::vector{seqs[4], seqs[2], seqs[0]}));
  EXPECT_TRUE(seqs_of(reader.search(as("cy"), {.thread = "even"})).empty());
  EXPECT_TRUE(seqs_of(reader.search(as("nobody"), {.thread = "even"})).empty());
  EXPECT_EQ(seqs_of(reader.search(admin, {.thread = "even", .from = times[5]})),
            (std::vector{seqs[8], seqs[6]}));
  // Each who took part finds the same, and so does an admin who asks for one of them.
  for (const auto& [viewer, agent] : {std::pair{as("ana"), ""}, {as("ana"), "bo"},
                                      {as("bo"), ""}, {as("bo"), "ana"}, {admin, "bo"},
                                      {admin, "ana"}, {admin, ""}}) {
    Reader::Search search{.agent = agent, .limit = 3};
    const auto page = reader.search(viewer, search);
    EXPECT_EQ(seqs_of(page), (std::vector{seqs[9], seqs[8], seqs[7]}));
    EXPECT_EQ(page->next, seqs[7]);
    search.before = page->next;
    EXPECT_EQ(seqs_of(reader.search(viewer, search)), (std::vector{seqs[6], seqs[5], seqs[4]}));
    search = {.agent = agent, .from = times[2], .to = times[5]};
    const auto last = reader.search(viewer, search);
    EXPECT_EQ(seqs_of(last), (std::vector{seqs[4], seqs[3], seqs[2]}));
    EXPECT_EQ(last->next, Seq{});
    search.from = times[9] + base::seconds(1);
    search.to = base::time_max;
    EXPECT_TRUE(seqs_of(reader.search(viewer, search)).empty());
  }
  EXPECT_TRUE(seqs_of(reader.search(as("bo"), {.sent_only = true})).empty());
  EXPECT_TRUE(seqs_of(reader.search(as("ana"), {.agent = "cy"})).empty());
  EXPECT_TRUE(
      seqs_of(reader.search({core::WorkspaceId{1}, std::nullopt}, {.limit = 3})).empty());
}

// Neither what is found nor whether there is more says who subscribes.
TEST(History, ASearchThatHidesSubscribersFindsWhatIsOnATopicByItsSender) {
  World world;
  Folder folder(world);
  add_agents(world);
  world.ask("bo", core::Subscribe{.topic = "build.done"});
  const Seq named = world.ask("ana", a_send("ana", "m1").to("bo"))->message;
  const Seq on_topic = world.ask("ana", a_send("ana", "m2").to("build.done"))->message;
  const Seq prefixed = world.ask("ana", a_send("ana", "m3").to("topic:build.done"))->message;
  folder.fold();
  Reader reader = reader_of(world);
  EXPECT_EQ(seqs_of(reader.search(as("ana"), {.agent = "bo"})),
            (std::vector{prefixed, on_topic, named}));
  Reader::Search search{.agent = "bo", .hides_subscribers = true, .limit = 1};
  const auto first = reader.search(as("ana"), search);
  EXPECT_EQ(seqs_of(first), std::vector{named});
  search.before = named;
  EXPECT_EQ(reader.search(as("ana"), search)->next, Seq{});
  // Who sent it may be asked for; and one's own mail is no secret.
  EXPECT_EQ(seqs_of(reader.search(as("bo"), {.agent = "ana", .hides_subscribers = true})),
            (std::vector{prefixed, on_topic, named}));
  EXPECT_EQ(seqs_of(reader.search(as("bo"), {.agent = "bo", .hides_subscribers = true})),
            (std::vector{prefixed, on_topic, named}));
}

TEST(History, ASearchGivesUpThePageNotTheSearchWhenItLookedAtTooMany) {
  World world;
  Folder folder(world);
  add_agents(world);
  world.ask("", core::SetRules{{{"queue_max", "1000000"},
                                {"flow.rate.agent_out_per_min", "0"},
                                {"flow.rate.agent_in_per_min", "0"},
                                {"flow.rate.pair_per_min", "0"}}});
  const Seq wanted = world.ask("ana", a_send("ana", "wanted").to("cy"))->message;
  for (size_t n = 0; n < Reader::scan_max; ++n) {
    world.ask("ana", a_send("ana", "m" + std::to_string(n)).to("bo"));
  }
  folder.fold();
  Reader reader = reader_of(world);
  const auto first = reader.search(as("ana"), {.agent = "cy"});
  EXPECT_TRUE(seqs_of(first).empty());
  ASSERT_NE(first->next, Seq{});
  const auto second = reader.search(as("ana"), {.agent = "cy", .before = first->next});
  EXPECT_EQ(seqs_of(second), std::vector{wanted});
  EXPECT_EQ(second->next, Seq{});
}

// Whoever knows a thread's name, or a trace's id, can write very much under it.
TEST(History, WhatOneTakesPartInIsFoundBehindAllThatOthersWroteThere) {
  World world;
  Folder folder(world);
  add_agents(world);
  ASSERT_TRUE(world.ask("", an_agent("dan")));
  world.ask("", core::SetRules{{{"queue_max", "1000000"},
                                {"thread_messages_max", "1000000"},
                                {"flow.rate.agent_out_per_min", "0"},
                                {"flow.rate.agent_in_per_min", "0"},
                                {"flow.rate.pair_per_min", "0"}}});
  const Seq asked = world.ask("ana", in_thread(a_send("ana", "m1").to("bo"), "t"))->message;
  core::Send gone_on = in_thread(a_send("ana", "m2").to("bo"), "t");
  gone_on.envelope.trace_id = id_of("m1");
  for (size_t n = 0; n <= Reader::scan_max; ++n) {
    const std::string name = "f" + std::to_string(n);
    core::Send send = in_thread(a_send("cy", name).to("dan"), "t");
    send.envelope.trace_id = id_of("m1");
    ASSERT_TRUE(world.ask("cy", send));
  }
  const Seq later = world.ask("ana", gone_on)->message;
  folder.fold();
  Reader reader = reader_of(world);
  EXPECT_EQ(seqs_of(reader.search(as("bo"), {.thread = "t", .limit = 10})),
            (std::vector{later, asked}));
  EXPECT_EQ(seqs_of(reader.search(as("bo"), {.thread = "t", .before = later, .limit = 10})),
            std::vector{asked});
  const auto thread = reader.thread(as("bo"), "t");
  ASSERT_TRUE(thread && *thread);
  EXPECT_EQ((*thread)->messages, 1u);  // of the newest, which are looked at
  const auto traced = reader.of_trace(as("bo"), id_of("m1"), 10);
  ASSERT_TRUE(traced);
  EXPECT_EQ(traced->size(), 2u);
}

TEST(History, CountsReceiversAndListsThemWhenTheyAreFew) {
  World world;
  Folder folder(world);
  add_agents(world);
  const Seq seq = world.ask("ana", a_send("ana", "m1").to("bo").to("cy"))->message;
  ASSERT_TRUE(world.ask("bo", core::Take{}));
  ASSERT_TRUE(world.ask("bo", core::Ack{target("m1"), {}}));
  folder.fold();
  Reader reader = reader_of(world);
  const auto few = reader.receivers(admin, seq, 2);
  ASSERT_TRUE(few);
  EXPECT_EQ(few->count, 2u);
  EXPECT_EQ(few->open, 1u);
  ASSERT_EQ(few->listed.size(), 2u);
  EXPECT_EQ(few->listed[0].receiver, "bo");
  EXPECT_TRUE(reader.receivers(admin, seq, 1)->listed.empty());
  EXPECT_EQ(reader.receivers(admin, Seq{999}, 1)->count, 0u);
  // Whoever sent or got it finds it, however many they are; nobody else does.
  for (const std::string_view party : {"ana", "bo", "cy"}) {
    EXPECT_TRUE(*reader.find(as(party), seq)) << party;
  }
  for (const std::string_view other : {"di", "nobody"}) {
    EXPECT_FALSE(*reader.find(as(other), seq)) << other;
  }
  EXPECT_FALSE(*reader.find(as("ana"), Seq{999}));
}

TEST(History, DeadLettersAsTheyCameAndWereResolved) {
  World world;
  Folder folder(world);
  add_agents(world);
  const Seq lost = world.ask("ana", a_send("ana", "m1").to("nobody"))->message;
  const Seq refused = world.ask("ana", a_send("ana", "m2").to("bo"))->message;
  ASSERT_TRUE(world.ask("bo", core::Take{}));
  ASSERT_TRUE(world.ask("bo", core::Reject{target("m2"), "no such task"}));
  folder.fold();
  Reader reader = reader_of(world);
  auto letters = reader.dead_letters(refused).value();
  ASSERT_EQ(letters.size(), 1u);
  EXPECT_EQ(letters[0].reason, core::Reason::rejected);
  EXPECT_EQ(letters[0].last_error, "no such task");
  EXPECT_EQ(letters[0].receiver, "bo");
  EXPECT_EQ(reader.deliveries(admin, refused)->front(),
            (StoredDelivery{"bo", State::rejected, world.clock.now(), 1, "no such task",
                            world.clock.now()}));
  EXPECT_EQ(reader.deliveries(admin, lost)->front().state, State::dead);
  EXPECT_EQ(reader.deliveries(admin, lost)->front().last_error, "no agent or topic has this name");

  ASSERT_TRUE(world.ask("", core::ResolveDeadLetter{letters[0].id, core::Resolution::retried}));
  folder.fold();
  letters = reader.dead_letters(refused).value();
  EXPECT_EQ(letters[0].resolution, core::Resolution::retried);
  EXPECT_EQ(letters[0].resolved_at, world.clock.now());
  EXPECT_EQ(reader.deliveries(admin, refused)->front(),
            (StoredDelivery{"bo", State::queued, world.clock.now(), 0, "", world.clock.now()}));
}

TEST(History, DroppedDeadLetterSaysSo) {
  World world;
  Folder folder(world);
  add_agents(world);
  const Seq first = world.ask("ana", a_send("ana", "m1").to("nobody"))->message;
  const Seq second = world.ask("ana", a_send("ana", "m2").to("no one"))->message;
  ASSERT_TRUE(world.ask("", core::SetRules{{{"dead_letters_max", "1"}}}));
  folder.fold();
  Reader reader = reader_of(world);
  EXPECT_TRUE(reader.dead_letters(first)->front().dropped);
  EXPECT_FALSE(reader.dead_letters(second)->front().dropped);
}

TEST(History, MessageThatTheEngineForgetsAtOnceIsStillTold) {
  World world;
  Folder folder(world);
  add_agents(world);
  ASSERT_TRUE(world.ask("", core::SetRules{{{"settled_max", "0"}}}));
  const Seq seq = world.ask("ana", a_send("ana", "m1").to("bo"))->message;
  ASSERT_TRUE(world.ask("bo", core::Take{}));
  ASSERT_TRUE(world.ask("bo", core::Ack{target("m1"), {}}));
  ASSERT_EQ(world.machine->find(workspace_first)->tables().messages.size(), 0u);
  folder.fold();
  Reader reader = reader_of(world);
  const Time now = world.clock.now();
  EXPECT_EQ(reader.deliveries(admin, seq).value(),
            (std::vector<StoredDelivery>{{"bo", State::acked, now, 1, "", now}}));
}

// A random conversation; every part is folded, some starts anew in between.
void converse(World& world, std::mt19937& random, size_t steps,
              const std::function<void()>& between) {
  const char* names[] = {"ana", "bo", "cy"};
  const auto pick = [&](size_t n) { return random() % n; };
  size_t sent = 0;
  for (size_t n = 0; n < steps; ++n) {
    const std::string who = names[pick(3)];
    const std::string name = "m" + std::to_string(sent == 0 ? 0 : pick(sent));
    switch (pick(8)) {
      case 0:
      case 1:
      case 2: {
        const std::string fresh = "m" + std::to_string(sent++);
        const std::string to = pick(6) == 0 ? "*" : pick(9) == 0 ? "nobody" : names[pick(3)];
        world.ask(who, a_send(who, fresh).to(to).body("text"));
        break;
      }
      case 3:
        world.ask(who, core::Take{2});
        break;
      case 4:
        world.ask(who, core::Ack{target(name), {}});
        break;
      case 5:
        world.ask(who, core::Nack{target(name), {}, "later"});
        break;
      case 6:
        if (pick(2) == 0) {
          world.ask(who, core::Reject{target(name), "no"});
        } else {
          world.ask(who, core::Read{target(name)});
        }
        break;
      case 7:
        if (pick(3) == 0) {
          world.wait(base::minutes(10));
        } else {
          world.ask("", core::ResolveDeadLetter{pick(5), core::Resolution::retried});
        }
        break;
    }
    between();
  }
}

using Rows = std::map<Seq, std::pair<std::string, std::vector<StoredDelivery>>>;

Rows rows_of(const World& world) {
  Reader reader = reader_of(world);
  Rows rows;
  for (Seq seq{1}; seq <= world.last(); seq = seq.next()) {
    if (auto found = reader.find(admin, seq); found && *found) {
      rows[seq] = {(*found)->record, reader.deliveries(admin, seq).value()};
      EXPECT_EQ(reader.dead_letters(seq).has_value(), true);
    }
  }
  return rows;
}

TEST(History, AnyPartsAndRestartsGiveTheSameRowsAndAgreeWithTheMachine) {
  for (uint32_t seed = 1; seed <= 8; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    World world;
    Rows in_parts;
    {
      Folder folder(world);
      add_agents(world);
      converse(world, random, 250, [&] {
        if (random() % 5 == 0) {
          folder.fold();
        }
        if (random() % 40 == 0) {  // a crash: what was not folded in is told again
          folder.open();
          world.again();
        }
      });
      folder.fold();
      in_parts = rows_of(world);
    }
    // Final states are as the machine has them.
    const core::Messages& messages = world.machine->find(workspace_first)->tables().messages;
    const core::Agents& agents = world.machine->find(workspace_first)->tables().agents;
    messages.each([&](core::MessageRef, const core::Message& message) {
      ASSERT_TRUE(in_parts.contains(message.seq));
      for (const StoredDelivery& row : in_parts[message.seq].second) {
        const core::Delivery& truth = messages.delivery(
            messages.delivery_to(messages.find(message.seq), agents.find(row.receiver)));
        EXPECT_EQ(core::is_final(truth.state), core::is_final(row.state));
        if (core::is_final(truth.state)) {
          EXPECT_EQ(truth.state, row.state);
          EXPECT_EQ(truth.changed, row.time);
          EXPECT_EQ(truth.attempts, row.attempts);
        }
      }
    });
    std::filesystem::remove(world.history_path());
    std::filesystem::remove(world.history_path() + "-wal");
    std::filesystem::remove(world.history_path() + "-shm");
    Folder folder(world);
    world.again();
    folder.fold();
    EXPECT_EQ(rows_of(world), in_parts);
  }
}

TEST(History, PartThatCannotBeReadLeavesNothing) {
  World world;
  Folder folder(world);
  add_agents(world);
  world.ask("ana", a_send("ana", "m1").to("bo"));
  const auto done =
      folder.history->fold(folder.facts, world.last(), [](Seq, Seq, const VisitRecord&) {
        return std::expected<void, Error>(std::unexpected(Error{base::Code::not_found, "x", {}}));
      });
  ASSERT_FALSE(done);
  EXPECT_EQ(folder.history->position(), Seq{});
  Reader reader = reader_of(world);
  EXPECT_EQ(reader.position().value(), Seq{});
  EXPECT_FALSE(reader.find(admin, id_of("m1"))->has_value());
  folder.fold();
  EXPECT_TRUE(reader.find(admin, id_of("m1"))->has_value());
}

TEST(History, DamagedFileIsSetAsideAndMadeAnewFromTheJournal) {
  World world;
  {
    Folder folder(world);
    add_agents(world);
    world.ask("ana", a_send("ana", "m1").to("bo"));
    folder.fold();
    ASSERT_TRUE(folder.history->make_durable().value());
  }
  std::ofstream(world.history_path()) << std::string(8'192, 'x');
  Folder folder(world);
  EXPECT_NE(folder.history->report().set_aside.find(".aside-1"), std::string::npos);
  EXPECT_TRUE(std::filesystem::exists(world.history_path() + ".aside-1"));
  EXPECT_EQ(folder.history->position(), Seq{});
  EXPECT_EQ(folder.history->report().missing_from, Seq{});
  world.again();
  folder.fold();
  Reader reader = reader_of(world);
  EXPECT_TRUE(reader.find(admin, id_of("m1"))->has_value());
}

TEST(History, DamageFoundLaterSetsTheFileAsideAtTheNextOpen) {
  World world;
  Folder folder(world);
  add_agents(world);
  for (int n = 0; n < 50; ++n) {
    world.ask("ana", a_send("ana", "m" + std::to_string(n)).to("bo"));
  }
  folder.fold();
  ASSERT_TRUE(folder.history->make_durable().value());
  {  // all pages but the first two
    std::fstream file(world.history_path(), std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(8'192);
    file << std::string(std::filesystem::file_size(world.history_path()) - 8'192, 'x');
  }
  folder.open();  // the position may still be read
  if (folder.history->report().set_aside.empty()) {
    world.ask("ana", a_send("ana", "more").to("bo"));
    ASSERT_FALSE(folder.try_fold());
    EXPECT_TRUE(folder.history->is_damaged());
    folder.open();
  }
  EXPECT_FALSE(folder.history->report().set_aside.empty());
}

TEST(History, AnotherVersionIsSetAside) {
  World world;
  { const Folder folder(world); }
  {
    auto database = lib::Database::open(world.history_path(), lib::Database::Mode::read_write);
    ASSERT_TRUE(database->run("PRAGMA user_version=99"));
  }
  const Folder folder(world);
  EXPECT_NE(folder.history->report().set_aside.find("version 99"), std::string::npos);
}

TEST(History, LostViewBeginsAtTheSnapshotAndSaysWhatIsMissing) {
  World world;
  Folder folder(world);
  folder.open(Seq{0});
  add_agents(world);
  folder.fold();
  folder.open(Seq{2});
  EXPECT_EQ(folder.history->report().missing_from, Seq{});
  for (int n = 0; n < 5; ++n) {
    world.ask("ana", a_send("ana", "m" + std::to_string(n)).to("bo"));
  }
  folder.open(Seq{6});
  EXPECT_EQ(folder.history->report().missing_from, Seq{4});
  EXPECT_EQ(folder.history->report().missing_upto, Seq{6});
  EXPECT_EQ(folder.history->position(), Seq{6});
}

TEST(History, WhatTheJournalLostIsRemoved) {
  World world;
  Folder folder(world);
  add_agents(world);
  world.ask("ana", a_send("ana", "kept").to("bo"));
  const Seq kept = world.last();
  world.ask("ana", a_send("ana", "lost").to("bo"));
  folder.fold();
  auto opened = History::open({world.history_path(), {}, kept});
  ASSERT_TRUE(opened);
  EXPECT_EQ(opened->report().removed, 1u);
  EXPECT_EQ(opened->position(), kept);
  Reader reader = reader_of(world);
  EXPECT_TRUE(reader.find(admin, id_of("kept"))->has_value());
  EXPECT_FALSE(reader.find(admin, id_of("lost"))->has_value());
}

TEST(History, OldMessagesAreForgottenInSmallSteps) {
  World world;
  Folder folder(world);
  add_agents(world);
  std::vector<Seq> seqs;
  for (int n = 0; n < 10; ++n) {
    world.clock.advance(base::seconds(1));
    seqs.push_back(world.ask("ana", a_send("ana", "m" + std::to_string(n)).to("nobody"))->message);
  }
  folder.fold();
  const Time before = world.clock.now() + base::seconds(-2);  // of the last three
  EXPECT_EQ(folder.history->forget(before, 4).value(), 4u);
  EXPECT_EQ(folder.history->forget(before, 4).value(), 3u);
  EXPECT_EQ(folder.history->forget(before, 4).value(), 0u);
  Reader reader = reader_of(world);
  EXPECT_FALSE(reader.find(admin, seqs[6])->has_value());
  EXPECT_TRUE(reader.deliveries(admin, seqs[6])->empty());
  EXPECT_TRUE(reader.dead_letters(seqs[6])->empty());
  EXPECT_TRUE(reader.find(admin, seqs[7])->has_value());
  EXPECT_EQ(reader.dead_letters(seqs[7])->size(), 1u);
  EXPECT_EQ(reader.position().value(), world.last());
}

}  // namespace
}  // namespace parley::view
