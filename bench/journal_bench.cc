// SPDX-License-Identifier: Apache-2.0
// The file journal beside a bare log: the same bytes appended to a growing file and synced, turn
// by turn in one run, so that both see the same disk.
#include <benchmark/benchmark.h>
#include <fcntl.h>
#include <unistd.h>

#include <chrono>

#include "journal/file/file.h"
#include "scratch.h"

namespace parley::bench {
namespace {

using Seconds = std::chrono::duration<double>;

// A file that grows by one write and one fdatasync a batch.
class BareLog {
 public:
  explicit BareLog(const std::string& path)
      : file_(::open(path.c_str(), O_CREAT | O_WRONLY | O_APPEND, 0600)) {}
  ~BareLog() { ::close(file_); }
  BareLog(const BareLog&) = delete;
  BareLog& operator=(const BareLog&) = delete;

  bool append(std::string_view bytes) const {
    return ::write(file_, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()) &&
           ::fdatasync(file_) == 0;
  }

 private:
  int file_;
};

template <class Work>
Seconds timed(Work&& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::steady_clock::now() - start;
}

// Records of 1 KiB in batches of `state.range(0)`. With `state.range(1)` the journal is trimmed as
// it goes, so that its segments are recycled; without, every segment is new.
void append_beside_bare(benchmark::State& state) {
  const Scratch scratch;
  base::SystemClock clock;
  auto journal = journal::FileJournal::open({.directory = scratch.path() + "/journal"}, clock);
  const BareLog bare(scratch.path() + "/bare");
  const auto batch = static_cast<size_t>(state.range(0));
  const bool recycle = state.range(1) != 0;
  const std::string record(1'024, 'r');
  const std::vector<std::string_view> records(batch, record);
  const std::string bytes(batch * record.size(), 'r');
  Seconds journal_time{};
  Seconds bare_time{};
  base::Seq kept;
  for (auto _ : state) {
    bool good = true;
    journal_time +=
        timed([&] { good &= (*journal)->append(records, journal::Sync::yes).has_value(); });
    bare_time += timed([&] { good &= bare.append(bytes); });
    if (recycle && (*journal)->last().n - kept.n > 100'000) {
      kept = (*journal)->last();
      good &= (*journal)->save({kept, "state"}).has_value();
      (*journal)->settle();
      (*journal)->trim(kept, {});
      (*journal)->settle();
    }
    if (!good) {
      state.SkipWithError("an append failed");
    }
  }
  const double appended = static_cast<double>(state.iterations()) * static_cast<double>(batch);
  state.counters["journal_per_s"] = appended / journal_time.count();
  state.counters["bare_per_s"] = appended / bare_time.count();
  state.counters["ratio"] = bare_time / journal_time;
}
BENCHMARK(append_beside_bare)
    ->ArgNames({"batch", "recycled"})
    ->ArgsProduct({{1, 64, 1'024, 8'192}, {0, 1}})
    ->UseRealTime()
    ->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace parley::bench
