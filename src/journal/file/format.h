// SPDX-License-Identifier: Apache-2.0
#pragma once

// The bytes of a segment file: docs/journal-format.md in code. Pure functions; segment.h reads
// and searches whole files with them.

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>

#include "journal/journal.h"

namespace parley::journal {

constexpr uint64_t block_bytes = 4096;
constexpr uint64_t record_header_bytes = 32;
constexpr uint64_t payload_bytes_max = uint64_t{1} << 30;
constexpr size_t spares_max = 2;

// Persisted; never renumber.
enum class SegmentKind : uint32_t {
  log = 1,      // consecutive seqs from `base`; its end is found by reading
  carried = 2,  // records kept by a trim: ascending seqs with gaps, up to the last byte
};

struct SegmentHeader {
  SegmentKind kind = SegmentKind::log;
  Seq base;           // log: the first record's place, also when there is none yet
  uint64_t salt = 0;  // seeds every CRC, so that bytes of an earlier life never pass
  uint64_t bytes = 0;
  Time time;  // log: of the record before `base`, so that times never go back

  uint32_t seed() const;
};

// One block.
std::string encode_header(const SegmentHeader& header);

// The header, or what is wrong with it.
std::expected<SegmentHeader, std::string> decode_header(std::string_view block);

// Unpredictable, so that no payload can pretend to be a record of the segment that holds it.
uint64_t new_salt();

std::string log_name(Seq base);
std::string carried_name(Seq base, uint64_t salt);
std::string spare_name(uint64_t salt);
std::string snapshot_name(Seq seq);

// The place in the name of a snapshot; none when the name is not one.
std::optional<Seq> parse_snapshot_name(std::string_view name);

// The bytes of the blocks that so many bytes take.
uint64_t whole_blocks(uint64_t bytes);

// What a record takes in the file: header, payload, zeros up to the next multiple of 8.
uint64_t record_bytes(uint64_t payload_bytes);

struct RecordPlace {
  Seq seq;
  Time time;
  Seq floor;  // the last record known to be synced when this one was written
};

void append_record(std::string& out, uint32_t seed, const RecordPlace& place,
                   std::string_view payload);

// The head of a record that was found intact; the payload may still be torn.
struct RecordHead {
  RecordPlace place;
  uint64_t payload_bytes = 0;

  uint64_t bytes() const { return record_bytes(payload_bytes); }
};

// The head at the front of `bytes`, if they begin with one that was written under this seed. The
// check is 16 bits wide: enough to search quickly, not to trust.
std::optional<RecordHead> decode_head(std::string_view bytes, uint32_t seed);

// Whether the whole record, head to padding, is unaltered.
bool record_intact(std::string_view record, uint32_t seed);

// A damaged journal, in words that name the file, the place and what to do.
Error damaged_error(std::string_view path, uint64_t offset, std::string_view found);

}  // namespace parley::journal
