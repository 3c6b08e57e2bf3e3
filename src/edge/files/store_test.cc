// SPDX-License-Identifier: Apache-2.0
#include "edge/files/store.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "edge/files/tree_test.h"

namespace parley::edge::files {
namespace {

namespace fs = std::filesystem;
using base::Seq;
using State = Ledger::State;

std::string text_at(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

struct Kept {
  Scratch scratch;
  base::Time now{base::Time{int64_t{4'000'000'000} * 1'000'000}};  // after all files were made
  size_t kept_max = 100;
  std::unique_ptr<Store> store = open();

  std::unique_ptr<Store> open() {
    return *Store::open({.root = scratch.path,
                         .kept_max = kept_max,
                         .readme = "read me",
                         .schema = "{}",
                         .wall = [this] { return now; }});
  }
  std::string at(const std::string& path) const { return scratch.path + "/agent-inbox/" + path; }
  bool has(const std::string& path) const { return fs::exists(at(path)); }
};

TEST(FileStore, MakesTheTreeOfTheText) {  // SQ-11
  Kept kept;
  ASSERT_TRUE(kept.store->add_box({"main", BoxKind::agent}));
  ASSERT_TRUE(kept.store->add_box({"human", BoxKind::human}));
  ASSERT_TRUE(kept.store->add_box({"broadcast", BoxKind::announcements}));
  EXPECT_EQ(text_at(kept.at("README.md")), "read me");
  EXPECT_EQ(text_at(kept.at("schema.json")), "{}");
  for (const std::string path :
       {"main/pending", "main/archive", "main/outbox/sent", "main/rejected", "human/pending",
        "human/archive", "broadcast/announcements"}) {
    EXPECT_TRUE(fs::is_directory(kept.at(path))) << path;
  }
  EXPECT_FALSE(kept.has("human/outbox"));
}

TEST(FileStore, AMessageIsPendingThenInTheArchive) {
  Kept kept;
  ASSERT_TRUE(kept.store->add_box({"main", BoxKind::agent}));
  ASSERT_TRUE(kept.store->put({"main", Seq{7}, "MSG-1", "{\"id\":\"MSG-1\"}"}));
  EXPECT_EQ(text_at(kept.at("main/pending/MSG-1.json")), "{\"id\":\"MSG-1\"}");
  kept.store->settle({"main", Seq{7}});
  EXPECT_FALSE(kept.has("main/pending/MSG-1.json"));
  EXPECT_TRUE(kept.has("main/archive/MSG-1.json"));
  EXPECT_EQ(kept.store->ledger().find("main", "MSG-1.json")->state, State::done);
  ASSERT_TRUE(kept.store->put({"main", Seq{7}, "MSG-1", "again"}));  // it has a file
  EXPECT_FALSE(kept.has("main/pending/MSG-1.json"));
}

TEST(FileStore, WhatWaitsNoMoreForNowGoesAndMayComeBack) {
  Kept kept;
  ASSERT_TRUE(kept.store->add_box({"main", BoxKind::agent}));
  ASSERT_TRUE(kept.store->put({"main", Seq{7}, "MSG-1", "{}"}));
  kept.store->withdraw({"main", Seq{7}});
  EXPECT_FALSE(kept.has("main/pending/MSG-1.json"));
  ASSERT_TRUE(kept.store->put({"main", Seq{7}, "MSG-1", "{}"}));
  EXPECT_TRUE(kept.has("main/pending/MSG-1.json"));
}

TEST(FileStore, TwoMessagesWithOneIdHaveTwoFiles) {
  Kept kept;
  ASSERT_TRUE(kept.store->add_box({"main", BoxKind::agent}));
  ASSERT_TRUE(kept.store->put({"main", Seq{7}, "MSG-1", "first"}));
  ASSERT_TRUE(kept.store->put({"main", Seq{8}, "MSG-1", "second"}));
  EXPECT_EQ(text_at(kept.at("main/pending/MSG-1.json")), "first");
  EXPECT_EQ(text_at(kept.at("main/pending/MSG-1~8.json")), "second");
}

// A file that nobody has taken yet is never written over.
TEST(FileStore, WhatSomeoneElsePutThereStays) {
  Kept kept;
  ASSERT_TRUE(kept.store->add_box({"main", BoxKind::agent}));
  std::ofstream(kept.at("main/pending/MSG-1.json")) << R"({"id":"MSG-1","from":"b"})";
  ASSERT_TRUE(kept.store->put({"main", Seq{8}, "MSG-1", R"({"id":"MSG-1","from":"a"})"}));
  EXPECT_EQ(text_at(kept.at("main/pending/MSG-1.json")), R"({"id":"MSG-1","from":"b"})");
  EXPECT_TRUE(kept.has("main/pending/MSG-1~8.json"));
}

// The broker was stopped when it had taken the file and not written that down.
TEST(FileStore, ItsOwnMessageThatIsThereIsNotWrittenTwice) {
  Kept kept;
  ASSERT_TRUE(kept.store->add_box({"main", BoxKind::agent}));
  std::ofstream(kept.at("main/pending/MSG-1.json")) << R"({"from":"a","id":"MSG-1", "x":1})";
  ASSERT_TRUE(kept.store->put({"main", Seq{8}, "MSG-1", R"({"id":"MSG-1","from":"a"})"}));
  EXPECT_FALSE(kept.has("main/pending/MSG-1~8.json"));
  EXPECT_EQ(kept.store->ledger().name_of("main", Seq{8}), "MSG-1.json");
}

TEST(FileStore, TheNextLifeKnowsWhatTheFilesAre) {
  Kept kept;
  ASSERT_TRUE(kept.store->add_box({"main", BoxKind::agent}));
  ASSERT_TRUE(kept.store->put({"main", Seq{7}, "MSG-1", "{}"}));
  ASSERT_TRUE(kept.store->put({"main", Seq{8}, "MSG-2", "{}"}));
  kept.store->settle({"main", Seq{8}});
  kept.store = nullptr;
  kept.store = kept.open();
  EXPECT_EQ(kept.store->ledger().find("main", "MSG-1.json")->state, State::pending);
  EXPECT_EQ(kept.store->ledger().find("main", "MSG-2.json")->state, State::done);
}

TEST(FileStore, WhatIsRefusedLiesBesideTheReason) {
  Kept kept;
  ASSERT_TRUE(kept.store->add_box({"main", BoxKind::agent}));
  std::ofstream(kept.at("main/pending/x.json")) << "broken";
  kept.store->set_aside({"main", Place::pending, "x.json", "{\"code\":\"BAD_REQUEST\"}"});
  EXPECT_FALSE(kept.has("main/pending/x.json"));
  EXPECT_EQ(text_at(kept.at("main/rejected/x.json.rejected")), "broken");
  EXPECT_EQ(text_at(kept.at("main/rejected/x.json.error.json")), "{\"code\":\"BAD_REQUEST\"}");
}

TEST(FileStore, ALinkIsMovedAsideItself) {
  Kept kept;
  ASSERT_TRUE(kept.store->add_box({"main", BoxKind::agent}));
  std::ofstream(kept.scratch.path + "/secret") << "secret";
  fs::create_symlink(kept.scratch.path + "/secret", kept.at("main/pending/x.json"));
  kept.store->set_aside({"main", Place::pending, "x.json", "{}"});
  EXPECT_TRUE(fs::is_symlink(kept.at("main/rejected/x.json.rejected")));
  EXPECT_EQ(text_at(kept.scratch.path + "/secret"), "secret");
}

TEST(FileStore, AnAnnouncementGoesWhenItIsOver) {
  Kept kept;
  ASSERT_TRUE(kept.store->add_box({"broadcast", BoxKind::announcements}));
  ASSERT_TRUE(kept.store->put({"broadcast", Seq{7}, "MSG-1", "{}"}));
  EXPECT_TRUE(kept.has("broadcast/announcements/MSG-1.json"));
  kept.store->settle({"broadcast", Seq{7}});
  EXPECT_FALSE(kept.has("broadcast/announcements/MSG-1.json"));
}

// SQ-13: the archive is kept for seven days.
TEST(FileStore, OldFilesGoFromTheArchiveAndNothingThatIsNotSettled) {
  Kept kept;
  ASSERT_TRUE(kept.store->add_box({"main", BoxKind::agent}));
  ASSERT_TRUE(kept.store->put({"main", Seq{7}, "MSG-1", "{}"}));
  ASSERT_TRUE(kept.store->put({"main", Seq{8}, "MSG-2", "{}"}));
  kept.store->settle({"main", Seq{7}});
  fs::rename(kept.at("main/pending/MSG-2.json"), kept.at("main/archive/MSG-2.json"));
  std::ofstream(kept.at("main/rejected/x.json.rejected")) << "x";
  struct stat made{};
  ASSERT_EQ(::stat(kept.at("main/archive/MSG-2.json").c_str(), &made), 0);
  kept.now = base::Time{(made.st_ctim.tv_sec + 7 * 24 * 3'600 - 60) * 1'000'000};
  kept.store->tidy("main");
  EXPECT_TRUE(kept.has("main/archive/MSG-1.json"));
  kept.now = base::Time{(made.st_ctim.tv_sec + 7 * 24 * 3'600 + 60) * 1'000'000};
  kept.store->tidy("main");
  EXPECT_FALSE(kept.has("main/archive/MSG-1.json"));
  EXPECT_EQ(kept.store->ledger().find("main", "MSG-1.json"), nullptr);
  EXPECT_TRUE(kept.has("main/archive/MSG-2.json"));
  EXPECT_FALSE(kept.has("main/rejected/x.json.rejected"));
}

TEST(FileStore, AnArchiveHasABound) {
  Kept kept;
  kept.kept_max = 3;
  kept.store = kept.open();
  ASSERT_TRUE(kept.store->add_box({"main", BoxKind::agent}));
  for (uint64_t n = 1; n <= 5; ++n) {
    ASSERT_TRUE(kept.store->put({"main", Seq{n}, "MSG-" + std::to_string(n), "{}"}));
    kept.store->settle({"main", Seq{n}});
  }
  kept.now = base::Time{0};
  kept.store->tidy("main");
  EXPECT_EQ(kept.store->ledger().size(), 3u);
  EXPECT_EQ(std::distance(fs::directory_iterator(kept.at("main/archive")), {}), 3);
}

// SQ-13: the inbox of a subagent is removed 24 hours after its end.
TEST(FileStore, ABoxThatEndedGoesUnlessItsAgentIsBack) {
  Kept kept;
  ASSERT_TRUE(kept.store->add_box({"subagent-1", BoxKind::agent}));
  ASSERT_TRUE(kept.store->add_box({"subagent-2", BoxKind::agent}));
  ASSERT_TRUE(kept.store->put({"subagent-1", Seq{1}, "MSG-1", "{}"}));
  kept.store->end_box({"subagent-1"});
  kept.store->end_box({"subagent-2"});
  struct stat made{};
  ASSERT_EQ(::stat(kept.at("subagent-1/.ended").c_str(), &made), 0);
  kept.now = base::Time{(made.st_ctim.tv_sec + 24 * 3'600 - 60) * 1'000'000};
  kept.store->tidy_ended();
  EXPECT_TRUE(kept.has("subagent-1"));
  ASSERT_TRUE(kept.store->add_box({"subagent-2", BoxKind::agent}));
  kept.now = base::Time{(made.st_ctim.tv_sec + 24 * 3'600 + 60) * 1'000'000};
  kept.store->tidy_ended();
  EXPECT_FALSE(kept.has("subagent-1"));
  EXPECT_TRUE(kept.has("subagent-2"));
  EXPECT_EQ(kept.store->ledger().size(), 0u);
  EXPECT_FALSE(kept.store->boxes().contains("subagent-1"));
}

TEST(FileStore, AppendsInOneWriteAndFollowsNoLink) {
  Kept kept;
  ASSERT_TRUE(kept.store->append({"active-thread.md", "one\n"}));
  ASSERT_TRUE(kept.store->append({"active-thread.md", "two\n"}));
  EXPECT_EQ(text_at(kept.scratch.path + "/active-thread.md"), "one\ntwo\n");
  fs::remove(kept.scratch.path + "/active-thread.md");
  std::ofstream(kept.scratch.path + "/mine") << "mine";
  fs::create_symlink(kept.scratch.path + "/mine", kept.scratch.path + "/active-thread.md");
  EXPECT_FALSE(kept.store->append({"active-thread.md", "three\n"}));
  EXPECT_EQ(text_at(kept.scratch.path + "/mine"), "mine");
}

}  // namespace
}  // namespace parley::edge::files
