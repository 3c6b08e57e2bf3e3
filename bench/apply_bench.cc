// SPDX-License-Identifier: Apache-2.0
// What the machine costs: one send and its ack, decoded and applied.
#include <benchmark/benchmark.h>

#include "entries.h"

namespace parley::bench {
namespace {

const std::string body(1'024, 'b');

// A receiver with an open stream; `state.range(0)` messages wait for another one meanwhile.
void send_and_ack(benchmark::State& state, std::string_view limit) {
  core::Machine machine;
  Feeder feeder(machine);
  feeder.limit(limit);
  feeder.apply(core::broker_name,
               core::SetRules{.values = {{"queue_max", "10000000"}, {"agents_max", "100000"}}});
  feeder.agent("ana");
  feeder.agent("bo");
  feeder.agent("cy");
  for (int64_t n = 0; n < state.range(0); ++n) {
    feeder.apply("ana", Feeder::send("ana", "cy", feeder.next(), body));
  }
  feeder.apply("bo", core::OpenStream{.stream = {1, 1}, .window = 64});
  constexpr uint64_t pairs = 1'000;
  std::vector<std::string> payloads;
  while (state.KeepRunningBatch(pairs)) {
    state.PauseTiming();  // what the sender and the edge pay
    payloads.clear();
    for (uint64_t n = 0; n < pairs; ++n) {
      const base::Seq seq{feeder.next().n + 2 * n};
      payloads.push_back(feeder.encode("ana", Feeder::send("ana", "bo", seq, body), 2 * n));
      payloads.push_back(feeder.encode("bo", core::Ack{.target = {.seq = seq}}, 2 * n + 1));
    }
    state.ResumeTiming();
    for (const std::string& payload : payloads) {
      if (!feeder.apply(payload)) {
        state.SkipWithError("refused");
      }
    }
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK_CAPTURE(send_and_ack, unlimited, "0")
    ->Arg(0)
    ->Arg(10'000)
    ->Arg(1'000'000)
    ->Unit(benchmark::kNanosecond);
// All limits on, and too far away to hold anything up.
BENCHMARK_CAPTURE(send_and_ack, limited, "60000000")->Arg(0)->Unit(benchmark::kNanosecond);

// A request and its answer among a thousand agents, each of which waits for some behind it. Those
// of collab are edges of the graph of who waits for whom, those of flow are not: the difference is
// what looking for circles costs.
void request_and_answer(benchmark::State& state, core::Dialect dialect) {
  constexpr uint64_t agents = 1'000;
  core::Machine machine;
  Feeder feeder(machine);
  feeder.limit("0");
  std::vector<std::string> names;
  for (uint64_t n = 0; n < agents; ++n) {
    names.push_back("agent" + std::to_string(n));
    feeder.agent(names.back());
  }
  uint64_t random = 1;
  const auto below = [&random](uint64_t bound) {
    random = random * 6'364'136'223'846'793'005 + 1'442'695'040'888'963'407;
    return (random >> 33) % bound;
  };
  const auto request = [&](base::Seq seq) {
    const uint64_t from = below(agents - 1);
    const uint64_t to = from + 1 + below(agents - from - 1);
    core::Send send = Feeder::send(names[from], names[to], seq, body);
    send.envelope.thread = {};
    send.envelope.kind = core::Kind::request;
    send.envelope.dialect = dialect;
    send.envelope.response_timeout = base::hours(1);
    return std::pair{send, std::pair{from, to}};
  };
  for (int64_t n = 0; n < state.range(0); ++n) {
    const auto [send, ends] = request(feeder.next());
    feeder.apply(names[ends.first], send);
  }
  constexpr uint64_t pairs = 1'000;
  std::vector<std::string> payloads;
  while (state.KeepRunningBatch(pairs)) {
    state.PauseTiming();
    payloads.clear();
    for (uint64_t n = 0; n < pairs; ++n) {
      const base::Seq seq{feeder.next().n + 2 * n};
      const auto [send, ends] = request(seq);
      payloads.push_back(feeder.encode(names[ends.first], send, 2 * n));
      core::Send answer =
          Feeder::send(names[ends.second], names[ends.first], base::Seq{seq.n + 1}, body);
      answer.envelope.thread = {};
      answer.envelope.kind = core::Kind::response;
      answer.envelope.in_reply_to = send.envelope.id;
      payloads.push_back(feeder.encode(names[ends.second], answer, 2 * n + 1));
    }
    state.ResumeTiming();
    for (const std::string& payload : payloads) {
      if (!feeder.apply(payload)) {
        state.SkipWithError("refused");
      }
    }
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK_CAPTURE(request_and_answer, flow, core::Dialect::flow)
    ->Arg(0)
    ->Arg(10'000)
    ->Unit(benchmark::kNanosecond);
BENCHMARK_CAPTURE(request_and_answer, collab, core::Dialect::collab)
    ->Arg(0)
    ->Arg(10'000)
    ->Unit(benchmark::kNanosecond);

// One message to 100 subscribers with open streams, each of which acks it.
void publish_to_100(benchmark::State& state) {
  core::Machine machine;
  Feeder feeder(machine);
  feeder.agent("ana");
  for (uint64_t n = 1; n <= 100; ++n) {
    const std::string name = "s" + std::to_string(n);
    feeder.agent(name);
    feeder.apply(name, core::Subscribe{.topic = "task.status_changed"});
    feeder.apply(name, core::OpenStream{.stream = {1, n}, .window = 64});
  }
  for (auto _ : state) {
    const base::Seq seq = feeder.next();
    feeder.apply("ana", Feeder::send("ana", "task.status_changed", seq, body));
    for (uint64_t n = 1; n <= 100; ++n) {
      feeder.apply("s" + std::to_string(n), core::Ack{.target = {.seq = seq}});
    }
  }
  state.SetItemsProcessed(state.iterations() * 100);
}
BENCHMARK(publish_to_100)->Unit(benchmark::kMicrosecond);

// The whole state of `state.range(0)` waiting messages written and read back.
void snapshot_and_restore(benchmark::State& state) {
  core::Machine machine;
  Feeder feeder(machine);
  feeder.apply(core::broker_name, core::SetRules{.values = {{"queue_max", "10000000"}}});
  feeder.agent("ana");
  feeder.agent("bo");
  for (int64_t n = 0; n < state.range(0); ++n) {
    feeder.apply("ana", Feeder::send("ana", "bo", feeder.next(), body));
  }
  size_t bytes = 0;
  for (auto _ : state) {
    const std::string snapshot = machine.snapshot();
    bytes = snapshot.size();
    benchmark::DoNotOptimize(core::Machine::restore(snapshot));
  }
  state.counters["bytes_per_message"] =
      static_cast<double>(bytes) / static_cast<double>(state.range(0));
}
BENCHMARK(snapshot_and_restore)->Arg(1'000'000)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace parley::bench
