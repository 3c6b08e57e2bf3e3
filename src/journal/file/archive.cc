// SPDX-License-Identifier: Apache-2.0
#include "journal/file/archive.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "journal/file/merge.h"
#include "journal/file/snapshot_file.h"
#include "journal/follower.h"

namespace parley::journal {

namespace {

// Zeros are written past the kernel's cache and in pieces: that costs no copying, and a sync of the
// appending thread waits for no more than one piece.
constexpr size_t zero_piece_bytes = size_t{1} << 20;

constexpr int snapshots_nice = 10;
// After so many records the snapshot thread looks whether the journal is being closed.
constexpr uint64_t records_per_read_max = 4'096;

Result write_zeros(const File& file, uint64_t bytes) {
  if (auto reserved = file.reserve(bytes); !reserved) {
    return reserved;
  }
  const auto piece = static_cast<size_t>(std::min<uint64_t>(zero_piece_bytes, bytes));
  // Direct writing needs memory that begins at a block.
  const std::string memory(piece + block_bytes, '\0');
  const size_t past = reinterpret_cast<uintptr_t>(memory.data()) % block_bytes;
  const size_t aligned_at = (block_bytes - past) % block_bytes;
  const std::string_view zeros = std::string_view(memory).substr(aligned_at);
  for (uint64_t at = 0; at < bytes; at += piece) {
    const auto size = static_cast<size_t>(std::min<uint64_t>(piece, bytes - at));
    if (Result done = file.write(zeros.substr(0, size), at); !done) {
      return done;
    }
  }
  return file.sync();
}

}  // namespace

Archive::Archive(Disk& disk, Options options, Recovered&& recovered)
    : disk_(disk),
      options_(std::move(options)),
      spares_(std::move(recovered.spares)),
      snapshots_(std::move(recovered.snapshots)) {
  for (Segment& segment : recovered.logs) {
    const Seq base = segment.header.base;
    logs_.emplace(base, std::move(segment));
  }
  for (Segment& segment : recovered.carried) {
    std::string path = segment.path;
    carried_.emplace(std::move(path), std::move(segment));
  }
  if (options_.background) {
    housekeeper_ = std::thread([this] { run(&Archive::keep_house); });
    snapshots_keeper_ = std::thread([this] {
      // On Linux this is the priority of the thread alone. A snapshot can wait; the loop cannot.
      (void)::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), snapshots_nice);
      run(&Archive::keep_snapshots);
    });
  }
}

Archive::~Archive() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    spare_wanted_ = false;
    trim_waiting_.reset();
  }
  changed_.notify_all();
  for (std::thread* const thread : {&housekeeper_, &snapshots_keeper_}) {
    if (thread->joinable()) {
      thread->join();
    }
  }
}

std::expected<std::string, Error> Archive::take_file(uint64_t bytes) {
  if (bytes == options_.segment_bytes) {
    const std::lock_guard lock(mutex_);
    if (!spares_.empty()) {
      std::string path = std::move(spares_.back());
      spares_.pop_back();
      return path;
    }
  }
  return reserve_file(bytes);
}

void Archive::want_spare() {
  Lock lock(mutex_);
  spare_wanted_ = spares_.empty();
  wake(lock);
}

void Archive::add(Segment segment) {
  CHECK(segment.header.kind == SegmentKind::log);
  const std::lock_guard lock(mutex_);
  const Seq base = segment.header.base;
  logs_.emplace(base, std::move(segment));
}

