// SPDX-License-Identifier: Apache-2.0
// Over 150 lines: a node under test with its journal and what it is told.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <utility>

#include "core/machine/testing.h"
#include "journal/memory.h"
#include "node/node.h"

namespace parley::node {

using base::Code;
using core::broker_name;
using core::Command;
using core::workspace_first;
using core::testing::a_send;
using core::testing::an_agent;
using core::testing::start_time;
using core::testing::target;
using journal::Appending;
using journal::Sync;

// A journal in memory that fails, holds answers back and loses them, as it is told.
class TroubledJournal final : public journal::Journal {
 public:
  struct Append {
    size_t count;
    Sync sync;
  };

  explicit TroubledJournal(journal::MemoryLog& log) : inner_(log) {}

  std::optional<Error> append_error;
  std::optional<Error> read_error;
  bool hold = false;         // batches stay pending
  bool lose_batch = false;   // they never arrive, and no one says so
  bool lose_answer = false;  // they arrive, and no one says so
  std::vector<Append> appends;
  size_t fetches = 0;
  size_t waits = 0;
  std::function<void(std::string&)> bend_snapshot;  // before it is stored

  // What is pending is lost, because storage failed; returns what it was.
  std::vector<std::string> fail_held() {
    hold = false;
    lost_ = true;
    append_error = Error{base::Code::storage_failed, "fsync", {}};
    return std::exchange(held_, {});
  }

  // What is pending arrives.
  void let_go() {
    hold = false;
    for (const std::string& payload : held_) {
      const std::string_view view = payload;
      ASSERT_TRUE(inner_.append(std::span(&view, 1), Sync::yes).has_value());
    }
    held_.clear();
  }

  std::expected<void, Error> append(std::span<const std::string_view> payloads,
                                    Sync sync) override {
    if (append_error) {
      return std::unexpected(*append_error);
    }
    appends.push_back({payloads.size(), sync});
    lost_ = lose_batch || lose_answer;
    if (hold) {
      held_.assign(payloads.begin(), payloads.end());
      return {};
    }
    return lose_batch ? std::expected<void, Error>() : inner_.append(payloads, sync);
  }
  Appending appending() override {
    return !held_.empty() ? Appending::pending : lost_ ? Appending::lost : Appending::idle;
  }
  void wait() override {
    ++waits;
    let_go();
  }
  std::expected<void, Error> read(
      Seq after, size_t bytes_max,
      const std::function<void(const journal::Record&)>& visit) override {
    return read_error ? std::unexpected(*read_error) : inner_.read(after, bytes_max, visit);
  }
  std::expected<std::string, Error> fetch(Seq seq) override {
    ++fetches;
    return inner_.fetch(seq);
  }
  Seq last() override { return inner_.last(); }
  std::expected<void, Error> save(journal::Snapshot snapshot) override {
    if (bend_snapshot) {
      snapshot.make = [bend = bend_snapshot, make = std::move(snapshot.make)](
                          std::optional<journal::Snapshot> older, const auto& read) {
        auto made = make(std::move(older), read);
        bend(*made);
        return made;
      };
    }
    return inner_.save(std::move(snapshot));
  }
  std::optional<Error> take_save_failure() override { return inner_.take_save_failure(); }
  Seq snapshot_seq() override { return inner_.snapshot_seq(); }
  std::expected<std::optional<journal::Snapshot>, Error> load() override { return inner_.load(); }
  void trim(Seq upto, std::vector<Seq> keep) override { inner_.trim(upto, std::move(keep)); }

 private:
  journal::MemoryJournal inner_;
  std::vector<std::string> held_;
  bool lost_ = false;
};

// Writes down what it is told.
class Notes final : public Outlet {
 public:
  std::map<Ticket, core::Outcome> outcomes;
  std::vector<Ticket> order;
  std::map<Ticket, Error> refusals;
  std::vector<Seq> delivered;
  size_t entries = 0;

  void applied(const core::Entry&, const core::Outcome& outcome,
               std::span<const core::Effect> effects, std::optional<Ticket> ticket) override {
    ++entries;
    if (ticket) {
      EXPECT_TRUE(outcomes.emplace(*ticket, outcome).second) << "told twice: " << *ticket;
      order.push_back(*ticket);
    }
    for (const core::Effect& effect : effects) {
      if (const auto* deliver = std::get_if<core::Deliver>(&effect)) {
        delivered.push_back(deliver->message);
      }
    }
  }
  void refused(Ticket ticket, const Error& error) override {
    EXPECT_TRUE(refusals.emplace(ticket, error).second) << "refused twice: " << ticket;
  }
};

// One node, its journal and its outlet.
struct Bench {
  base::ManualClock clock{start_time};
  journal::MemoryLog log{clock};
  TroubledJournal journal{log};
  Notes notes;
  Node::Options options;
  std::unique_ptr<Node> node;

  Bench() {
    options.origin = 10;
    start();
  }
  void start() {
    node.reset();
    auto started = Node::start(journal, notes, options);
    ASSERT_TRUE(started.has_value()) << started.error().detail;
    node = std::move(*started);
  }
  // The next life; a batch that was pending is stored first.
  void restart() {
    ++options.origin;
    start();
  }
  Ticket submit(std::string_view actor, Command command) {
    return node->submit(workspace_first, actor, std::move(command)).value();
  }
  bool step() { return node->step(clock.now()).has_value(); }
  // Steps until there is nothing to do.
  void settle() {
    for (int n = 0; n < 100 && node->has_work(clock.now()); ++n) {
      ASSERT_TRUE(step());
    }
    ASSERT_FALSE(node->has_work(clock.now()));
  }
  core::Outcome ask(std::string_view actor, Command command) {
    const Ticket ticket = submit(actor, std::move(command));
    settle();
    return notes.outcomes.at(ticket);
  }
  void register_both() {
    ASSERT_TRUE(ask(broker_name, an_agent("ana")).has_value());
    ASSERT_TRUE(ask(broker_name, an_agent("bo")).has_value());
  }
  const core::Tables& tables() const { return node->machine().find(workspace_first)->tables(); }
};

}  // namespace parley::node
