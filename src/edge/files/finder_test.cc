// SPDX-License-Identifier: Apache-2.0
#include "edge/files/finder.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "edge/files/tree_test.h"

namespace parley::edge::files {
namespace {

namespace fs = std::filesystem;
using base::Seq;

// A tree with the box `main`, and what looks after it.
struct Tended {
  Scratch scratch;
  base::Time now{};
  std::unique_ptr<Store> store = open();
  Finder finder{*store,
                {.file_bytes_max = 1'000, .found_max = 3, .steady = [this] { return now; }}};

  Tended() { add("main", BoxKind::agent); }
  std::unique_ptr<Store> open() {
    return *Store::open({.root = scratch.path, .wall = [] { return base::Time{}; }});
  }
  void add(const std::string& box, BoxKind kind) {
    EXPECT_TRUE(store->add_box({box, kind}));
    finder.add_box(box);
  }
  std::string at(const std::string& path) const { return scratch.path + "/agent-inbox/" + path; }
  bool has(const std::string& path) const { return fs::exists(at(path)); }
  void drop(const std::string& path, const std::string& text = "{}") const {
    std::ofstream(at(path)) << text;
  }
  void rename(const std::string& from, const std::string& to) const {
    fs::rename(at(from), at(to));
  }
  std::vector<Report> look() {
    finder.look_at_changes();
    finder.look_again();
    return finder.take_reports();
  }
  // As where the kernel told nothing.
  std::vector<Report> look_around() {
    for (int n = 0; n < 8; ++n) {  // archives are looked through every eighth time
      finder.look_around();
    }
    return finder.take_reports();
  }
};

std::string only_found(const std::vector<Report>& reports) {
  std::string names;
  for (const Report& report : reports) {
    if (const auto* found = std::get_if<Found>(&report)) {
      names += (names.empty() ? "" : " ") + found->name;
    }
  }
  return names;
}

TEST(FileFinder, FindsWhatIsSentOnceUntilItIsAnswered) {  // SQ-11
  Tended tended;
  tended.drop("main/outbox/a.json", "{\"a\":1}");
  const std::vector<Report> reports = tended.look();
  ASSERT_EQ(reports.size(), 1u);
  const Found& found = std::get<Found>(reports[0]);
  EXPECT_EQ(found.box, "main");
  EXPECT_EQ(found.place, Place::outbox);
  EXPECT_EQ(found.name, "a.json");
  EXPECT_EQ(found.file.text, "{\"a\":1}");
  EXPECT_TRUE(tended.look().empty());
  EXPECT_TRUE(tended.look_around().empty());
  tended.finder.answered("main", Place::outbox, "a.json");
  EXPECT_EQ(only_found(tended.look_around()), "a.json");
}

TEST(FileFinder, FindsWhatTheKernelDidNotTell) {
  Tended tended;
  tended.look();
  tended.drop("main/pending/a.json");
  EXPECT_EQ(only_found(tended.look_around()), "a.json");
}

TEST(FileFinder, AFileThatMovesToTheArchiveIsReportedOnce) {
  Tended tended;
  ASSERT_TRUE(tended.store->put({"main", Seq{7}, "MSG-1", "{}"}));
  EXPECT_TRUE(tended.look().empty());
  tended.rename("main/pending/MSG-1.json", "main/archive/MSG-1.json");
  const std::vector<Report> reports = tended.look();
  ASSERT_EQ(reports.size(), 1u);
  EXPECT_EQ(std::get<Placed>(reports[0]).seq, Seq{7});
  EXPECT_TRUE(std::get<Placed>(reports[0]).is_archived);
  EXPECT_TRUE(tended.look_around().empty());
}

TEST(FileFinder, ACopyInTheArchiveCountsWhenTheFileIsGone) {
  Tended tended;
  ASSERT_TRUE(tended.store->put({"main", Seq{7}, "MSG-1", "{}"}));
  tended.drop("main/archive/MSG-1.json");
  EXPECT_TRUE(tended.look().empty());
  fs::remove(tended.at("main/pending/MSG-1.json"));
  const std::vector<Report> reports = tended.look();
  ASSERT_EQ(reports.size(), 1u);
  EXPECT_TRUE(std::get<Placed>(reports[0]).is_archived);
}

// To remove a file is not to acknowledge it: the message comes back.
TEST(FileFinder, AFileThatIsRemovedIsMissing) {
  Tended tended;
  ASSERT_TRUE(tended.store->put({"main", Seq{7}, "MSG-1", "{}"}));
  fs::remove(tended.at("main/pending/MSG-1.json"));
  EXPECT_TRUE(tended.look().empty());
  const std::vector<Report> reports = tended.look_around();
  ASSERT_EQ(reports.size(), 1u);
  EXPECT_EQ(std::get<Missing>(reports[0]).seq, Seq{7});
  EXPECT_EQ(tended.store->ledger().size(), 0u);
}

TEST(FileFinder, TheNextLifeFindsWhatHappenedMeanwhile) {
  Tended tended;
  ASSERT_TRUE(tended.store->put({"main", Seq{7}, "MSG-1", "{}"}));
  ASSERT_TRUE(tended.store->put({"main", Seq{8}, "MSG-2", "{}"}));
  ASSERT_TRUE(tended.store->put({"main", Seq{9}, "MSG-3", "{}"}));
  tended.store->settle({"main", Seq{9}});
  tended.rename("main/pending/MSG-1.json", "main/archive/MSG-1.json");
  tended.drop("main/pending/new.json");
  const auto next = tended.open();
  Finder finder(*next, {.steady = [] { return base::Time{}; }});
  ASSERT_TRUE(next->add_box({"main", BoxKind::agent}));
  finder.add_box("main");
  finder.look_again();
  std::vector<Report> reports = finder.take_reports();
  EXPECT_EQ(only_found(reports), "new.json");
  std::erase_if(reports, [](const Report& each) { return std::holds_alternative<Found>(each); });
  ASSERT_EQ(reports.size(), 3u);
  EXPECT_EQ(std::get<Placed>(reports[0]).seq, Seq{7});  // as it was left
  EXPECT_EQ(std::get<Placed>(reports[1]).seq, Seq{8});
  EXPECT_EQ(std::get<Placed>(reports[2]).seq, Seq{7});
  EXPECT_TRUE(std::get<Placed>(reports[2]).is_archived);
}

TEST(FileFinder, ABrokenFileIsMovedAsideWhenItStaysAsItIs) {
  Tended tended;
  tended.drop("main/pending/a.json", "{\"id\":");
  EXPECT_TRUE(tended.look().empty());
  tended.now = tended.now + base::seconds(1);
  EXPECT_TRUE(tended.look_around().empty());
  tended.drop("main/pending/a.json", "{\"id\": 1");  // it grows: its sender is still writing
  tended.now = tended.now + base::seconds(1);
  EXPECT_TRUE(tended.look_around().empty());
  EXPECT_TRUE(tended.has("main/pending/a.json"));
  tended.now = tended.now + base::seconds(2);
  EXPECT_TRUE(tended.look_around().empty());
  EXPECT_FALSE(tended.has("main/pending/a.json"));
  EXPECT_TRUE(tended.has("main/rejected/a.json.rejected"));
  EXPECT_TRUE(tended.has("main/rejected/a.json.error.json"));
}

TEST(FileFinder, AFileIsTakenWhenItIsWhole) {
  Tended tended;
  tended.drop("main/outbox/a.json", "{\"id\":");
  EXPECT_TRUE(tended.look().empty());
  tended.drop("main/outbox/a.json", "{\"id\": 1}");
  EXPECT_EQ(only_found(tended.look()), "a.json");
}

TEST(FileFinder, WhatIsNoRegularFileIsMovedAsideUnread) {
  Tended tended;
  std::ofstream(tended.scratch.path + "/secret") << "{}";
  fs::create_symlink(tended.scratch.path + "/secret", tended.at("main/pending/link.json"));
  fs::create_hard_link(tended.scratch.path + "/secret", tended.at("main/pending/hard.json"));
  ASSERT_EQ(::mkfifo(tended.at("main/outbox/pipe.json").c_str(), 0600), 0);
  tended.drop("main/outbox/large.json", "\"" + std::string(1'000, 'x') + "\"");
  EXPECT_TRUE(tended.look_around().empty());
  tended.now = tended.now + base::seconds(3);
  EXPECT_TRUE(tended.look_around().empty());
  for (const std::string name : {"link", "hard", "pipe", "large"}) {
    EXPECT_TRUE(fs::is_symlink(tended.at("main/rejected/" + name + ".json.rejected")) ||
                tended.has("main/rejected/" + name + ".json.rejected"))
        << name;
  }
}

TEST(FileFinder, OtherFilesAreLeftAlone) {
  Tended tended;
  for (const std::string name : {"notes.md", ".a.json", "a.json.tmp", "a.json~"}) {
    tended.drop("main/pending/" + name, "{}");
  }
  EXPECT_TRUE(tended.look().empty());
  tended.now = tended.now + base::seconds(10);
  EXPECT_TRUE(tended.look_around().empty());
  EXPECT_TRUE(tended.has("main/pending/notes.md"));
}

TEST(FileFinder, NoMoreIsFoundThanTheLoopCanAnswer) {
  Tended tended;
  for (int n = 0; n < 7; ++n) {
    tended.drop("main/outbox/" + std::to_string(n) + ".json");
  }
  std::string seen;
  for (int rounds = 0; rounds < 3; ++rounds) {
    for (const Report& report : tended.look()) {
      const Found& found = std::get<Found>(report);
      seen += found.name.substr(0, 1);
      tended.store->take({"main", Place::outbox, found.name, Seq{1}, Take::How::sent});
      tended.finder.answered("main", Place::outbox, found.name);
    }
    EXPECT_EQ(seen.size(), std::min(7, 3 * (rounds + 1)));
  }
  std::ranges::sort(seen);
  EXPECT_EQ(seen, "0123456");
}

// Perhaps its sender sends it once more, perhaps it is another message of that id.
TEST(FileFinder, AFileOfAMessageThatIsSettledIsLookedAtAnew) {
  Tended tended;
  ASSERT_TRUE(tended.store->put({"main", Seq{7}, "MSG-1", "{}"}));
  tended.store->settle({"main", Seq{7}});
  EXPECT_TRUE(tended.look_around().empty());
  tended.drop("main/pending/MSG-1.json");
  EXPECT_EQ(only_found(tended.look()), "MSG-1.json");
  tended.store->take({"main", Place::pending, "MSG-1.json", Seq{7}, Take::How::stays});
  tended.store->settle({"main", Seq{7}});
  tended.finder.answered("main", Place::pending, "MSG-1.json");
  EXPECT_FALSE(tended.has("main/pending/MSG-1.json"));
  EXPECT_TRUE(tended.look_around().empty());
}

TEST(FileFinder, WhatWaitsInOneDirectoryKeepsNothingBackInAnother) {
  Tended tended;
  tended.add("sub", BoxKind::agent);
  for (int n = 0; n < 5; ++n) {
    tended.drop("main/outbox/" + std::to_string(n) + ".json");
  }
  tended.drop("sub/archive/x.json");
  bool is_found = false;
  for (int rounds = 0; rounds < 5 && !is_found; ++rounds) {
    for (const Report& report : tended.look()) {
      const Found& found = std::get<Found>(report);
      is_found = is_found || found.name == "x.json";
      tended.finder.postponed(found.box, found.place, found.name);
    }
  }
  EXPECT_TRUE(is_found);
}

TEST(FileFinder, WhatWasTakenIsNotFoundAgain) {
  Tended tended;
  tended.drop("main/pending/a.json");
  EXPECT_EQ(only_found(tended.look()), "a.json");
  tended.store->take({"main", Place::pending, "a.json", Seq{7}, Take::How::stays});
  tended.finder.answered("main", Place::pending, "a.json");
  EXPECT_TRUE(tended.look_around().empty());
  EXPECT_TRUE(tended.has("main/pending/a.json"));
}

}  // namespace
}  // namespace parley::edge::files
