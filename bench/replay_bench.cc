// SPDX-License-Identifier: Apache-2.0
// Starting a node on a journal with many waiting messages: time, and memory for them.
#include <benchmark/benchmark.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <fstream>

#include "entries.h"
#include "journal/file/file.h"
#include "node/node.h"
#include "scratch.h"

namespace parley::bench {
namespace {

class NoOutlet final : public node::Outlet {
 public:
  void applied(const core::Entry&, const core::Outcome& outcome, std::span<const core::Effect>,
               std::optional<node::Ticket>) override {
    refused_ += outcome ? 0 : 1;
  }
  void refused(node::Ticket, const base::Error&) override { ++refused_; }
  size_t refused() const { return refused_; }

 private:
  size_t refused_ = 0;
};

// Memory that is not a file's, in bytes.
double anonymous_memory() {
  std::ifstream status("/proc/self/status");
  std::string word;
  while (status >> word) {
    if (word == "RssAnon:") {
      double kib = 0;
      status >> kib;
      return kib * 1'024;
    }
  }
  return 0;
}

// Writes `count` messages of 1 KiB that wait for two receivers, one of each discipline. In a
// process of its own, so that its memory is not counted.
bool prepare(const std::string& directory, int64_t count, bool snapshot) {
  const pid_t child = ::fork();
  if (child == 0) {
    base::SystemClock clock;
    auto journal = journal::FileJournal::open({.directory = directory}, clock);
    NoOutlet outlet;
    node::Node::Options options;
    options.snapshot_bytes_min = snapshot ? size_t{256} << 20 : SIZE_MAX / 8;
    auto node = node::Node::start(**journal, outlet, options);
    (*node)->submit(core::workspace_first, core::broker_name,
                    core::SetRules{.values = {{"queue_max", "10000000"}}});
    (*node)->submit(core::workspace_first, core::broker_name, Feeder::limits("0"));
    for (const std::string_view name : {"ana", "bo", "cy"}) {
      (*node)->submit(
          core::workspace_first, core::broker_name,
          core::Register{.name = name,
                         .dialect = name == "cy" ? core::Dialect::inbox : core::Dialect::flow});
    }
    const std::string body(1'024, 'b');
    for (int64_t n = 0; n < count; ++n) {
      (*node)->submit(core::workspace_first, "ana",
                      Feeder::send("ana", n % 2 == 0 ? "bo" : "cy",
                                   base::Seq{static_cast<uint64_t>(n) + 100}, body));
      if (n % 1'024 == 0) {
        (*node)->step(clock.now());
      }
    }
    (*node)->step(clock.now());
    const auto* space = (*node)->machine().find(core::workspace_first);
    const bool good =
        outlet.refused() == 0 && space->tables().messages.size() == static_cast<size_t>(count);
    ::_exit(good ? 0 : 1);  // without a clean end, as after a crash
  }
  int status = 1;
  ::waitpid(child, &status, 0);
  return status == 0;
}

void start_with_waiting(benchmark::State& state) {
  const Scratch scratch;
  if (!prepare(scratch.path() + "/journal", state.range(0), state.range(1) != 0)) {
    state.SkipWithError("could not prepare the journal");
  }
  base::SystemClock clock;
  for (auto _ : state) {
    const double before = anonymous_memory();
    const auto start = std::chrono::steady_clock::now();
    auto journal = journal::FileJournal::open({.directory = scratch.path() + "/journal"}, clock);
    const auto opened = std::chrono::steady_clock::now();
    NoOutlet outlet;
    auto node =
        journal ? node::Node::start(**journal, outlet, {}) : std::unexpected(journal.error());
    if (!node) {
      state.SkipWithError(node.error().detail.c_str());
      break;
    }
    const double memory = anonymous_memory() - before;
    state.counters["open_s"] = std::chrono::duration<double>(opened - start).count();
    state.counters["memory_MB"] = memory / 1e6;
    state.counters["bytes_per_message"] = memory / static_cast<double>(state.range(0));
  }
}
BENCHMARK(start_with_waiting)
    ->ArgNames({"messages", "snapshot"})
    ->Args({1'000'000, 0})
    ->Args({1'000'000, 1})
    ->Iterations(1)
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace parley::bench