std::expected<std::vector<Archive::Place>, Error> Archive::places(Seq seq) {
  // The files are opened under the mutex, because the housekeeper renames and removes them under
  // it.
  const std::lock_guard lock(mutex_);
  std::vector<const Segment*> holders;
  const auto after = logs_.upper_bound(seq);
  if (after != logs_.begin() && std::prev(after)->second.last >= seq) {
    holders.push_back(&std::prev(after)->second);
  }
  for (const auto& [path, segment] : carried_) {
    if (segment.header.base <= seq && seq <= segment.last) {
      holders.push_back(&segment);
    }
  }
  std::vector<Place> places;
  for (const Segment* segment : holders) {
    auto file = File::open(disk_, segment->path, OpenMode::read);
    if (!file) {
      return std::unexpected(storage_error("open", segment->path, file.error()));
    }
    const Extent extent{segment->index.offset_before(seq), segment->end};
    places.push_back({std::move(*file), segment->path, segment->header, extent});
  }
  return places;
}

void Archive::save(Snapshot snapshot) {
  Lock lock(mutex_);
  snapshot_waiting_ = std::move(snapshot);
  wake(lock);
}

std::optional<Error> Archive::take_save_failure() {
  const std::lock_guard lock(mutex_);
  return std::exchange(save_failure_, std::nullopt);
}

Seq Archive::snapshot_seq() {
  const std::lock_guard lock(mutex_);
  return snapshots_.empty() ? Seq{} : snapshots_.back();
}

std::expected<std::optional<Snapshot>, Error> Archive::load() {
  const Seq newest = snapshot_seq();
  if (newest == Seq{}) {
    return std::nullopt;
  }
  auto snapshot = read_snapshot(disk_, options_.directory, newest);
  if (!snapshot) {
    return std::unexpected(snapshot.error());
  }
  return std::move(*snapshot);
}

void Archive::trim(Seq upto, std::vector<Seq> keep) {
  CHECK(std::ranges::is_sorted(keep));
  Lock lock(mutex_);
  trim_waiting_ = Trim{upto, std::move(keep)};
  wake(lock);
}

void Archive::settle() {
  Lock lock(mutex_);
  changed_.wait(lock, [this] {
    return !is_keeping_house_ && !is_storing_ && !spare_wanted_ && !snapshot_waiting_ &&
           !trim_waiting_;
  });
}

std::optional<Error> Archive::take_trouble() {
  const std::lock_guard lock(mutex_);
  return std::exchange(trouble_, std::nullopt);
}

// Notifies only when something was done: else the two threads would wake each other for ever.
void Archive::run(Work work) {
  Lock lock(mutex_);
  while (true) {
    bool worked = false;
    while ((this->*work)(lock)) {
      worked = true;
    }
    if (worked) {
      changed_.notify_all();
    }
    if (stopping_) {
      return;
    }
    changed_.wait(lock);
  }
}

void Archive::wake(Lock& lock) {
  if (options_.background) {
    changed_.notify_all();
    return;
  }
  while (keep_house(lock) || keep_snapshots(lock)) {
  }
}

// Does one piece of work, mostly without the mutex; false when there is none.
bool Archive::keep_house(Lock& lock) {
  is_keeping_house_ = true;
  bool worked = true;
  if (std::exchange(spare_wanted_, false)) {
    lock.unlock();
    auto made = make_file(options_.segment_bytes);
    lock.lock();
    if (made) {
      spares_.push_back(std::move(*made));
    } else {
      trouble_ = made.error();
    }
  } else if (const auto trim = std::exchange(trim_waiting_, std::nullopt)) {
    give_back(*trim, lock);
  } else {
    worked = false;
  }
  is_keeping_house_ = false;
  return worked;
}

// The same for the other thread: makes and stores the snapshot that waits.
bool Archive::keep_snapshots(Lock& lock) {
  auto snapshot = std::exchange(snapshot_waiting_, std::nullopt);
  if (!snapshot) {
    return false;
  }
  is_storing_ = true;
  store(*snapshot, lock);
  is_storing_ = false;
  return true;
}

