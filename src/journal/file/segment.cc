// SPDX-License-Identifier: Apache-2.0
#include "journal/file/segment.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"

namespace parley::journal {

namespace {

// With a mark for every so many bytes, a look-up reads one or two blocks.
constexpr uint64_t index_step_bytes = 4096;

// The seqs of a log have no gaps. Those of a carried segment have, but they ascend.
bool follows(const Segment& segment, Seq seq) {
  return segment.header.kind == SegmentKind::log ? seq == segment.last.next() : seq > segment.last;
}

// Searches one buffer for heads of records, which begin at multiples of 8 bytes. Nearly all steps
// end at the comparison of the seq, so a search through a whole segment takes milliseconds.
struct Search {
  uint32_t seed;
  Seq least;
  Seq most;
  std::vector<uint64_t> heads;  // offsets of what looks like a record

  void in(std::string_view bytes, uint64_t at) {
    constexpr size_t seq_at = 8;
    for (size_t i = 0; i + record_header_bytes <= bytes.size(); i += 8) {
      Seq seq;
      std::memcpy(&seq.n, bytes.data() + i + seq_at, sizeof seq.n);
      if (seq < least || seq > most) {
        continue;
      }
      if (decode_head(bytes.substr(i), seed)) {
        heads.push_back(at + i);
      }
    }
  }
};

}  // namespace

SegmentReader::SegmentReader(const File& file, const SegmentHeader& header, size_t read_ahead)
    : file_(file), header_(header), seed_(header.seed()), read_ahead_(read_ahead) {}

std::expected<std::string_view, int> SegmentReader::bytes(uint64_t offset, size_t size) {
  if (offset >= header_.bytes) {
    return std::string_view{};
  }
  size = static_cast<size_t>(std::min<uint64_t>(size, header_.bytes - offset));
  if (offset < buffer_at_ || offset + size > buffer_at_ + buffer_.size()) {
    const auto wanted = std::min<uint64_t>(std::max(size, read_ahead_), header_.bytes - offset);
    buffer_.resize(static_cast<size_t>(wanted));
    const auto got = file_.read(buffer_.data(), buffer_.size(), offset);
    buffer_.resize(got.value_or(0));
    buffer_at_ = offset;
    if (!got) {
      return std::unexpected(got.error());
    }
  }
  return std::string_view(buffer_).substr(static_cast<size_t>(offset - buffer_at_), size);
}

std::expected<std::optional<StoredRecord>, int> SegmentReader::at(uint64_t offset) {
  const auto front = bytes(offset, record_header_bytes);
  if (!front) {
    return std::unexpected(front.error());
  }
  const auto head = decode_head(*front, seed_);
  if (!head || offset + head->bytes() > header_.bytes) {
    return std::nullopt;
  }
  const auto whole = bytes(offset, static_cast<size_t>(head->bytes()));
  if (!whole) {
    return std::unexpected(whole.error());
  }
  if (whole->size() < head->bytes() || !record_intact(*whole, seed_)) {
    return std::nullopt;
  }
  const auto payload = whole->substr(record_header_bytes, head->payload_bytes);
  return StoredRecord{Record{head->place.seq, head->place.time, payload}, head->place.floor, offset,
                      head->bytes()};
}

void SparseIndex::add(Seq seq, uint64_t offset) {
  if (marks_.empty() || offset - marks_.back().offset >= index_step_bytes) {
    marks_.push_back({seq, offset});
  }
}

uint64_t SparseIndex::offset_before(Seq seq) const {
  const auto after = std::upper_bound(marks_.begin(), marks_.end(), seq,
                                      [](Seq wanted, const Mark& m) { return wanted < m.seq; });
  return after == marks_.begin() ? block_bytes : std::prev(after)->offset;
}

void Segment::add(const RecordPlace& place, uint64_t bytes) {
  index.add(place.seq, end);
  last = place.seq;
  last_time = place.time;
  end += bytes;
  ++records;
}

uint64_t Segment::live_bytes() const {
  uint64_t sum = 0;
  for (const LiveRecord& record : live) {
    sum += record.bytes;
  }
  return sum;
}

std::expected<Segment, Error> load_segment(Disk& disk, const std::string& path,
                                           const VisitStored& visit) {
  const auto file = File::open(disk, path, OpenMode::read);
  if (!file) {
    return std::unexpected(storage_error("open", path, file.error()));
  }
  const auto size = file->size();
  std::string block(block_bytes, '\0');
  const auto got = file->read(block.data(), block.size(), 0);
  if (!size || !got) {
    return std::unexpected(storage_error("read", path, size ? got.error() : size.error()));
  }
  block.resize(*got);
  const auto header = decode_header(block);
  if (!header) {
    return std::unexpected(damaged_error(path, 0, header.error()));
  }
  Segment segment;
  segment.path = path;
  segment.header = *header;
  segment.file_bytes = *size;
  segment.last = header->kind == SegmentKind::log ? Seq{header->base.n - 1} : Seq{};
  segment.last_time = header->time;
  SegmentReader reader(*file, *header, read_ahead_bytes);
  while (true) {
    const auto stored = reader.at(segment.end);
    if (!stored) {
      return std::unexpected(storage_error("read", path, stored.error()));
    }
    if (!*stored || !follows(segment, (*stored)->record.seq)) {
      return segment;
    }
    const StoredRecord& found = **stored;
    if (visit) {
      visit(found);
    }
    segment.add({found.record.seq, found.record.time, found.floor}, found.bytes);
  }
}

std::expected<Aftermath, int> search_after(SegmentReader& reader, uint64_t from, Seq expected) {
  // Each record that was lost took at least 32 bytes, which bounds the seqs that can follow.
  const Seq most{expected.n + reader.header().bytes / record_header_bytes};
  Search search{reader.seed(), expected, most, {}};
  // The pieces overlap by a head, so that none is missed between two of them.
  constexpr size_t step = read_ahead_bytes - record_header_bytes;
  for (uint64_t at = from; at < reader.header().bytes; at += step) {
    const auto chunk = reader.bytes(at, read_ahead_bytes);
    if (!chunk) {
      return std::unexpected(chunk.error());
    }
    search.in(*chunk, at);
  }
  Aftermath result;
  for (const uint64_t offset : search.heads) {
    const auto front = reader.bytes(offset, record_header_bytes);
    if (!front) {
      return std::unexpected(front.error());
    }
    const auto head = decode_head(*front, reader.seed());
    CHECK(head.has_value());
    result.torn_end =
        std::max(result.torn_end, std::min(offset + head->bytes(), reader.header().bytes));
    const auto whole = reader.at(offset);
    if (!whole) {
      return std::unexpected(whole.error());
    }
    if (*whole && !result.valid) {
      result.valid = offset;
    }
    if (*whole && head->place.floor >= expected && !result.proof) {
      result.proof = offset;
    }
  }
  return result;
}

std::expected<Lookup, int> look_up(SegmentReader& reader, Extent extent, Seq seq) {
  for (uint64_t offset = extent.begin; offset < extent.end;) {
    const auto stored = reader.at(offset);
    if (!stored) {
      return std::unexpected(stored.error());
    }
    if (!*stored) {
      return Lookup{std::nullopt, offset};
    }
    if ((*stored)->record.seq >= seq) {
      return Lookup{(*stored)->record.seq == seq ? *stored : std::nullopt, std::nullopt};
    }
    offset += (*stored)->bytes;
  }
  return Lookup{};
}

}  // namespace parley::journal
