// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/machine/testing.h"
#include "journal/file/file.h"
#include "journal/follower.h"
#include "view/history.h"

// What the tests of the view share. Part of no program.
namespace parley::view::testing {

using core::testing::a_send;
using core::testing::an_agent;
using core::testing::id_of;
using core::testing::target;

struct Directory {
  std::string path = ::testing::TempDir() + "parley-view-XXXXXX";
  Directory() { EXPECT_NE(::mkdtemp(path.data()), nullptr); }
  ~Directory() { std::filesystem::remove_all(path); }
  Directory(const Directory&) = delete;
  Directory& operator=(const Directory&) = delete;
};

// A machine over a real journal, and whoever listens to it; `again` is its next life.
struct World {
  using Listener = std::function<void(const core::Machine&, const core::Entry&,
                                      const core::Outcome&, std::span<const core::Effect>)>;

  Directory directory;
  base::ManualClock clock{core::testing::start_time};
  std::unique_ptr<journal::FileJournal> journal;
  std::unique_ptr<core::Machine> machine = std::make_unique<core::Machine>();
  Listener listener;
  uint64_t number = 0;

  World() { open(); }

  std::string journal_path() const { return directory.path + "/journal"; }
  std::string history_path() const { return directory.path + "/history.db"; }

  core::Outcome ask(std::string_view actor, core::Command command,
                    core::WorkspaceId workspace = core::workspace_first) {
    core::Entry entry;
    entry.id = {1, ++number};
    entry.workspace = workspace;
    entry.actor = actor;
    entry.command = std::move(command);
    std::string payload;
    core::encode(entry, payload);
    const std::string_view payloads[] = {payload};
    EXPECT_TRUE(journal->append(payloads, journal::Sync::no));
    return apply_new();
  }
  void wait(base::Duration d) {
    clock.advance(d);
    ask("", core::Tick{});
  }
  // Starts anew and tells the listener all that the journal has.
  void again() {
    open();
    machine = std::make_unique<core::Machine>();
    apply_new();
  }
  Seq last() const { return machine->seq(); }

 private:
  void open() {
    journal.reset();
    auto opened = journal::FileJournal::open({journal_path(), 64 << 10, false, nullptr}, clock);
    EXPECT_TRUE(opened) << opened.error().detail;
    journal = std::move(*opened);
  }
  core::Outcome apply_new() {
    core::Outcome last = core::Receipt{};
    const auto read = journal->read(machine->seq(), SIZE_MAX, [&](const journal::Record& record) {
      const auto entry = core::decode_entry(record.seq, record.time, record.payload);
      std::vector<core::Effect> effects;
      last = machine->apply(*entry, effects);
      if (listener) {
        listener(*machine, *entry, last, effects);
      }
    });
    EXPECT_TRUE(read);
    return last;
  }
};

// A history that is folded by hand, in the parts that the test says.
struct Folder {
  World& world;
  journal::Follower follower{world.journal_path()};
  std::unique_ptr<History> history;
  Facts facts;

  explicit Folder(World& w) : world(w) {
    open();
    world.listener = [this](const core::Machine& machine, const core::Entry& entry,
                            const core::Outcome& outcome, std::span<const core::Effect> effects) {
      if (entry.seq > history->position()) {
        facts.add(machine, entry, outcome, effects);
      }
    };
  }
  ~Folder() { world.listener = {}; }

  void open(Seq first = {}) {
    history.reset();
    auto opened = History::open({world.history_path(), first, world.journal->last()});
    EXPECT_TRUE(opened) << opened.error().detail;
    history = std::make_unique<History>(std::move(*opened));
    facts = Facts{};
  }
  std::expected<void, Error> try_fold() {
    return history->fold(
        facts, world.last(), [this](Seq after, Seq upto, const VisitRecord& visit) {
          return follower.read(after, upto,
                               [&](const journal::Record& r) { visit(r.seq, r.time, r.payload); });
        });
  }
  void fold() {
    const auto done = try_fold();
    EXPECT_TRUE(done) << done.error().detail;
    facts = Facts{};
  }
};

}  // namespace parley::view::testing
