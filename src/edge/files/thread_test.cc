// SPDX-License-Identifier: Apache-2.0
#include "edge/files/thread.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <condition_variable>
#include <filesystem>
#include <fstream>

#include "base/time.h"
#include "edge/files/tree_test.h"

namespace parley::edge::files {
namespace {

namespace fs = std::filesystem;
using base::Seq;

// Keeps what the thread reports.
struct Heard {
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<Report> reports;

  void add(std::vector<Report> more) {
    const std::lock_guard lock(mutex);
    std::ranges::move(more, std::back_inserter(reports));
    changed.notify_all();
  }
  Report next() {
    std::unique_lock lock(mutex);
    changed.wait(lock, [this] { return !reports.empty(); });
    Report first = std::move(reports.front());
    reports.erase(reports.begin());
    return first;
  }
};

FileThread::Options options_of(const Scratch& scratch, Heard& heard) {
  FileThread::Options options;
  options.store = {.root = scratch.path + "/memory", .wall = [] { return base::Time{}; }};
  options.finder = {.steady = [] { return base::Time{}; }};
  options.tell = [&heard](std::vector<Report> reports) { heard.add(std::move(reports)); };
  return options;
}

TEST(FileThread, WritesAndHearsBothWays) {  // SQ-11
  const Scratch scratch;
  Heard heard;
  FileThread thread(options_of(scratch, heard));
  const std::string main = scratch.path + "/memory/agent-inbox/main/";
  thread.add(AddBox{"main", BoxKind::agent});
  thread.add(Put{"main", Seq{7}, "MSG-1", "{}"});
  EXPECT_FALSE(std::get<Placed>(heard.next()).is_archived);
  fs::rename(main + "pending/MSG-1.json", main + "archive/MSG-1.json");
  EXPECT_TRUE(std::get<Placed>(heard.next()).is_archived);
  std::ofstream(main + "outbox/a.json") << "{}";
  EXPECT_EQ(std::get<Found>(heard.next()).name, "a.json");
}

TEST(FileThread, DoesWhatItHasBeforeItEnds) {
  const Scratch scratch;
  Heard heard;
  {
    FileThread thread(options_of(scratch, heard));
    thread.add(AddBox{"main", BoxKind::agent});
    (void)thread.waiting();
    thread.add(Put{"main", Seq{1}, "MSG-0", "{}"});
    heard.next();  // it has begun
    for (uint64_t n = 2; n <= 50; ++n) {
      thread.add(Put{"main", Seq{n}, "MSG-" + std::to_string(n), "{}"});
    }
  }
  const fs::directory_iterator files(scratch.path + "/memory/agent-inbox/main/pending");
  EXPECT_EQ(std::distance(files, fs::directory_iterator()), 50);
}

TEST(FileThread, SaysThatTheTreeCannotBeOpenedAndEndsNevertheless) {
  const Scratch scratch;
  Heard heard;
  std::ofstream(scratch.path + "/memory") << "a file";
  FileThread::Options options = options_of(scratch, heard);
  std::mutex mutex;
  std::condition_variable told;
  std::string said;
  options.warn = [&](const std::string& text) {
    const std::lock_guard lock(mutex);
    said = text;
    told.notify_all();
  };
  FileThread thread(std::move(options));
  thread.add(AddBox{"main", BoxKind::agent});
  std::unique_lock lock(mutex);
  told.wait(lock, [&] { return !said.empty(); });
  EXPECT_NE(said.find("memory"), std::string::npos) << said;
}

}  // namespace
}  // namespace parley::edge::files
