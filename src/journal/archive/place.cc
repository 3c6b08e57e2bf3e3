// SPDX-License-Identifier: Apache-2.0
#include "journal/archive/place.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace parley::journal {

namespace {

// One record is wanted, and the index leads to within a block of it.
constexpr size_t look_up_bytes = 2 * block_bytes;

}  // namespace

std::expected<Place, Error> open_place(Disk& disk, const Segment& segment, Seq seq) {
  auto file = File::open(disk, segment.path, OpenMode::read);
  if (!file) {
    return std::unexpected(storage_error("open", segment.path, file.error()));
  }
  const Extent extent{segment.index.offset_before(seq), segment.end};
  return Place{std::move(*file), segment.path, segment.header, extent};
}

std::expected<std::string, Error> fetch_from(std::span<const Place> places, Seq seq) {
  // Damage in one place is told only when no other place has the record: the segment may have been
  // given back while it was read, after the record was carried to another one.
  std::optional<Error> damage;
  for (const Place& place : places) {
    SegmentReader reader(place.file, place.header, look_up_bytes);
    const auto lookup = look_up(reader, place.extent, seq);
    if (!lookup) {
      return std::unexpected(storage_error("read", place.path, lookup.error()));
    }
    if (lookup->found) {
      return std::string(lookup->found->record.payload);
    }
    if (lookup->damaged_at) {
      damage = damaged_error(place.path, *lookup->damaged_at,
                             "record " + std::to_string(seq.n) + " cannot be reached");
    }
  }
  return std::unexpected(damage ? *damage : not_there(seq, "it was trimmed"));
}

std::expected<Seq, Error> read_from(const Place& place, Seq from, const size_t& left,
                                    const std::function<void(const Record&)>& visit) {
  // Reading ahead by more than is wanted would cost a short read the time of a long one.
  const size_t ahead = std::min(read_ahead_bytes, left + look_up_bytes);
  SegmentReader reader(place.file, place.header, ahead);
  for (uint64_t offset = place.extent.begin; offset < place.extent.end && left > 0;) {
    const auto stored = reader.at(offset);
    if (!stored) {
      return std::unexpected(storage_error("read", place.path, stored.error()));
    }
    if (!*stored || (*stored)->record.seq > from) {
      return std::unexpected(damaged_error(
          place.path, offset, "record " + std::to_string(from.n) + " was here and is damaged"));
    }
    if ((*stored)->record.seq == from) {
      visit((*stored)->record);
      from = from.next();
    }
    offset += (*stored)->bytes;
  }
  return from;
}

Error not_there(Seq seq, std::string_view why) {
  std::string detail = "record " + std::to_string(seq.n) + " is not in the journal: ";
  return {base::Code::not_found, detail.append(why), {}};
}

}  // namespace parley::journal
