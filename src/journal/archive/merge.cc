// SPDX-License-Identifier: Apache-2.0
#include "journal/archive/merge.h"

#include <algorithm>
#include <map>
#include <span>
#include <utility>

#include "base/check.h"

namespace parley::journal {

namespace {

// One record on its way into a carried segment.
struct Move {
  const Segment* from;
  LiveRecord record;
};

// The readers of the segments that are merged, opened when first needed.
class Sources {
 public:
  explicit Sources(Disk& disk) : disk_(disk) {}

  // Appends the record to `out`, as it is in a segment with the CRC seed `seed`.
  std::expected<void, Error> copy(const Move& move, uint32_t seed, std::string& out) {
    auto reader = reader_of(*move.from);
    if (!reader) {
      return std::unexpected(reader.error());
    }
    const auto stored = (*reader)->at(move.record.offset);
    if (!stored) {
      return std::unexpected(storage_error("read", move.from->path, stored.error()));
    }
    if (!*stored || (*stored)->record.seq != move.record.seq) {
      return std::unexpected(damaged_error(
          move.from->path, move.record.offset,
          "record " + std::to_string(move.record.seq.n) + " was here and is damaged"));
    }
    const Record& record = (*stored)->record;
    // All records before it were durable long ago, so the floor may be the one right before it: the
    // field holds a distance, and must not overflow.
    append_record(out, seed, {record.seq, record.time, Seq{record.seq.n - 1}}, record.payload);
    return {};
  }

 private:
  struct Source {
    File file;
    std::optional<SegmentReader> reader;
  };

  std::expected<SegmentReader*, Error> reader_of(const Segment& segment) {
    Source& source = sources_[&segment];
    if (!source.reader) {
      auto file = File::open(disk_, segment.path, OpenMode::read);
      if (!file) {
        return std::unexpected(storage_error("open", segment.path, file.error()));
      }
      source.file = std::move(*file);
      source.reader.emplace(source.file, segment.header, size_t{64} << 10);
    }
    return &*source.reader;
  }

