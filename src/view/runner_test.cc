// SPDX-License-Identifier: Apache-2.0
#include "view/runner.h"

#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <deque>
#include <filesystem>
#include <mutex>
#include <string>

#include "view/reader.h"
#include "view/world_test.h"

namespace parley::view {
namespace {

using std::chrono::steady_clock;
using testing::a_send;
using testing::an_agent;
using testing::id_of;
using testing::World;

constexpr Reader::Viewer admin{core::workspace_first, std::nullopt};

// What was posted, to be run by the test's thread.
class Mailroom {
 public:
  std::function<void(std::function<void()>)> post() {
    return [this](std::function<void()> work) {
      {
        const std::lock_guard lock(mutex_);
        posted_.push_back(std::move(work));
      }
      changed_.notify_one();
    };
  }
  // Runs the next one; false when none comes for far too long.
  bool run_one() {
    std::unique_lock lock(mutex_);
    if (!changed_.wait_for(lock, std::chrono::seconds(30), [this] { return !posted_.empty(); })) {
      return false;
    }
    const std::function<void()> work = std::move(posted_.front());
    posted_.pop_front();
    lock.unlock();
    work();
    return true;
  }
  bool empty() {
    const std::lock_guard lock(mutex_);
    return posted_.empty();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> posted_;
};

// A running view of a world.
struct Running {
  World& world;
  Mailroom mailroom;
  std::unique_ptr<Runner> runner;

  explicit Running(World& w, const std::function<void(Runner::Options&)>& change = {}) : world(w) {
    Runner::Options options;
    options.path = world.history_path();
    options.directory = world.journal_path();
    options.first = world.journal->snapshot_seq();
    options.journal_last = world.journal->last();
    options.post = mailroom.post();
    if (change) {
      change(options);
    }
    auto started = Runner::start(std::move(options));
    EXPECT_TRUE(started) << started.error().detail;
    runner = std::move(*started);
    world.listener = [this](const auto&... told) { runner->feed().push(told...); };
  }
  ~Running() { world.listener = {}; }

