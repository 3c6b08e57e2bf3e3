// SPDX-License-Identifier: Apache-2.0
#include "journal/file/file.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/check.h"

namespace parley::journal {

namespace {

using Visit = std::function<void(const Record&)>;

constexpr size_t pid_width = 20;

// The lock ends with the process, however it ends; the pid in the file is only for the message.
std::expected<File, Error> take_lock(Disk& disk, const std::string& directory) {
  const std::string path = directory + "/lock";
  auto file = File::open(disk, path, OpenMode::lock_file);
  if (!file) {
    return std::unexpected(storage_error("open", path, file.error()));
  }
  if (const auto locked = file->lock(); !locked) {
    if (locked.error() != EWOULDBLOCK) {
      return std::unexpected(storage_error("lock", path, locked.error()));
    }
    std::string pid(pid_width, '\0');
    pid.resize(file->read(pid.data(), pid.size(), 0).value_or(0));
    pid.resize(std::min(pid.find(' '), pid.size()));
    return std::unexpected(
        Error{base::Code::data_in_use,
              directory + " is in use by process " + pid + "; stop it or name another directory",
              {}});
  }
  std::string pid = std::to_string(::getpid());
  pid.resize(pid_width, ' ');
  if (const auto written = file->write(pid + "\n", 0);
      !written && written.error() != ENOSPC && written.error() != EDQUOT) {
    return std::unexpected(storage_error("write", path, written.error()));
  }
  return std::move(*file);
}

}  // namespace

FileJournal::FileJournal(Opened opened, const Options& options, base::Clock& clock)
    : own_disk_(std::move(opened.own_disk)),
      lock_file_(std::move(opened.lock_file)),
      report_(opened.recovered.report),
      trimmed_(opened.recovered.readable_after),
      archive_(opened.disk, {options.directory.string(), options.segment_bytes, options.background,
                options.keep_free},
               std::move(opened.recovered)),
      log_(opened.disk, archive_, clock, {options.directory.string(), options.segment_bytes}) {}

FileJournal::~FileJournal() = default;

std::expected<std::unique_ptr<FileJournal>, Error> FileJournal::open(Options options,
                                                                     base::Clock& clock) {
  // A segment has a block for its header, and at least one for records.
  options.segment_bytes = std::max<size_t>(whole_blocks(options.segment_bytes), 2 * block_bytes);
  std::unique_ptr<Disk> own_disk;
  if (options.disk == nullptr) {
    own_disk = std::make_unique<RealDisk>();
  }
  Disk& disk = own_disk ? *own_disk : *options.disk;
  const std::string directory = options.directory.string();
  if (const int failed = disk.make_directory(directory); failed < 0) {
    return std::unexpected(storage_error("make", directory, -failed));
  }
  auto lock_file = take_lock(disk, directory);
  if (!lock_file) {
    return std::unexpected(lock_file.error());
  }
  auto recovered = recover(disk, directory, options.segment_bytes);
  if (!recovered) {
    return std::unexpected(recovered.error());
  }
  std::optional<Segment> newest = std::move(recovered->newest);
  std::unique_ptr<FileJournal> journal(new FileJournal(
      {std::move(own_disk), disk, std::move(*lock_file), std::move(*recovered)}, options, clock));
  if (auto started = journal->log_.start(std::move(newest)); !started) {
    return std::unexpected(started.error());
  }
  return journal;
}

void FileJournal::sync_behind(size_t bytes_min, std::function<void()> on_synced) {
  log_.sync_behind(bytes_min, std::move(on_synced));
}

std::expected<void, Error> FileJournal::append(std::span<const std::string_view> payloads,
                                               Sync sync) {
  return log_.append(payloads, sync);
}

Appending FileJournal::appending() { return log_.appending(); }

void FileJournal::wait() { log_.wait(); }

std::expected<void, Error> FileJournal::read(Seq after, size_t bytes_max, const Visit& visit) {
  if (after < trimmed_) {
    return std::unexpected(not_there(after.next(), "those up to " + std::to_string(trimmed_.n) +
                                                       " are trimmed; begin with the snapshot"));
  }
  size_t left = std::max<size_t>(bytes_max, 1);
  const Visit hand_out = [&](const Record& record) {
    left -= std::min(left, record.payload.size() + record_header_bytes);
    visit(record);
  };
  // The last record is looked up each time: the visitor may have let a pending batch count.
  for (Seq from = after.next(); from <= log_.segment().last && left > 0;) {
    if (log_.recent().holds(from)) {
      from = log_.recent().read(from, left, hand_out);
      continue;
    }
    const auto found = places(from);
    if (!found) {
      return std::unexpected(found.error());
    }
    // What is not trimmed is in a log segment, whatever else holds a copy.
    CHECK(!found->empty());
    CHECK(found->front().header.kind == SegmentKind::log);
    const auto reached = read_from(found->front(), from, left, hand_out);
    if (!reached) {
      return std::unexpected(reached.error());
    }
    CHECK(*reached > from);
    from = *reached;
  }
  return {};
}

// Where the record lies, if it is not in memory: the segment that is being written is the log's,
// all others are the archive's.
std::expected<std::vector<Place>, Error> FileJournal::places(Seq seq) {
  if (seq < log_.segment().header.base) {
    return archive_.places(seq);
  }
  auto place = log_.place(seq);
  if (!place) {
    return std::unexpected(place.error());
  }
  std::vector<Place> places;
  places.push_back(std::move(*place));
  return places;
}

std::expected<std::string, Error> FileJournal::fetch(Seq seq) {
  const Seq newest = log_.segment().last;
  if (seq == Seq{} || seq > newest) {
    return std::unexpected(not_there(seq, "the last one is " + std::to_string(newest.n)));
  }
  if (log_.recent().holds(seq)) {
    return log_.recent().fetch(seq);
  }
  const auto found = places(seq);
  return found ? fetch_from(*found, seq) : std::unexpected(found.error());
}

void FileJournal::fetch_behind(std::function<void()> on_fetched) {
  CHECK(!fetcher_);
  fetcher_ = std::make_unique<Fetcher>(std::move(on_fetched));
}

// The places are looked up and opened on the fetcher's thread too, but for the segment that is
// being written, which only this one knows. Its records are as they are, however it goes on; what
// the housekeeper moves meanwhile is found in its new place.
void FileJournal::fetch_later(const std::vector<Seq>& seqs) {
  if (!fetcher_) {
    Journal::fetch_later(seqs);
    return;
  }
  for (const Seq seq : seqs) {
    const bool is_there = seq != Seq{} && seq <= log_.segment().last;
    if (!is_there || log_.recent().holds(seq)) {
      fetcher_->add(seq, [payload = fetch(seq)] { return payload; });
      continue;
    }
    std::expected<std::vector<Place>, Error> active;
    if (seq >= log_.segment().header.base) {
      active = places(seq);
    }
    fetcher_->add(seq, [&archive = archive_, seq, active = std::move(active)] {
      auto fetched = active && !active->empty()
                         ? fetch_from(*active, seq)
                         : std::expected<std::string, Error>(std::unexpected(not_there(seq, "")));
      // The archive may move the record between the look-up and the reading, but hardly each time.
      constexpr int tries_max = 3;
      for (int tries = 0; !fetched && tries < tries_max; ++tries) {
        const auto found = archive.places(seq);
        fetched = found ? fetch_from(*found, seq) : std::unexpected(found.error());
      }
      return fetched;
    });
  }
}

bool FileJournal::has_fetched() { return fetcher_ ? fetcher_->has_some() : Journal::has_fetched(); }

std::vector<Fetched> FileJournal::take_fetched() {
  return fetcher_ ? fetcher_->take() : Journal::take_fetched();
}

// A snapshot must never be ahead of the records: recovery takes it as the proof that those before
// it were stored.
std::expected<void, Error> FileJournal::save(Snapshot snapshot) {
  if (auto synced = log_.sync_upto(snapshot.seq); !synced) {
    return synced;
  }
  archive_.save(std::move(snapshot));
  return {};
}

std::optional<Error> FileJournal::take_save_failure() { return archive_.take_save_failure(); }

Seq FileJournal::snapshot_seq() { return archive_.snapshot_seq(); }

std::expected<std::optional<Snapshot>, Error> FileJournal::load() { return archive_.load(); }

void FileJournal::trim(Seq upto, std::vector<Seq> keep) {
  CHECK(upto <= snapshot_seq());
  trimmed_ = std::max(trimmed_, upto);
  archive_.trim(upto, std::move(keep));
}

uint64_t FileJournal::room() { return archive_.room(); }

void FileJournal::settle() {
  log_.wait();
  archive_.settle();
}

std::optional<Error> FileJournal::take_trouble() { return archive_.take_trouble(); }

}  // namespace parley::journal
