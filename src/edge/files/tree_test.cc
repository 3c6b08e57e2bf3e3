// SPDX-License-Identifier: Apache-2.0
#include "edge/files/tree.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <set>
#include <thread>

#include "edge/files/tree_test.h"

namespace parley::edge::files {
namespace {

namespace fs = std::filesystem;

mode_t mode_of(const fs::path& path) {
  struct stat found{};
  return ::stat(path.c_str(), &found) == 0 ? found.st_mode & 07777 : 0;
}

// SQ-11: what is in the tree is for its owner alone.
TEST(FileTree, IsForItsOwnerAlone) {
  const Scratch scratch;
  Tree tree = *Tree::open(scratch.path + "/inbox");
  const Directory pending = *tree.directory("main/pending", true);
  ASSERT_TRUE(tree.write(pending, "a.json", "{}"));
  EXPECT_EQ(mode_of(scratch.path + "/inbox/main/pending"), 0700u);
  EXPECT_EQ(mode_of(scratch.path + "/inbox/main"), 0700u);
  EXPECT_EQ(mode_of(scratch.path + "/inbox/main/pending/a.json"), 0600u);
}

TEST(FileTree, WritesInPlaceOfOrOnlyWhereNothingIs) {
  const Scratch scratch;
  Tree tree = *Tree::open(scratch.path);
  const Directory pending = *tree.directory("main/pending", true);
  EXPECT_TRUE(*tree.write_new(pending, "a.json", "first"));
  EXPECT_FALSE(*tree.write_new(pending, "a.json", "second"));
  EXPECT_EQ(tree.read(pending, "a.json", 100)->text, "first");
  ASSERT_TRUE(tree.write(pending, "a.json", "third"));
  EXPECT_EQ(tree.read(pending, "a.json", 100)->text, "third");
  EXPECT_EQ(fs::is_empty(scratch.path + "/.parley"), true);
}

TEST(FileTree, NoPathLeavesIt) {
  const Scratch scratch;
  const Tree tree = *Tree::open(scratch.path + "/inbox");
  for (const std::string_view path :
       {"..", ".", "", "/", "/etc", "main/..", "../x", "main/../..", "a/b/c/d", "main//pending"}) {
    EXPECT_FALSE(tree.directory(path, true)) << path;
  }
  EXPECT_FALSE(tree.directory(std::string_view("a\0b", 3), true));
  EXPECT_EQ(std::distance(fs::directory_iterator(scratch.path), fs::directory_iterator()), 1);
}

TEST(FileTree, DirectoriesThatAreLinksAreNotFollowed) {
  const Scratch scratch;
  Tree tree = *Tree::open(scratch.path + "/inbox");
  fs::create_directory(scratch.path + "/elsewhere");
  fs::create_directory_symlink(scratch.path + "/elsewhere", scratch.path + "/inbox/main");
  EXPECT_FALSE(tree.directory("main", true));
  EXPECT_FALSE(tree.directory("main/pending", true));
  EXPECT_TRUE(fs::is_empty(scratch.path + "/elsewhere"));
  tree.remove_all("main");
  EXPECT_TRUE(fs::exists(scratch.path + "/elsewhere"));
}

TEST(FileTree, ReadsNothingButRegularFilesWithOneName) {
  const Scratch scratch;
  Tree tree = *Tree::open(scratch.path);
  const Directory pending = *tree.directory("main/pending", true);
  const std::string at = scratch.path + "/main/pending/";
  std::ofstream(scratch.path + "/secret") << "secret";
  fs::create_symlink(scratch.path + "/secret", at + "link.json");
  fs::create_hard_link(scratch.path + "/secret", at + "hard.json");
  ASSERT_EQ(::mkfifo((at + "pipe.json").c_str(), 0600), 0);
  fs::create_directory(at + "directory.json");
  std::ofstream(at + "large.json") << std::string(101, 'x');
  std::ofstream(at + "fits.json") << std::string(100, 'x');
  EXPECT_EQ(tree.read(pending, "link.json", 100).error(), ReadFault::not_regular);
  EXPECT_EQ(tree.read(pending, "hard.json", 100).error(), ReadFault::has_other_names);
  EXPECT_EQ(tree.read(pending, "pipe.json", 100).error(), ReadFault::not_regular);
  EXPECT_EQ(tree.read(pending, "directory.json", 100).error(), ReadFault::not_regular);
  EXPECT_EQ(tree.read(pending, "large.json", 100).error(), ReadFault::too_large);
  EXPECT_EQ(tree.read(pending, "../../secret", 100).error(), ReadFault::gone);
  EXPECT_EQ(tree.read(pending, "none.json", 100).error(), ReadFault::gone);
  const auto fits = tree.read(pending, "fits.json", 100);
  EXPECT_EQ(fits->text.size(), 100u);
  EXPECT_EQ(fits->owner, ::getuid());
}

// What is written takes the place of a link, and does not go where that leads.
TEST(FileTree, WritesNothingThroughALink) {
  const Scratch scratch;
  Tree tree = *Tree::open(scratch.path);
  const Directory pending = *tree.directory("main/pending", true);
  std::ofstream(scratch.path + "/mine") << "mine";
  fs::create_symlink(scratch.path + "/mine", scratch.path + "/main/pending/a.json");
  ASSERT_TRUE(tree.write(pending, "a.json", "theirs"));
  std::string text;
  std::ifstream(scratch.path + "/mine") >> text;
  EXPECT_EQ(text, "mine");
  EXPECT_EQ(tree.read(pending, "a.json", 100)->text, "theirs");
}

TEST(FileTree, WhatAFormerLifeLeftHalfDoneGoes) {
  const Scratch scratch;
  {
    const Tree tree = *Tree::open(scratch.path);
  }
  std::ofstream(scratch.path + "/.parley/7.half") << "half";
  std::ofstream(scratch.path + "/.parley/known") << "kept";
  const Tree tree = *Tree::open(scratch.path);
  EXPECT_FALSE(fs::exists(scratch.path + "/.parley/7.half"));
  EXPECT_TRUE(fs::exists(scratch.path + "/.parley/known"));
}

TEST(FileTree, MovesAndRemoves) {
  const Scratch scratch;
  Tree tree = *Tree::open(scratch.path);
  const Directory pending = *tree.directory("main/pending", true);
  const Directory archive = *tree.directory("main/archive", true);
  ASSERT_TRUE(tree.write(pending, "a.json", "{}"));
  EXPECT_GT(tree.changed(pending, "a.json"), 0);
  EXPECT_TRUE(*tree.move(pending, "a.json", archive, "a.json"));
  EXPECT_FALSE(*tree.move(pending, "a.json", archive, "a.json"));
  EXPECT_FALSE(tree.contains(pending, "a.json"));
  EXPECT_TRUE(tree.contains(archive, "a.json"));
  EXPECT_TRUE(tree.remove(archive, "a.json"));
  EXPECT_FALSE(tree.remove(archive, "a.json"));
  EXPECT_EQ(tree.changed(archive, "a.json"), 0);
  tree.remove_all("main");
  EXPECT_FALSE(fs::exists(scratch.path + "/main"));
  tree.remove_all("..");
  EXPECT_TRUE(fs::exists(scratch.path));
}

// SQ-11: no half-written file is ever seen: a reader that looks as often as it can finds each file
// whole.
TEST(FileTree, AReaderNeverSeesAPartOfAFile) {
  const Scratch scratch;
  Tree tree = *Tree::open(scratch.path);
  const Directory pending = *tree.directory("main/pending", true);
  const std::string whole(100'000, 'x');
  std::atomic<bool> is_done = false;
  size_t parts = 0;
  std::set<std::string> seen;
  std::thread reader([&] {
    while (!is_done.load() || seen.empty()) {
      for (const auto& entry : fs::directory_iterator(scratch.path + "/main/pending")) {
        std::ifstream file(entry.path(), std::ios::binary);
        const std::string text(std::istreambuf_iterator<char>(file), {});
        parts += text.size() == whole.size() ? 0 : 1;
        seen.insert(entry.path().filename());
      }
    }
  });
  for (int n = 0; n < 200; ++n) {
    ASSERT_TRUE(tree.write(pending, std::to_string(n % 10) + ".json", whole));
  }
  is_done = true;
  reader.join();
  EXPECT_EQ(parts, 0u);
}

}  // namespace
}  // namespace parley::edge::files
