// SPDX-License-Identifier: Apache-2.0
#include "app/files.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <iterator>

namespace parley::app {
namespace {

namespace fs = std::filesystem;

class ReplaceFile : public testing::Test {
 protected:
  ReplaceFile() {
    std::string path = (fs::temp_directory_path() / "parley-files-XXXXXX").string();
    place_ = ::mkdtemp(path.data()) == nullptr ? "" : path;
  }
  ~ReplaceFile() override { fs::remove_all(place_); }

  std::string at(const std::string& name) const { return place_ + "/" + name; }
  size_t files() const {
    return static_cast<size_t>(
        std::distance(fs::directory_iterator(place_), fs::directory_iterator()));
  }

  std::string place_;
};

TEST_F(ReplaceFile, LeavesAFileThatAnotherProgramChanged) {
  ASSERT_TRUE(replace_file(at("a"), "theirs", 0600));
  const auto refused = replace_file(at("a"), "ours", 0600, "what was read");
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().detail.find("changed"), std::string::npos);
  EXPECT_EQ(read_settings(at("a")), "theirs");
  EXPECT_EQ(files(), 1u) << "nothing is left beside it";
  ASSERT_TRUE(replace_file(at("a"), "ours", 0600, "theirs"));
  EXPECT_EQ(read_settings(at("a")), "ours");
}

TEST_F(ReplaceFile, FollowsLinksAlsoToWhatIsNotThereYet) {
  fs::create_symlink("b", at("a"));
  fs::create_symlink("sub/c", at("b"));
  ASSERT_TRUE(replace_file(at("a"), "text", 0600, ""));
  EXPECT_TRUE(fs::is_symlink(at("a")));
  EXPECT_TRUE(fs::is_symlink(at("b")));
  EXPECT_EQ(read_settings(at("sub/c")), "text");
  fs::create_symlink("d", at("d"));  // to itself
  EXPECT_FALSE(replace_file(at("d"), "text", 0600, ""));
}

TEST_F(ReplaceFile, WhatIsNoFileIsNoSettings) {
  EXPECT_EQ(read_settings(at("none")), "");
  EXPECT_FALSE(read_settings(place_));
  EXPECT_FALSE(read_settings("/dev/null"));
}

}  // namespace
}  // namespace parley::app
