// SPDX-License-Identifier: Apache-2.0
#include "journal/archive/spare_file.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <string>

#include "journal/file/recovery.h"
#include "journal/file/simulated_disk.h"

namespace parley::journal {
namespace {

using Call = SimulatedDisk::Call;

const std::string directory = "/j";
constexpr uint64_t bytes = 3 << 20;

TEST(SpareFile, IsZerosAndDurableWithItsName) {
  SimulatedDisk disk;
  const auto path = make_spare(disk, directory, bytes);
  ASSERT_TRUE(path) << path.error().detail;
  for (const uint64_t seed : {1u, 2u, 3u}) {
    disk.restart(seed);
    ASSERT_EQ(disk.paths(), std::vector{*path});
    EXPECT_EQ(disk.contents(*path), std::string(bytes, '\0'));
  }
  EXPECT_EQ(list_journal(disk, directory)->spares.size(), 1u);
}

TEST(SpareFile, ReservedOneIsTemporaryAndNothingIsWritten) {
  SimulatedDisk disk;
  disk.fail_next(Call::write, EIO);
  disk.fail_next(Call::sync, EIO);
  const auto path = reserve_file(disk, directory, bytes);
  ASSERT_TRUE(path) << path.error().detail;
  EXPECT_EQ(disk.contents(*path).size(), bytes);
  EXPECT_EQ(list_journal(disk, directory)->temporary.size(), 1u);
}

TEST(SpareFile, WhatCannotBeMadeWholeIsRemoved) {
  for (const Call call : {Call::reserve, Call::write, Call::sync, Call::rename}) {
    SimulatedDisk disk;
    disk.fail_next(call, EIO);
    EXPECT_EQ(make_spare(disk, directory, bytes).error().code, base::Code::storage_failed);
    EXPECT_TRUE(disk.paths().empty());
  }
  SimulatedDisk full;
  full.set_capacity(bytes - 1);
  EXPECT_EQ(make_spare(full, directory, bytes).error().code, base::Code::storage_full);
  EXPECT_EQ(reserve_file(full, directory, bytes).error().code, base::Code::storage_full);
  EXPECT_TRUE(full.paths().empty());
}

}  // namespace
}  // namespace parley::journal
