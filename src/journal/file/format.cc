// SPDX-License-Identifier: Apache-2.0
#include "journal/file/format.h"

#include <array>
#include <bit>
#include <charconv>
#include <cstring>
#include <random>

#include "base/check.h"
#include "base/hash.h"

namespace parley::journal {

static_assert(std::endian::native == std::endian::little, "the format is little-endian");

namespace {

constexpr std::string_view magic = "PRLYSEG\n";
constexpr uint32_t format_version = 1;
constexpr uint16_t record_kind_plain = 1;

// The bytes of the header, as they lie on disk.
struct HeaderLayout {
  std::array<char, 8> magic;
  uint32_t version;
  uint32_t kind;
  uint64_t base;
  uint64_t salt;
  uint64_t bytes;
  int64_t time_us;
  std::array<char, 12> reserved;
  uint32_t crc;
};
static_assert(sizeof(HeaderLayout) == 64);
constexpr size_t header_crc_at = 60;

// The bytes of a record before its payload. `crc` covers all that follows it, padding included;
// `head_check` covers the head alone, so that a search can tell a head from a payload at once.
struct RecordLayout {
  uint32_t crc;
  uint32_t length;
  uint64_t seq;
  int64_t time_us;
  uint32_t floor_delta;
  uint16_t kind;
  uint16_t head_check;
};
static_assert(sizeof(RecordLayout) == record_header_bytes);
constexpr size_t record_crc_bytes = 4;
constexpr size_t head_check_at = 30;

// Enough for any seq, so that names sort as numbers do.
std::string twenty_digits(uint64_t n) {
  const std::string digits = std::to_string(n);
  return std::string(20 - digits.size(), '0') + digits;
}

std::string sixteen_hex(uint64_t n) {
  std::string text(16, '0');
  for (size_t i = 0; i < 16; ++i) {
    text[15 - i] = "0123456789abcdef"[(n >> (4 * i)) & 15];
  }
  return text;
}

uint16_t head_check(const char* head, uint32_t seed) {
  const std::string_view checked(head + record_crc_bytes, head_check_at - record_crc_bytes);
  const uint32_t crc = base::crc32c(checked, seed);
  return static_cast<uint16_t>(crc ^ (crc >> 16));
}

}  // namespace

uint32_t SegmentHeader::seed() const {
  return base::crc32c({reinterpret_cast<const char*>(&salt), sizeof salt});
}

std::string encode_header(const SegmentHeader& header) {
  HeaderLayout layout{};
  std::memcpy(layout.magic.data(), magic.data(), magic.size());
  layout.version = format_version;
  layout.kind = static_cast<uint32_t>(header.kind);
  layout.base = header.base.n;
  layout.salt = header.salt;
  layout.bytes = header.bytes;
  layout.time_us = header.time.us;
  layout.crc = base::crc32c({reinterpret_cast<const char*>(&layout), header_crc_at});
  std::string block(block_bytes, '\0');
  std::memcpy(block.data(), &layout, sizeof layout);
  return block;
}

std::expected<SegmentHeader, std::string> decode_header(std::string_view block) {
  HeaderLayout layout{};
  if (block.size() < block_bytes) {
    return std::unexpected("the segment header is cut");
  }
  std::memcpy(&layout, block.data(), sizeof layout);
  if (std::string_view(layout.magic.data(), layout.magic.size()) != magic) {
    return std::unexpected("this is not a segment header");
  }
  if (layout.crc != base::crc32c(block.substr(0, header_crc_at))) {
    return std::unexpected("the segment header fails its checksum");
  }
  if (layout.version != format_version) {
    return std::unexpected("format version " + std::to_string(layout.version) +
                           " is not known to this program");
  }
  const auto kind = static_cast<SegmentKind>(layout.kind);
  if ((kind != SegmentKind::log && kind != SegmentKind::carried) || layout.bytes < block_bytes) {
    return std::unexpected("the segment header makes no sense");
  }
  return SegmentHeader{kind, Seq{layout.base}, layout.salt, layout.bytes, Time{layout.time_us}};
}

uint64_t new_salt() {
  std::random_device device;
  return (uint64_t{device()} << 32) | device();
}

std::string log_name(Seq base) { return "log-" + twenty_digits(base.n) + ".seg"; }

std::string carried_name(Seq base, uint64_t salt) {
  return "carried-" + twenty_digits(base.n) + "-" + sixteen_hex(salt) + ".seg";
}

std::string spare_name(uint64_t salt) { return "spare-" + sixteen_hex(salt) + ".seg"; }

std::string snapshot_name(Seq seq) { return "snapshot-" + twenty_digits(seq.n) + ".snap"; }

std::optional<Seq> parse_snapshot_name(std::string_view name) {
  constexpr std::string_view prefix = "snapshot-";
  Seq seq;
  if (name.starts_with(prefix)) {
    const std::string_view digits = name.substr(prefix.size());
    std::from_chars(digits.data(), digits.data() + digits.size(), seq.n);
  }
  // One comparison checks the digits, their number and the end of the name.
  return snapshot_name(seq) == name ? std::optional(seq) : std::nullopt;
}

uint64_t whole_blocks(uint64_t bytes) {
  return (bytes + block_bytes - 1) / block_bytes * block_bytes;
}

uint64_t record_bytes(uint64_t payload_bytes) {
  return (record_header_bytes + payload_bytes + 7) & ~uint64_t{7};
}

void append_record(std::string& out, uint32_t seed, const RecordPlace& place,
                   std::string_view payload) {
  CHECK(payload.size() <= payload_bytes_max);
  // A record cannot prove its own sync, so the floor is below it.
  CHECK(place.seq > place.floor);
  CHECK(place.seq.n - place.floor.n <= UINT32_MAX);
  const size_t begin = out.size();
  RecordLayout layout{};
  layout.length = static_cast<uint32_t>(payload.size());
  layout.seq = place.seq.n;
  layout.time_us = place.time.us;
  layout.floor_delta = static_cast<uint32_t>(place.seq.n - place.floor.n);
  layout.kind = record_kind_plain;
  layout.head_check = head_check(reinterpret_cast<const char*>(&layout), seed);
  out.append(reinterpret_cast<const char*>(&layout), sizeof layout);
  out.append(payload);
  out.append(begin + record_bytes(payload.size()) - out.size(), '\0');
  const auto covered = std::string_view(out).substr(begin + record_crc_bytes);
  const uint32_t crc = base::crc32c(covered, seed);
  std::memcpy(out.data() + begin, &crc, sizeof crc);
}

std::optional<RecordHead> decode_head(std::string_view bytes, uint32_t seed) {
  if (bytes.size() < record_header_bytes) {
    return std::nullopt;
  }
  RecordLayout layout{};
  std::memcpy(&layout, bytes.data(), sizeof layout);
  if (layout.seq == 0 || layout.kind != record_kind_plain || layout.length > payload_bytes_max ||
      layout.floor_delta == 0 || layout.floor_delta > layout.seq ||
      layout.head_check != head_check(bytes.data(), seed)) {
    return std::nullopt;
  }
  const RecordPlace place{Seq{layout.seq}, Time{layout.time_us},
                          Seq{layout.seq - layout.floor_delta}};
  return RecordHead{place, layout.length};
}

bool record_intact(std::string_view record, uint32_t seed) {
  CHECK(record.size() >= record_header_bytes);
  uint32_t crc = 0;
  std::memcpy(&crc, record.data(), sizeof crc);
  return crc == base::crc32c(record.substr(record_crc_bytes), seed);
}

Error damaged_error(std::string_view path, uint64_t offset, std::string_view found) {
  std::string detail(path);
  detail.append(" at byte ").append(std::to_string(offset)).append(": ").append(found);
  detail.append("; run `parley journal verify` and restore this file from a backup");
  return {base::Code::journal_damaged, std::move(detail), {}};
}

}  // namespace parley::journal