void Archive::store(Snapshot& snapshot, Lock& lock) {
  const Seq older = snapshots_.empty() ? Seq{} : snapshots_.back();
  lock.unlock();
  // A snapshot that cannot be restored must not replace one that can, nor the records.
  auto written = complete(snapshot);
  if (written) {
    written = write_snapshot(disk_, options_.directory, snapshot);
  }
  if (written) {
    remove_old_snapshots(snapshot.seq, older);
  }
  lock.lock();
  if (!written) {
    save_failure_ = written.error();
    return;
  }
  // Two are kept: when the newest turns out damaged, the older one and the records make the state.
  snapshots_ = {older, snapshot.seq};
  if (older == Seq{} || older == snapshot.seq) {
    snapshots_.erase(snapshots_.begin());
  }
}

// Reads the records in parts, so that the work ends soon when the journal is closed.
std::expected<void, Error> Archive::complete(Snapshot& snapshot) {
  if (!snapshot.make) {
    return snapshot.complete({}, {});
  }
  const Error closing{base::Code::unavailable, "the journal is being closed", {}};
  if (is_stopping()) {
    return std::unexpected(closing);
  }
  auto older = load();
  if (!older) {
    return std::unexpected(older.error());
  }
  Follower follower(options_.directory, &disk_);
  const auto read = [&](Seq after, Seq upto, const auto& visit) -> std::expected<void, Error> {
    while (after < upto) {
      if (is_stopping()) {
        return std::unexpected(closing);
      }
      const Seq next{std::min(upto.n, after.n + records_per_read_max)};
      if (auto done = follower.read(after, next, visit); !done) {
        return done;
      }
      after = next;
    }
    return {};
  };
  const auto check = std::exchange(snapshot.check, {});
  if (auto made = snapshot.complete(std::move(*older), read); !made) {
    return made;
  }
  if (is_stopping()) {
    return std::unexpected(closing);
  }
  return check ? check(snapshot) : std::expected<void, Error>{};
}

bool Archive::is_stopping() {
  const std::lock_guard lock(mutex_);
  return stopping_;
}

// Goes by the directory and not by `snapshots_`, so that damaged ones that were passed over go too.
void Archive::remove_old_snapshots(Seq newest, Seq older) {
  const auto listing = list_journal(disk_, options_.directory);
  if (!listing) {
    return;
  }
  for (const Seq seq : listing->snapshots) {
    if (seq != newest && seq != older) {
      disk_.remove(options_.directory + "/" + snapshot_name(seq));
    }
  }
}

void Archive::give_back(const Trim& trim, Lock& lock) {
  // After a crash a record may be there twice. Carried segments come first, so that their copy is
  // the one that is kept.
  std::vector<Segment*> trimmed;
  for (auto& [path, segment] : carried_) {
    trimmed.push_back(&segment);
  }
  for (auto& [base, segment] : logs_) {
    trimmed.push_back(&segment);
  }
  std::erase_if(trimmed, [&](const Segment* segment) { return segment->last > trim.upto; });
  lock.unlock();
  const std::vector<const Segment*> surveyed = survey_all(trim, std::move(trimmed));
  std::vector<const Segment*> with_live;
  std::vector<const Segment*> done;
  for (const Segment* segment : surveyed) {
    (segment->live.empty() ? done : with_live).push_back(segment);
  }
  const auto chosen = choose_for_merging(std::move(with_live));
  auto merged = merge(disk_, options_.directory, options_.segment_bytes, chosen);
  lock.lock();
  if (merged) {
    for (Segment& segment : *merged) {
      std::string path = segment.path;
      carried_.emplace(std::move(path), std::move(segment));
    }
    done.insert(done.end(), chosen.begin(), chosen.end());
  } else {
    trouble_ = merged.error();
  }
  retire(done, lock);
}

