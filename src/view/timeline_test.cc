// SPDX-License-Identifier: Apache-2.0
#include "view/timeline.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "view/world_test.h"

namespace parley::view {
namespace {

// A table of messages with these places and times, and nothing else.
struct Messages {
  testing::Directory directory;
  lib::Database database;
  Timeline timeline;

  explicit Messages(const std::vector<std::pair<int, int>>& places_and_times) {
    database =
        lib::Database::open(directory.path + "/t.db", lib::Database::Mode::read_write).value();
    std::string sql = "CREATE TABLE messages (seq INTEGER PRIMARY KEY, time INTEGER NOT NULL);";
    for (const auto& [seq, time] : places_and_times) {
      sql +=
          "INSERT INTO messages VALUES (" + std::to_string(seq) + "," + std::to_string(time) + ");";
    }
    EXPECT_TRUE(database.run(sql));
    timeline = Timeline::open(database).value();
  }
};

TEST(Timeline, WithoutMessagesItBeginsAndEndsAtZero) {
  Messages none({});
  const auto ends = none.timeline.ends();
  ASSERT_TRUE(ends);
  EXPECT_EQ(ends->first, Seq{});
  EXPECT_EQ(ends->last, Seq{});
  EXPECT_EQ(none.timeline.first_at(Time{5}), Seq{});
}

TEST(Timeline, ATimeBeginsAtTheFirstMessageThatIsNotBeforeIt) {
  Messages some({{10, 100}, {11, 100}, {12, 200}, {13, 300}});
  EXPECT_EQ(some.timeline.ends()->first, Seq{10});
  EXPECT_EQ(some.timeline.ends()->last, Seq{13});
  EXPECT_EQ(some.timeline.first_at(Time{0}), Seq{10});
  EXPECT_EQ(some.timeline.first_at(Time{100}), Seq{10});
  EXPECT_EQ(some.timeline.first_at(Time{101}), Seq{12});
  EXPECT_EQ(some.timeline.first_at(Time{200}), Seq{12});
  EXPECT_EQ(some.timeline.first_at(Time{300}), Seq{13});
  EXPECT_EQ(some.timeline.first_at(Time{301}), Seq{14});
}

// Whatever place is returned, just the messages from there on have the time or a later one.
TEST(Timeline, GapsBetweenPlacesDoNoHarm) {
  const std::vector<std::pair<int, int>> all = {{3, 1}, {4, 5}, {90, 5}, {1'000, 6}, {1'001, 9}};
  Messages some(all);
  for (int time = 0; time < 12; ++time) {
    const auto begin = some.timeline.first_at(Time{time});
    ASSERT_TRUE(begin);
    for (const auto& [seq, its_time] : all) {
      EXPECT_EQ(Seq{static_cast<uint64_t>(seq)} >= *begin, its_time >= time) << seq << " " << time;
    }
  }
}

TEST(Timeline, WithoutItsTableItCannotBeOpened) {
  testing::Directory directory;
  auto empty = lib::Database::open(directory.path + "/t.db", lib::Database::Mode::read_write);
  ASSERT_TRUE(empty);
  EXPECT_FALSE(Timeline::open(*empty));
}

}  // namespace
}  // namespace parley::view