  // Waits until the view has all that was applied.
  Feed::Reached reach(Seq seq, std::chrono::seconds patience = std::chrono::seconds(30)) {
    Feed::Reached result;
    runner->feed().wait_for(seq, steady_clock::now() + patience,
                            [&](const Feed::Reached& reached) { result = reached; });
    EXPECT_TRUE(mailroom.run_one());
    return result;
  }
};

void send(World& world, size_t count, const std::string& prefix = "m") {
  for (size_t n = 0; n < count; ++n) {
    world.ask("ana", a_send("ana", prefix + std::to_string(n)).to("bo"));
  }
}

void add_agents(World& world) {
  world.ask("", an_agent("ana"));
  world.ask("", an_agent("bo"));
}

// Rows and position agree: every message up to the position is there, and none after it.
void expect_agreement(const World& world, const std::string& path) {
  auto reader = Reader::open(path);
  ASSERT_TRUE(reader) << reader.error().detail;
  const Seq position = reader->position().value();
  const core::Messages& messages = world.machine->find(core::workspace_first)->tables().messages;
  messages.each([&](core::MessageRef, const core::Message& message) {
    EXPECT_EQ(reader->find(admin, message.seq)->has_value(), message.seq <= position);
    EXPECT_EQ(reader->deliveries(admin, message.seq)->empty(), message.seq > position);
  });
}

TEST(Runner, FoldsWhatIsPushedAndTellsWhoWaits) {
  World world;
  Running view(world);
  add_agents(world);
  send(world, 200);
  const auto reached = view.reach(world.last());
  EXPECT_TRUE(reached.there);
  EXPECT_GE(reached.position, world.last());
  EXPECT_EQ(view.runner->feed().position(), world.last());
  EXPECT_EQ(view.runner->feed().lag().entries, 0u);
  EXPECT_FALSE(view.runner->feed().trouble());
  expect_agreement(world, world.history_path());
  EXPECT_TRUE(view.reach(world.last()).there);  // at once
}

TEST(Runner, SaysHowFarItIsBehindAtTheDeadline) {
  World world;
  Running view(world);
  add_agents(world);
  view.reach(world.last());
  const auto late = view.reach(Seq{world.last().n + 10}, std::chrono::seconds(0));
  EXPECT_FALSE(late.there);
  EXPECT_EQ(late.position, world.last());
}

TEST(Runner, GoesOnAfterItWasDroppedInTheMiddle) {
  World world;
  for (int life = 0; life < 5; ++life) {
    Running view(world, [](Runner::Options& options) { options.feed.backlog.part_facts = 7; });
    EXPECT_FALSE(view.runner->report().missing_from.n);
    world.again();
    if (life == 0) {
      add_agents(world);
    }
    send(world, 100, "life" + std::to_string(life) + "-");
    if (life % 2 == 1) {
      view.reach(Seq{world.last().n - 50});
    }
    view.runner.reset();
    world.listener = {};
    expect_agreement(world, world.history_path());
  }
  Running view(world);
  world.again();
  EXPECT_TRUE(view.reach(world.last()).there);
  expect_agreement(world, world.history_path());
}

TEST(Runner, FilesCopiedInTheMiddleAreAWholeView) {
  World world;
  add_agents(world);
  Running view(world, [](Runner::Options& options) {
    options.feed.backlog.part_facts = 10;
    options.feed.pacing.interval = std::chrono::milliseconds(0);
  });
  world.again();
  for (int copy = 0; copy < 10; ++copy) {
    send(world, 60, "copy" + std::to_string(copy) + "-");
    const std::string path = world.directory.path + "/copy" + std::to_string(copy) + ".db";
    std::filesystem::copy_file(world.history_path(), path);
    std::filesystem::copy_file(world.history_path() + "-wal", path + "-wal");
    auto opened = History::open({path, {}, world.journal->last()});
    ASSERT_TRUE(opened) << opened.error().detail;
    EXPECT_TRUE(opened->report().set_aside.empty()) << opened->report().set_aside;
    expect_agreement(world, path);
  }
  EXPECT_TRUE(view.reach(world.last()).there);
}

// A snapshot that trusted the position would let the journal drop what a loss of power then takes
// from the history too.
TEST(Runner, WhatAKilledLifeLeftInTheLogIsNotDurableUntilThisOneMadeItSo) {
  World world;
  add_agents(world);
  Running killed(world);
  world.again();
  send(world, 20);
  ASSERT_TRUE(killed.reach(world.last()).there);
  const std::string path = world.directory.path + "/killed.db";
  std::filesystem::copy_file(world.history_path(), path);
  std::filesystem::copy_file(world.history_path() + "-wal", path + "-wal");
  Running next(world, [&](Runner::Options& options) {
    options.path = path;
    options.threads = false;
  });
  EXPECT_EQ(next.runner->feed().position(), world.last());
  EXPECT_EQ(next.runner->feed().durable(), Seq{});
  EXPECT_TRUE(next.runner->step());
  EXPECT_EQ(next.runner->feed().durable(), world.last());
  std::filesystem::remove(path + "-wal");
  EXPECT_EQ(History::open({path, {}, world.last()})->position(), world.last());
}

TEST(Runner, RefusesNothingUntilItIsFullAndRecovers) {
  World world;
  Running view(world, [&](Runner::Options& options) {
    options.directory += "-not-there-yet";
    options.feed.backlog.bytes_max = 1'000;
  });
  add_agents(world);
  EXPECT_FALSE(view.runner->feed().full_for(core::workspace_first, "ana"));
  send(world, 200);
  EXPECT_TRUE(view.runner->feed().full_for(core::workspace_first, "ana"));
  EXPECT_GT(view.runner->feed().lag().entries, 0u);
  const auto late = view.reach(world.last(), std::chrono::seconds(0));
  EXPECT_FALSE(late.there);
  EXPECT_GT(late.behind, 0u);
  // The records can be read from now on: it tries again by itself.
  std::filesystem::create_directory_symlink(world.journal_path(),
                                            world.journal_path() + "-not-there-yet");
  EXPECT_TRUE(view.reach(world.last()).there);
  EXPECT_FALSE(view.runner->feed().full_for(core::workspace_first, "ana"));
  expect_agreement(world, world.history_path());
}

TEST(Runner, ADamagedFileStopsTheViewAndNothingElse) {
  World world;
  Running view(world, [&](Runner::Options& options) { options.feed.backlog.bytes_max = 10'000; });
  add_agents(world);
  send(world, 20);
  view.reach(world.last());
  {
    // Behind its back, as a bad disk would: the tables no longer are what they were.
    auto database = lib::Database::open(world.history_path(), lib::Database::Mode::read_write);
    ASSERT_TRUE(database);
    ASSERT_TRUE(
        database->run("PRAGMA writable_schema=ON;"
                      "UPDATE sqlite_schema SET rootpage=999999 WHERE name='messages';"
                      "PRAGMA schema_version=99"));
  }
  const Seq before = view.runner->feed().position();
  send(world, 200, "after");
  const auto late = view.reach(world.last());
  EXPECT_FALSE(late.there);
  EXPECT_EQ(view.runner->feed().position(), before);
  EXPECT_FALSE(view.runner->feed().full_for(core::workspace_first, "ana"));
  EXPECT_EQ(view.runner->feed().durable(), Seq{UINT64_MAX});
  ASSERT_TRUE(view.runner->feed().trouble());
  EXPECT_NE(view.runner->feed().trouble()->detail.find("restart the broker"), std::string::npos);
  // The next start makes it anew.
  view.runner.reset();
  world.listener = {};
  Running next(world);
  EXPECT_FALSE(next.runner->report().set_aside.empty());
  world.again();
  EXPECT_TRUE(next.reach(world.last()).there);
  expect_agreement(world, world.history_path());
}

TEST(Runner, ForgetsWhatIsOlderThanItsRetention) {
  World world;
  {
    Running view(world);
    add_agents(world);
    send(world, 20);
    view.reach(world.last());
  }
  Running view(world, [&](Runner::Options& options) {
    options.retention = base::hours(1);
    options.now = [now = world.clock.now()] { return now + base::hours(2); };
  });
  // It looks for old messages when it starts, at the latest between two transactions.
  for (int n = 0; n < 2; ++n) {
    world.ask("", core::Tick{});
    EXPECT_TRUE(view.reach(world.last()).there);
  }
  auto reader = Reader::open(world.history_path());
  ASSERT_TRUE(reader);
  EXPECT_FALSE(reader->find(admin, id_of("m0"))->has_value());
  EXPECT_EQ(reader->position().value(), world.last());
}

TEST(Questions, AreAnsweredOnTheThreadThatAsked) {
  World world;
  Running view(world);
  add_agents(world);
  send(world, 3);
  view.reach(world.last());
  const auto asker = std::this_thread::get_id();
  std::optional<StoredMessage> found;
  view.runner->questions().ask(
      1,
      [&](Reader& reader) -> std::expected<Questions::Answer, Error> {
        EXPECT_NE(std::this_thread::get_id(), asker);
        auto message = reader.find(admin, id_of("m1"));
        return [&found, message = *message] { found = message; };
      },
      [](const Error& error) { ADD_FAILURE() << error.detail; });
  EXPECT_TRUE(view.mailroom.run_one());
  ASSERT_TRUE(found);
  EXPECT_EQ(found->seq, (Seq{world.last().n - 1}));
}

TEST(Questions, AreRefusedWhenTooManyWaitAndWhenTheyFail) {
  World world;
  Mailroom mailroom;
  std::vector<base::Code> refused;
  const auto refuse = [&](const Error& error) { refused.push_back(error.code); };
  const auto no_question = [](Reader&) -> std::expected<Questions::Answer, Error> {
    return std::unexpected(Error{base::Code::not_found, "", {}});
  };
  {
    Questions none({.path = world.history_path(), .post = mailroom.post(), .waiting_max = 0});
    none.ask(1, no_question, refuse);
    EXPECT_TRUE(mailroom.run_one());
    EXPECT_EQ(refused, std::vector{base::Code::overloaded});
  }
  Questions questions({.path = world.history_path(), .post = mailroom.post()});
  questions.ask(1, no_question, refuse);  // there is no file
  EXPECT_TRUE(mailroom.run_one());
  EXPECT_EQ(refused.back(), base::Code::storage_failed);
  Running view(world);  // now there is
  questions.ask(1, no_question, refuse);
  EXPECT_TRUE(mailroom.run_one());
  EXPECT_EQ(refused.back(), base::Code::not_found);
}

TEST(Questions, OfManyOfOneEachDelaysThoseOfAnotherByOne) {
  World world;
  Mailroom mailroom;
  Running view(world);
  Questions questions({.path = world.history_path(), .post = mailroom.post(), .thread = false});
  std::string order;
  const auto ask = [&](uint64_t caller, char name) {
    questions.ask(
        caller,
        [&order, name](Reader&) -> std::expected<Questions::Answer, Error> {
          return [&order, name] { order += name; };
        },
        [](const Error& error) { ADD_FAILURE() << error.detail; });
  };
  for (int n = 0; n < 5; ++n) {
    ask(1, 'a');
  }
  ask(2, 'b');
  while (questions.step()) {
    EXPECT_TRUE(mailroom.run_one());
  }
  EXPECT_EQ(order, "abaaaa");
}

TEST(Feed, TooManyWaitersAreToldAtOnce) {
  Mailroom mailroom;
  Feed feed({.waiters_max = 1}, mailroom.post(), Seq{5});
  size_t told = 0;
  const auto tell = [&](const Feed::Reached& reached) {
    EXPECT_FALSE(reached.there);
    ++told;
  };
  feed.wait_for(Seq{6}, Feed::TimePoint::max(), tell);
  EXPECT_TRUE(mailroom.empty());
  feed.wait_for(Seq{6}, Feed::TimePoint::max(), tell);
  EXPECT_TRUE(mailroom.run_one());
  feed.stop();
  EXPECT_TRUE(mailroom.run_one());
  EXPECT_EQ(told, 2u);
}

TEST(Feed, EntriesFoldedInAlreadyAreNotTaken) {
  World world;
  Mailroom mailroom;
  Feed feed({.pacing = {.interval = std::chrono::milliseconds(0)}}, mailroom.post(), Seq{2});
  world.listener = [&](const auto&... told) { feed.push(told...); };
  add_agents(world);
  send(world, 3);
  Feed::Part part;
  ASSERT_EQ(feed.take(part, Feed::TimePoint::min()), Feed::Woken::facts);
  EXPECT_EQ(part.entries, 3u);
  EXPECT_EQ(part.upto, Seq{5});
  EXPECT_EQ(part.facts.all().front().entry, Seq{3});
  EXPECT_EQ(feed.lag().entries, 3u);
  EXPECT_EQ(feed.take(part, Feed::TimePoint::min()), Feed::Woken::idle);
}

// Everything is a burst here, and it lasts.
Feed::Options bursting() {
  return {.pacing = {.interval = std::chrono::milliseconds(0),
                     .burst_per_second = 0,
                     .burst_max = std::chrono::hours(1),
                     .look_every = std::chrono::milliseconds(0)}};
}

TEST(Feed, ABurstIsLeftAloneUntilSomeoneWaits) {
  World world;
  Mailroom mailroom;
  Feed feed(bursting(), mailroom.post(), Seq{});
  world.listener = [&](const auto&... told) { feed.push(told...); };
  Feed::Part part;
  add_agents(world);
  send(world, 3);
  EXPECT_EQ(feed.take(part, Feed::TimePoint::min()), Feed::Woken::idle);
  feed.wait_for(Seq{5}, Feed::TimePoint::max(), [](const Feed::Reached&) {});
  ASSERT_EQ(feed.take(part, Feed::TimePoint::min()), Feed::Woken::facts);
  EXPECT_EQ(part.entries, 5u);
}

TEST(Feed, ABurstIsLeftAloneAlsoBetweenTwoParts) {
  World world;
  Mailroom mailroom;
  Feed::Options options = bursting();
  options.backlog.part_facts = 2;
  Feed feed(options, mailroom.post(), Seq{});
  world.listener = [&](const auto&... told) { feed.push(told...); };
  Feed::Part part;
  add_agents(world);
  send(world, 3);
  feed.wait_for(Seq{3}, Feed::TimePoint::max(), [](const Feed::Reached&) {});
  ASSERT_EQ(feed.take(part, Feed::TimePoint::min()), Feed::Woken::facts);
  EXPECT_EQ(part.upto, Seq{3});
  feed.committed(std::move(part));
  EXPECT_EQ(feed.take(part, Feed::TimePoint::min()), Feed::Woken::idle);
  feed.wait_for(Seq{5}, Feed::TimePoint::max(), [](const Feed::Reached&) {});
  for (const Seq upto : {Seq{4}, Seq{5}}) {
    ASSERT_EQ(feed.take(part, Feed::TimePoint::min()), Feed::Woken::facts);
    EXPECT_EQ(part.upto, upto);
  }
}

TEST(Feed, ABurstThatHalfFillsTheFeedIsTaken) {
  World world;
  Mailroom mailroom;
  Feed::Options options = bursting();
  options.backlog.bytes_max = 150;
  Feed feed(options, mailroom.post(), Seq{});
  world.listener = [&](const auto&... told) { feed.push(told...); };
  Feed::Part part;
  add_agents(world);
  send(world, 1);
  EXPECT_EQ(feed.take(part, Feed::TimePoint::min()), Feed::Woken::idle);
  send(world, 20);
  EXPECT_TRUE(feed.full_for(core::workspace_first, "ana"));
  EXPECT_EQ(feed.take(part, Feed::TimePoint::min()), Feed::Woken::facts);
}

}  // namespace
}  // namespace parley::view
