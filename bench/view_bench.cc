// SPDX-License-Identifier: Apache-2.0
// What the view costs: a push on the node's thread, and the folding on its own.
#include <benchmark/benchmark.h>

#include <cstring>
#include <deque>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "entries.h"
#include "journal/file/file.h"
#include "journal/follower.h"
#include "scratch.h"
#include "view/feed/feed.h"
#include "view/history.h"

namespace parley::bench {
namespace {

constexpr size_t body_bytes = 1'024;

base::MessageId random_id(std::mt19937_64& random) {
  const uint64_t words[2] = {random(), random()};
  base::MessageId id;
  std::memcpy(id.bytes.data(), words, sizeof words);
  return id;
}

// Messages from one agent to another, each handed out to a stream and acked: two entries each.
std::vector<std::string> conversation(size_t messages) {
  core::Machine machine;
  Feeder feeder(machine);
  std::mt19937_64 random(1);
  const std::string body(body_bytes, 'x');
  std::vector<std::string> payloads;
  const auto add = [&](std::string_view actor, core::Command command) {
    payloads.push_back(feeder.encode(actor, std::move(command), payloads.size()));
  };
  add(core::broker_name, core::Register{.name = "planner"});
  add(core::broker_name, core::Register{.name = "builder"});
  add("builder", core::OpenStream{.stream = {1, 1}, .window = 100});
  for (size_t n = 0; n < messages; ++n) {
    core::Send send = Feeder::send("planner", "builder", {}, body);
    send.envelope.id = random_id(random);
    add("planner", send);
    add("builder", core::Ack{{.seq = base::Seq{payloads.size()}, .id = {}}, {}});
  }
  return payloads;
}

core::Entry entry_of(const std::vector<std::string>& payloads, size_t at) {
  const base::Time time{1'800'000'000'000'000 + static_cast<int64_t>(at) * 10};
  return *core::decode_entry(base::Seq{at + 1}, time, payloads[at]);
}

// Applies the conversation; with a feed, each entry is pushed. The difference is the push.
void apply(benchmark::State& state) {
  const bool with_push = state.range(0) != 0;
  constexpr size_t messages = 20'000;
  const std::vector<std::string> payloads = conversation(messages);
  for (auto _ : state) {
    state.PauseTiming();
    auto machine = std::make_unique<core::Machine>();
    auto feed =
        std::make_unique<view::Feed>(view::Feed::Options{}, view::Feed::Post{}, base::Seq{});
    std::deque<view::Feed::Part> parts;
    std::vector<core::Effect> effects;
    state.ResumeTiming();
    for (size_t at = 0; at < payloads.size(); ++at) {
      const core::Entry entry = entry_of(payloads, at);
      effects.clear();
      const core::Outcome outcome = machine->apply(entry, effects);
      if (with_push) {
        feed->push(*machine, entry, outcome, effects);
      }
    }
    state.PauseTiming();
    feed.reset();
    machine.reset();
    state.ResumeTiming();
  }
  state.SetItemsProcessed(state.iterations() * static_cast<int64_t>(payloads.size()));
}
BENCHMARK(apply)
    ->Name("view/apply")
    ->ArgName("push")
    ->Arg(0)
    ->Arg(1)
    ->Unit(benchmark::kMillisecond);

// Folds a conversation of the given number of messages, in parts of the given number of entries,
// with a checkpoint for every 64 MiB. Items are messages.
void fold(benchmark::State& state) {
  const auto messages = static_cast<size_t>(state.range(0));
  const auto part_facts = static_cast<size_t>(state.range(1));
  const Scratch scratch;
  const std::vector<std::string> payloads = conversation(messages);
  base::SystemClock clock;
  auto journal = journal::FileJournal::open({.directory = scratch.path() + "/journal"}, clock);
  for (size_t at = 0; at < payloads.size(); at += 1'000) {
    const size_t end = std::min(at + 1'000, payloads.size());
    const std::vector<std::string_view> batch(payloads.begin() + static_cast<ptrdiff_t>(at),
                                              payloads.begin() + static_cast<ptrdiff_t>(end));
    if (!(*journal)->append(batch, journal::Sync::no)) {
      state.SkipWithError("cannot append");
      return;
    }
  }
  for (auto _ : state) {
    state.PauseTiming();
    std::deque<view::Feed::Part> parts;
    {
      view::Feed feed({.backlog = {.part_facts = part_facts},
                       .pacing = {.interval = std::chrono::milliseconds(0)}},
                      {}, {});
      core::Machine machine;
      std::vector<core::Effect> effects;
      for (size_t at = 0; at < payloads.size(); ++at) {
        const core::Entry entry = entry_of(payloads, at);
        effects.clear();
        feed.push(machine, entry, machine.apply(entry, effects), effects);
      }
      for (view::Feed::Part part;
           feed.take(part, view::Feed::TimePoint::min()) == view::Feed::Woken::facts;) {
        parts.push_back(std::move(part));
      }
    }
    const std::string path = scratch.path() + "/history.db";
    std::filesystem::remove(path);
    std::filesystem::remove(path + "-wal");
    std::filesystem::remove(path + "-shm");
    auto history = view::History::open({path, {}, base::Seq{payloads.size()}});
    journal::Follower follower(scratch.path() + "/journal");
    state.ResumeTiming();
    size_t bytes = 0;
    for (const view::Feed::Part& part : parts) {
      const auto done =
          history->fold(part.facts, part.upto,
                        [&](base::Seq after, base::Seq upto, const view::VisitRecord& visit) {
                          return follower.read(after, upto, [&](const journal::Record& record) {
                            visit(record.seq, record.time, record.payload);
                          });
                        });
      if (!done) {
        state.SkipWithError(done.error().detail.c_str());
        return;
      }
      bytes += part.record_bytes;
      if (bytes >= size_t{64} << 20) {
        (void)history->make_durable();
        bytes = 0;
      }
    }
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(fold)
    ->Name("view/fold")
    ->ArgNames({"messages", "part"})
    ->Args({100'000, 5'000})
    ->Args({100'000, 20'000})
    ->Args({500'000, 5'000})
    ->Args({500'000, 20'000})
    ->Unit(benchmark::kMillisecond)
    ->Iterations(1)
    ->UseRealTime();

}  // namespace
}  // namespace parley::bench
