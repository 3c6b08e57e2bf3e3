// SPDX-License-Identifier: Apache-2.0
#pragma once

// Segments for the tests of what an archive is made of.

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "journal/file/segment.h"
#include "journal/file/simulated_disk.h"

namespace parley::journal::testing {

constexpr uint64_t log_bytes = 16 << 10;
inline const std::string directory = "/j";

inline std::string payload_of(uint64_t seq) { return "payload " + std::to_string(seq); }

// Writes a segment with these records to the disk, and reads it back.
inline Segment write_segment(SimulatedDisk& disk, SegmentKind kind,
                             const std::vector<uint64_t>& seqs) {
  SegmentHeader header{kind, Seq{seqs.front()}, new_salt(), log_bytes, {}};
  std::string records;
  for (const uint64_t seq : seqs) {
    append_record(records, header.seed(), {Seq{seq}, Time{1}, Seq{seq - 1}}, payload_of(seq));
  }
  const bool is_log = kind == SegmentKind::log;
  header.bytes = is_log ? log_bytes : block_bytes + records.size();
  const std::string path =
      directory + "/" + (is_log ? log_name(header.base) : carried_name(header.base, header.salt));
  std::string bytes = encode_header(header) + records;
  bytes.resize(header.bytes);
  const auto file = File::open(disk, path, OpenMode::create);
  EXPECT_TRUE(file && file->write(bytes, 0));
  auto segment = load_segment(disk, path);
  EXPECT_TRUE(segment) << segment.error().detail;
  return std::move(*segment);
}

// Flips a byte in the middle of the first record.
inline void damage(SimulatedDisk& disk, const Segment& segment) {
  std::string bytes = disk.contents(segment.path);
  char& byte = bytes.at(block_bytes + record_header_bytes + 1);
  byte = static_cast<char>(byte ^ 0x5a);
  disk.replace(segment.path, std::move(bytes));
}

}  // namespace parley::journal::testing