  Disk& disk_;
  std::map<const Segment*, Source> sources_;
};

// Writes one carried segment under a temporary name; `segment` learns what is in it.
std::expected<void, Error> write_carried(Disk& disk, Sources& sources, std::span<const Move> moves,
                                         Segment& segment, const std::string& path) {
  const auto file = File::open(disk, path, OpenMode::create);
  if (!file) {
    return std::unexpected(storage_error("create", path, file.error()));
  }
  const uint32_t seed = segment.header.seed();
  std::string buffer = encode_header(segment.header);
  uint64_t at = 0;
  for (size_t i = 0; i < moves.size(); ++i) {
    const size_t begin = buffer.size();
    if (auto copied = sources.copy(moves[i], seed, buffer); !copied) {
      return copied;
    }
    segment.add({moves[i].record.seq, Time{}, Seq{}}, buffer.size() - begin);
    if (buffer.size() < read_ahead_bytes && i + 1 < moves.size()) {
      continue;
    }
    if (const auto written = file->write(buffer, at); !written) {
      return std::unexpected(storage_error("write", path, written.error()));
    }
    at += buffer.size();
    buffer.clear();
  }
  CHECK(at == segment.header.bytes);
  if (const auto synced = file->sync(); !synced) {
    return std::unexpected(storage_error("sync", path, synced.error()));
  }
  return {};
}

std::expected<Segment, Error> make_carried(Disk& disk, const std::string& directory,
                                           Sources& sources, std::span<const Move> moves) {
  Segment segment;
  segment.header = {SegmentKind::carried, moves.front().record.seq, new_salt(), block_bytes, {}};
  for (const Move& move : moves) {
    segment.header.bytes += move.record.bytes;
    segment.live.push_back(
        {move.record.seq, segment.header.bytes - move.record.bytes, move.record.bytes});
  }
  segment.surveyed = true;
  segment.file_bytes = segment.header.bytes;
  segment.path = directory + "/" + carried_name(segment.header.base, segment.header.salt);
  const std::string temporary = segment.path + ".tmp";
  auto done = write_carried(disk, sources, moves, segment, temporary);
  if (done) {
    const auto renamed = as_result(disk.rename(temporary, segment.path));
    if (!renamed) {
      done = std::unexpected(storage_error("rename", temporary, renamed.error()));
    }
  }
  if (!done) {
    disk.remove(temporary);
    return std::unexpected(done.error());
  }
  return segment;
}

// All live records by their seq, each once. Stable: of two copies the first segment's is taken.
std::vector<Move> moves_in_order(const std::vector<const Segment*>& segments) {
  std::vector<Move> moves;
  for (const Segment* segment : segments) {
    for (const LiveRecord& record : segment->live) {
      moves.push_back({segment, record});
    }
  }
  std::ranges::stable_sort(moves, {}, [](const Move& move) { return move.record.seq; });
  const auto copies = std::ranges::unique(moves, {}, [](const Move& m) { return m.record.seq; });
  moves.erase(copies.begin(), copies.end());
  return moves;
}

// Which of the `wanted` records (ascending) the segment holds; their places and sizes.
std::expected<std::vector<LiveRecord>, Error> find_records(Disk& disk, const Segment& segment,
                                                           const std::vector<Seq>& wanted) {
  std::vector<LiveRecord> live;
  const auto begin = std::ranges::lower_bound(wanted, segment.header.base);
  const auto end = std::ranges::upper_bound(wanted, segment.last);
  if (begin >= end) {
    return live;
  }
  const auto file = File::open(disk, segment.path, OpenMode::read);
  if (!file) {
    return std::unexpected(storage_error("open", segment.path, file.error()));
  }
  SegmentReader reader(*file, segment.header, size_t{64} << 10);
  uint64_t offset = block_bytes;
  for (auto seq = begin; seq != end; ++seq) {
    offset = std::max(offset, segment.index.offset_before(*seq));
    const auto lookup = look_up(reader, {offset, segment.end}, *seq);
    if (!lookup) {
      return std::unexpected(storage_error("read", segment.path, lookup.error()));
    }
    if (lookup->damaged_at) {
      return std::unexpected(
          damaged_error(segment.path, *lookup->damaged_at, "a record that was here is damaged"));
    }
    if (lookup->found) {
      offset = lookup->found->offset;
      live.push_back({*seq, offset, lookup->found->bytes});
    }
  }
  return live;
}

}  // namespace

Surveyed survey(Disk& disk, const std::vector<Segment*>& segments, const std::vector<Seq>& keep) {
  std::vector<bool> claimed(keep.size(), false);
  Surveyed surveyed;
  for (Segment* segment : segments) {
    if (!segment->surveyed) {
      auto live = find_records(disk, *segment, keep);
      if (!live) {
        surveyed.failure = live.error();
        continue;
      }
      segment->live = std::move(*live);
      segment->surveyed = true;
    }
    std::erase_if(segment->live, [&](const LiveRecord& record) {
      const auto kept = std::ranges::lower_bound(keep, record.seq);
      if (kept == keep.end() || *kept != record.seq) {
        return true;
      }
      const auto at = static_cast<size_t>(kept - keep.begin());
      const bool twice = claimed[at];
      claimed[at] = true;
      return twice;
    });
    surveyed.segments.push_back(segment);
  }
  return surveyed;
}

std::vector<const Segment*> choose_for_merging(std::vector<const Segment*> segments) {
  std::ranges::stable_sort(segments, {}, [](const Segment* s) { return s->live_bytes(); });
  std::vector<const Segment*> chosen;
  uint64_t live = 0;
  uint64_t taken = 0;
  for (const Segment* segment : segments) {
    const uint64_t own = segment->live_bytes();
    const bool weak = own * 2 < segment->header.bytes;
    // A small carried segment joins the merge, else there would be ever more of them. The merged
    // segment is at least twice as large, so a record is copied only as often as a size can double.
    const bool small = segment->header.kind == SegmentKind::carried && own <= live;
    if (weak || small) {
      chosen.push_back(segment);
      live += own;
      taken += segment->header.bytes;
    }
  }
  // The header of the new segment takes a block, so merging a few small records may win nothing.
  return live + block_bytes < taken ? chosen : std::vector<const Segment*>{};
}

std::expected<std::vector<Segment>, Error> merge(Disk& disk, const std::string& directory,
                                                 uint64_t segment_bytes,
                                                 const std::vector<const Segment*>& segments) {
  const std::vector<Move> moves = moves_in_order(segments);
  Sources sources(disk);
  std::vector<Segment> merged;
  for (size_t begin = 0; begin < moves.size();) {
    size_t end = begin;
    uint64_t bytes = block_bytes;
    while (end < moves.size() &&
           (end == begin || bytes + moves[end].record.bytes <= segment_bytes)) {
      bytes += moves[end].record.bytes;
      ++end;
    }
    auto segment =
        make_carried(disk, directory, sources, std::span(moves).subspan(begin, end - begin));
    if (!segment) {
      // The old segments stay, so those that were made already are not needed.
      for (const Segment& made : merged) {
        disk.remove(made.path);
      }
      return std::unexpected(segment.error());
    }
    merged.push_back(std::move(*segment));
    begin = end;
  }
  if (const auto synced = as_result(disk.sync_directory(directory)); !synced) {
    return std::unexpected(storage_error("sync", directory, synced.error()));
  }
  return merged;
}

}  // namespace parley::journal
