// SPDX-License-Identifier: Apache-2.0
#include "journal/file/inspect.h"

#include <algorithm>
#include <utility>

#include "journal/file/recovery.h"
#include "journal/file/snapshot_file.h"

namespace parley::journal {

namespace {

FileReport report_of(const Segment& segment) {
  FileReport report;
  report.path = segment.path;
  report.kind =
      segment.header.kind == SegmentKind::log ? FileReport::Kind::log : FileReport::Kind::carried;
  report.base = segment.header.base;
  report.last = segment.last;
  report.records = segment.records;
  report.bytes = segment.file_bytes;
  report.bytes_used = segment.end;
  return report;
}

// The newest log segment may end in a batch that was torn by a power loss: that is no damage.
void inspect_tail(Disk& disk, const Segment& newest, FileReport& report) {
  const auto file = File::open(disk, newest.path, OpenMode::read);
  if (!file) {
    report.damage = storage_error("open", newest.path, file.error());
    return;
  }
  SegmentReader reader(*file, newest.header, read_ahead_bytes);
  const auto behind = search_after(reader, newest.end, newest.last.next());
  if (!behind) {
    report.damage = storage_error("read", newest.path, behind.error());
  } else if (behind->proof) {
    report.damage = damaged_error(newest.path, newest.end,
                                  "record " + std::to_string(newest.last.n + 1) +
                                      " was stored here and is damaged or missing");
  } else if (behind->torn_end > newest.end) {
    report.torn_at = newest.end;
  }
}

FileReport inspect_segment(Disk& disk, const std::string& path, bool newest) {
  const auto segment = load_segment(disk, path);
  if (!segment) {
    FileReport report;
    report.path = path;
    report.damage = segment.error();
    return report;
  }
  FileReport report = report_of(*segment);
  if (newest) {
    inspect_tail(disk, *segment, report);
  } else if (auto damage = find_damage(disk, *segment); !damage) {
    report.damage = damage.error();
  } else {
    report.damage = *damage;
  }
  return report;
}

FileReport inspect_snapshot(Disk& disk, const std::string& directory, Seq seq) {
  FileReport report;
  report.path = directory + "/" + snapshot_name(seq);
  report.kind = FileReport::Kind::snapshot;
  report.base = seq;
  report.last = seq;
  const auto snapshot = read_snapshot(disk, directory, seq);
  if (!snapshot) {
    report.damage = snapshot.error();
    return report;
  }
  report.bytes = snapshot->state.size();
  report.bytes_used = report.bytes;
  return report;
}

// Finds records that are lost: breaks in the log after the newest whole snapshot. Breaks before it
// are what a trim leaves.
std::optional<Error> find_gap(const std::vector<FileReport>& files) {
  Seq snapshot;
  for (const FileReport& file : files) {
    if (file.kind == FileReport::Kind::snapshot && !file.damage) {
      snapshot = std::max(snapshot, file.base);
    }
  }
  Seq reached;
  for (const FileReport& file : files) {
    if (file.kind != FileReport::Kind::log || file.base == Seq{}) {
      continue;
    }
    if (file.base > reached.next() && file.base > snapshot.next()) {
      return Error{base::Code::journal_damaged,
                   "records from " + std::to_string(std::max(reached, snapshot).n + 1) + " to " +
                       std::to_string(file.base.n - 1) + " are missing before " + file.path +
                       "; restore them from a backup",
                   {}};
    }
    reached = file.last;
  }
  if (reached < snapshot) {
    return Error{base::Code::journal_damaged,
                 "the log ends at " + std::to_string(reached.n) +
                     " but there is a snapshot after " + std::to_string(snapshot.n) +
                     "; restore the newest log segment from a backup",
                 {}};
  }
  return std::nullopt;
}

}  // namespace

bool VerifyReport::sound() const {
  return !damage && std::ranges::none_of(
                        files, [](const FileReport& file) { return file.damage.has_value(); });
}

std::expected<VerifyReport, Error> verify(Disk& disk, const std::string& directory) {
  const auto listing = list_journal(disk, directory);
  if (!listing) {
    return std::unexpected(listing.error());
  }
  VerifyReport report;
  for (const std::string& name : listing->carried) {
    report.files.push_back(inspect_segment(disk, directory + "/" + name, false));
  }
  for (const std::string& name : listing->logs) {
    const bool newest = name == listing->logs.back();
    report.files.push_back(inspect_segment(disk, directory + "/" + name, newest));
  }
  for (const Seq seq : listing->snapshots) {
    report.files.push_back(inspect_snapshot(disk, directory, seq));
  }
  report.damage = find_gap(report.files);
  return report;
}

std::expected<void, Error> visit_records(
    Disk& disk, const std::string& directory,
    const std::function<void(const std::string& path, const StoredRecord&)>& visit) {
  const auto listing = list_journal(disk, directory);
  if (!listing) {
    return std::unexpected(listing.error());
  }
  std::optional<Error> first_failure;
  for (const auto* names : {&listing->carried, &listing->logs}) {
    for (const std::string& name : *names) {
      const std::string path = directory + "/" + name;
      const auto segment =
          load_segment(disk, path, [&](const StoredRecord& stored) { visit(path, stored); });
      // Goes on after a failure: a dump should show as much as can be read.
      if (!segment && !first_failure) {
        first_failure = segment.error();
      }
    }
  }
  if (first_failure) {
    return std::unexpected(*first_failure);
  }
  return {};
}

}  // namespace parley::journal
