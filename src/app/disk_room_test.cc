// SPDX-License-Identifier: Apache-2.0
#include "app/disk_room.h"

#include <gtest/gtest.h>

#include <filesystem>

namespace parley::app {
namespace {

constexpr uint64_t megabyte = uint64_t{1} << 20;

struct Disk {
  std::filesystem::path data;
  uint64_t free = 0;

  Disk() {
    std::string made = testing::TempDir() + "/disk-room-XXXXXX";
    EXPECT_NE(::mkdtemp(made.data()), nullptr);
    data = made;
  }
  ~Disk() { std::filesystem::remove_all(data); }
  Disk(const Disk&) = delete;
  Disk& operator=(const Disk&) = delete;

  DiskRoom room() {
    return DiskRoom({.data = data, .reserve = 64 * megabyte, .free = [this] { return free; }});
  }
  bool has_file() const { return std::filesystem::exists(data / "reserve"); }
};

TEST(DiskRoom, KeepsSomeForAStartOfWhatIsMoreThanTheReserve) {
  Disk disk;
  disk.free = 71 * megabyte;
  DiskRoom room = disk.room();
  EXPECT_FALSE(room.make_room_to_start());
  EXPECT_EQ(room.left(disk.free, 0), disk.free);
  EXPECT_FALSE(disk.has_file());
  disk.free = 72 * megabyte;
  room.left(disk.free, 0);
  EXPECT_TRUE(disk.has_file());
  EXPECT_EQ(std::filesystem::file_size(disk.data / "reserve"), 8 * megabyte);
}

TEST(DiskRoom, WhatAStartHasUsedIsKeptAgainAsSoonAsThereIsRoom) {
  Disk disk;
  disk.free = 100 * megabyte;
  disk.room().left(disk.free, 0);
  ASSERT_TRUE(disk.has_file());

  disk.free = 0;
  DiskRoom room = disk.room();
  EXPECT_TRUE(room.is_full());
  const auto said = room.make_room_to_start();
  ASSERT_TRUE(said);
  EXPECT_NE(said->find("kept for a start is used now"), std::string::npos) << *said;
  EXPECT_FALSE(disk.has_file());
  disk.free = 8 * megabyte;
  room.left(disk.free, 0);
  EXPECT_FALSE(disk.has_file());
  disk.free = 100 * megabyte;
  room.left(disk.free, 0);
  EXPECT_TRUE(disk.has_file());
}

TEST(DiskRoom, AtMostHalfOfWhatIsLeftIsSpares) {
  Disk disk;
  DiskRoom room = disk.room();
  disk.free = 40 * megabyte;
  EXPECT_EQ(room.left(168 * megabyte, 0), 80 * megabyte);
  EXPECT_EQ(room.left(50 * megabyte, 0), 50 * megabyte);
  EXPECT_LT(room.left(168 * megabyte, 4 * megabyte), 80 * megabyte) << "the history takes some";
}

}  // namespace
}  // namespace parley::app
