// SPDX-License-Identifier: Apache-2.0
#include "journal/file/recovery.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "journal/file/snapshot_file.h"

namespace parley::journal {

namespace {

std::string missing(Seq expected) {
  return "record " + std::to_string(expected.n) + " is expected here and is damaged or missing";
}

bool all_zero(std::string_view bytes) {
  return bytes.find_first_not_of('\0') == std::string_view::npos;
}

// Overwrites with zeros whatever is not zero behind the last valid record, and makes the file as
// long as it should be. Otherwise, when a new record happens to end where an old one of the torn
// batch begins, the old one would count as its successor.
std::expected<void, Error> clear_after(Disk& disk, const Segment& segment) {
  const auto file = File::open(disk, segment.path, OpenMode::read_write);
  if (!file) {
    return std::unexpected(storage_error("open", segment.path, file.error()));
  }
  SegmentReader reader(*file, segment.header, read_ahead_bytes);
  const std::string zeros(block_bytes, '\0');
  for (uint64_t at = segment.end; at < segment.header.bytes;) {
    const uint64_t block_end = (at / block_bytes + 1) * block_bytes;
    const auto size = static_cast<size_t>(std::min(block_end, segment.header.bytes) - at);
    const auto found = reader.bytes(at, size);
    if (!found) {
      return std::unexpected(storage_error("read", segment.path, found.error()));
    }
    if (found->size() < size || !all_zero(*found)) {
      if (const auto done = file->write({zeros.data(), size}, at); !done) {
        return std::unexpected(storage_error("write", segment.path, done.error()));
      }
    }
    at += size;
  }
  // Synced also when nothing was cut: after a crash of the process the last batch may be only in
  // the kernel's memory.
  if (const auto synced = file->sync(); !synced) {
    return std::unexpected(storage_error("sync", segment.path, synced.error()));
  }
  return {};
}

// Decides between a torn tail, which is cut, and damage, which is refused. It is damage when
// something proves that the missing record was stored: a later record whose floor is at or above
// it, or a snapshot.
std::expected<void, Error> settle_tail(Disk& disk, Recovered& found, Seq snapshot) {
  Segment& newest = *found.newest;
  const Seq expected = newest.last.next();
  const auto file = File::open(disk, newest.path, OpenMode::read);
  if (!file) {
    return std::unexpected(storage_error("open", newest.path, file.error()));
  }
  SegmentReader reader(*file, newest.header, read_ahead_bytes);
  const auto behind = search_after(reader, newest.end, expected);
  if (!behind) {
    return std::unexpected(storage_error("read", newest.path, behind.error()));
  }
  if (behind->proof) {
    return std::unexpected(damaged_error(newest.path, newest.end,
                                         missing(expected) + ", but the record at byte " +
                                             std::to_string(*behind->proof) +
                                             " proves that it was stored"));
  }
  if (snapshot >= expected) {
    return std::unexpected(damaged_error(
        newest.path, newest.end,
        missing(expected) + ", but a snapshot was taken after " + std::to_string(snapshot.n)));
  }
  if (behind->torn_end > newest.end) {
    found.report.bytes_cut = behind->torn_end - newest.end;
    found.report.cut_segment = newest.path;
    found.report.cut_offset = newest.end;
  }
  auto cleared = clear_after(disk, newest);
  newest.file_bytes = newest.header.bytes;
  return cleared;
}

std::expected<void, Error> check_name(const Segment& segment, const std::string& name) {
  const SegmentHeader& header = segment.header;
  const std::string wanted = header.kind == SegmentKind::log
                                 ? log_name(header.base)
                                 : carried_name(header.base, header.salt);
  if (wanted != name) {
    return std::unexpected(damaged_error(segment.path, 0, "by its header this is " + wanted));
  }
  return {};
}

std::expected<std::vector<Segment>, Error> load_all(Disk& disk, const std::string& directory,
                                                    const std::vector<std::string>& names) {
  std::vector<Segment> segments;
  for (const std::string& name : names) {
    auto segment = load_segment(disk, directory + "/" + name);
    if (!segment) {
      return std::unexpected(segment.error());
    }
    if (auto named = check_name(*segment, name); !named) {
      return std::unexpected(named.error());
    }
    segments.push_back(std::move(*segment));
  }
  return segments;
}

// Follows the log from its oldest segment. A trim may have taken segments out of the middle: the
// records before such a break can be fetched one by one, but not be read in order. Sets
// `readable_after` to the last break.
std::expected<void, Error> connect(Disk& disk, const std::vector<Segment>& logs, Recovered& found) {
  CHECK(!logs.empty());
  found.readable_after = Seq{logs.front().header.base.n - 1};
  for (size_t i = 0; i + 1 < logs.size(); ++i) {
    const Seq next_base = logs[i + 1].header.base;
    if (next_base == logs[i].last.next()) {
      continue;
    }
    if (next_base <= logs[i].last) {
      return std::unexpected(
          damaged_error(logs[i + 1].path, 0, "its records were already in the segment before it"));
    }
    auto damage = find_damage(disk, logs[i]);
    if (!damage) {
      return std::unexpected(damage.error());
    }
    if (*damage) {
      return std::unexpected(**damage);
    }
    found.readable_after = Seq{next_base.n - 1};
  }
  return {};
}

// The two newest snapshots that can be read. A damaged one is passed over and reported.
std::expected<void, Error> load_snapshots(Disk& disk, const std::string& directory,
                                          const Listing& listing, Recovered& found) {
  for (auto seq = listing.snapshots.rbegin(); seq != listing.snapshots.rend(); ++seq) {
    const auto snapshot = read_snapshot(disk, directory, *seq);
    if (snapshot) {
      found.snapshots.insert(found.snapshots.begin(), *seq);
    } else if (snapshot.error().code != base::Code::journal_damaged) {
      return std::unexpected(snapshot.error());
    } else if (found.snapshots.empty()) {
      found.report.snapshot_passed_over += snapshot.error().detail;
    }
  }
  return {};
}

Error gap_error(const std::string& directory, const Recovered& found, Seq snapshot) {
  std::string detail = "records " + std::to_string(snapshot.n + 1) + " to " +
                       std::to_string(found.readable_after.n) + " are missing in " + directory;
  if (!found.report.snapshot_passed_over.empty()) {
    detail += ", and the snapshot that would replace them is damaged (" +
              found.report.snapshot_passed_over + ")";
  }
  detail += "; restore the missing files from a backup";
  return {base::Code::journal_damaged, std::move(detail), {}};
}

std::expected<void, Error> remove_temporary(Disk& disk, const std::string& directory,
                                            const Listing& listing) {
  for (const std::string& name : listing.temporary) {
    const std::string path = directory + "/" + name;
    if (const auto done = as_result(disk.remove(path)); !done) {
      return std::unexpected(storage_error("remove", path, done.error()));
    }
  }
  return {};
}

// Keeps the spares that have the size of the segments made now, and removes the others.
// One that cannot be removed does no harm: the next start tries again.
void sort_spares(Disk& disk, const std::string& directory, const Listing& listing,
                 uint64_t segment_bytes, Recovered& found) {
  for (const std::string& name : listing.spares) {
    const std::string path = directory + "/" + name;
    const auto file = File::open(disk, path, OpenMode::read);
    if (file && file->size() == segment_bytes && found.spares.size() < spares_max) {
      found.spares.push_back(path);
    } else {
      disk.remove(path);
    }
  }
}

std::expected<void, Error> check_carried(Disk& disk, const Recovered& found) {
  for (const Segment& segment : found.carried) {
    auto damage = find_damage(disk, segment);
    if (!damage) {
      return std::unexpected(damage.error());
    }
    if (*damage) {
      return std::unexpected(**damage);
    }
  }
  return {};
}

}  // namespace

std::expected<Listing, Error> list_journal(Disk& disk, const std::string& directory) {
  std::vector<std::string> names;
  if (const int failed = disk.list(directory, names); failed < 0) {
    return std::unexpected(storage_error("list", directory, -failed));
  }
  std::ranges::sort(names);
  Listing listing;
  for (const std::string& name : names) {
    if (name.ends_with(".tmp")) {
      listing.temporary.push_back(name);
    } else if (const auto seq = parse_snapshot_name(name)) {
      listing.snapshots.push_back(*seq);
    } else if (!name.ends_with(".seg")) {
      continue;
    } else if (name.starts_with("log-")) {
      listing.logs.push_back(name);
    } else if (name.starts_with("carried-")) {
      listing.carried.push_back(name);
    } else if (name.starts_with("spare-")) {
      listing.spares.push_back(name);
    }
  }
  return listing;
}

std::expected<std::optional<Error>, Error> find_damage(Disk& disk, const Segment& segment) {
  if (segment.end >= segment.header.bytes) {
    return std::nullopt;
  }
  const Seq expected = segment.last.next();
  if (segment.header.kind == SegmentKind::carried) {
    return damaged_error(segment.path, segment.end,
                         "a record after " + std::to_string(segment.last.n) +
                             " is expected here and is damaged or missing");
  }
  const auto file = File::open(disk, segment.path, OpenMode::read);
  if (!file) {
    return std::unexpected(storage_error("open", segment.path, file.error()));
  }
  SegmentReader reader(*file, segment.header, read_ahead_bytes);
  const auto behind = search_after(reader, segment.end, expected);
  if (!behind) {
    return std::unexpected(storage_error("read", segment.path, behind.error()));
  }
  if (behind->valid) {
    return damaged_error(segment.path, segment.end,
                         missing(expected) + ", but there are records behind it");
  }
  return std::nullopt;
}

std::expected<Recovered, Error> recover(Disk& disk, const std::string& directory,
                                        uint64_t segment_bytes) {
  const auto listing = list_journal(disk, directory);
  if (!listing) {
    return std::unexpected(listing.error());
  }
  // All that can be refused comes before the first change: a damaged journal stays as it was found,
  // for `verify` and for whoever repairs it.
  Recovered found;
  auto carried = load_all(disk, directory, listing->carried);
  auto logs = load_all(disk, directory, listing->logs);
  if (!carried || !logs) {
    return std::unexpected(carried ? logs.error() : carried.error());
  }
  found.carried = std::move(*carried);
  auto done = check_carried(disk, found);
  if (done) {
    done = load_snapshots(disk, directory, *listing, found);
  }
  const Seq snapshot = found.snapshots.empty() ? Seq{} : found.snapshots.back();
  if (done && logs->empty() && !(found.carried.empty() && listing->snapshots.empty())) {
    done = std::unexpected(Error{
        base::Code::journal_damaged,
        "there is no log segment in " + directory + "; restore the missing files from a backup",
        {}});
  }
  if (done && !logs->empty()) {
    done = connect(disk, *logs, found);
    if (done && found.readable_after > snapshot) {
      done = std::unexpected(gap_error(directory, found, snapshot));
    }
    found.newest = std::move(logs->back());
    logs->pop_back();
    found.logs = std::move(*logs);
    if (done) {
      done = settle_tail(disk, found, snapshot);
    }
  }
  if (done) {
    done = remove_temporary(disk, directory, *listing);
  }
  if (!done) {
    return std::unexpected(done.error());
  }
  sort_spares(disk, directory, *listing, segment_bytes, found);
  found.report.segments = found.logs.size() + found.carried.size() + (found.newest ? 1 : 0);
  for (const Segment& segment : found.logs) {
    found.report.records += segment.records;
  }
  found.report.records += found.newest ? found.newest->records : 0;
  return found;
}

}  // namespace parley::journal