// Brings `live` of each segment up to date. A segment is read only once: the records that a later
// trim keeps are among those that the earlier ones kept. A segment that cannot be read stays as it
// is, and is left out of the result.
std::vector<const Segment*> Archive::survey_all(const Trim& trim, std::vector<Segment*> segments) {
  std::vector<bool> claimed(trim.keep.size(), false);
  std::vector<const Segment*> surveyed;
  for (Segment* segment : segments) {
    if (!segment->surveyed) {
      auto live = survey(disk_, *segment, trim.keep);
      if (!live) {
        const std::lock_guard lock(mutex_);
        trouble_ = live.error();
        continue;
      }
      segment->live = std::move(*live);
      segment->surveyed = true;
    }
    std::erase_if(segment->live, [&](const LiveRecord& record) {
      const auto kept = std::ranges::lower_bound(trim.keep, record.seq);
      if (kept == trim.keep.end() || *kept != record.seq) {
        return true;
      }
      const auto at = static_cast<size_t>(kept - trim.keep.begin());
      const bool twice = claimed[at];
      claimed[at] = true;
      return twice;
    });
    surveyed.push_back(segment);
  }
  return surveyed;
}

// Makes spares of the files, or removes them. A spare is used only once its new name is durable:
// else a power loss could bring back the old name, with bytes that were written under the new one.
// Only the renaming is under the mutex, because removing a large file takes milliseconds.
void Archive::retire(const std::vector<const Segment*>& segments, Lock& lock) {
  std::vector<std::string> spares;
  std::vector<std::string> doomed;
  for (const Segment* segment : segments) {
    const std::string path = segment->path;
    const bool reusable = segment->header.kind == SegmentKind::log &&
                          segment->file_bytes == options_.segment_bytes &&
                          spares_.size() + spares.size() < spares_max;
    const std::string next =
        reusable ? options_.directory + "/" + spare_name(new_salt()) : path + ".tmp";
    if (const int done = disk_.rename(path, next); done < 0) {
      trouble_ = storage_error("rename", path, -done);
      continue;
    }
    (reusable ? spares : doomed).push_back(next);
    if (segment->header.kind == SegmentKind::log) {
      logs_.erase(Seq{segment->header.base});
    } else {
      carried_.erase(path);
    }
  }
  if (spares.empty() && doomed.empty()) {
    return;
  }
  lock.unlock();
  for (const std::string& path : doomed) {
    disk_.remove(path);
  }
  const int synced = disk_.sync_directory(options_.directory);
  lock.lock();
  if (synced < 0) {
    trouble_ = storage_error("sync", options_.directory, -synced);
    return;
  }
  spares_.insert(spares_.end(), spares.begin(), spares.end());
}

// For the appending thread, which waits neither for zeros nor for a sync.
std::expected<std::string, Error> Archive::reserve_file(uint64_t bytes) {
  std::string path = options_.directory + "/" + spare_name(new_salt()) + ".tmp";
  const auto file = File::open(disk_, path, OpenMode::create);
  const Result done = file ? file->reserve(bytes) : Result(std::unexpected(file.error()));
  if (!done) {
    disk_.remove(path);
    return std::unexpected(storage_error("make", path, done.error()));
  }
  return path;
}

// Makes a file of zeros that is durable, and so is its name. Appending to it changes no metadata,
// so each sync is one write of the disk.
std::expected<std::string, Error> Archive::make_file(uint64_t bytes) {
  const std::string path = options_.directory + "/" + spare_name(new_salt());
  const std::string temporary = path + ".tmp";
  Result done;
  {
    const auto file = File::open(disk_, temporary, OpenMode::create_raw);
    done = file ? write_zeros(*file, bytes) : Result(std::unexpected(file.error()));
  }
  if (done) {
    done = as_result(disk_.rename(temporary, path));
  }
  if (!done) {
    disk_.remove(temporary);
    return std::unexpected(storage_error("make", path, done.error()));
  }
  if (const auto synced = as_result(disk_.sync_directory(options_.directory)); !synced) {
    return std::unexpected(storage_error("sync", options_.directory, synced.error()));
  }
  return path;
}

}  // namespace parley::journal
