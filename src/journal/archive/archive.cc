// SPDX-License-Identifier: Apache-2.0
#include "journal/archive/archive.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/check.h"
#include "base/time.h"
#include "journal/archive/merge.h"
#include "journal/archive/spare_file.h"
#include "journal/archive/store_snapshot.h"
#include "journal/file/snapshot_file.h"

namespace parley::journal {

namespace {

constexpr int snapshots_nice = 10;

}  // namespace

Archive::Archive(Disk& disk, Options options, Recovered&& recovered)
    : disk_(disk),
      options_(std::move(options)),
      spares_(disk,
              {.directory = options_.directory,
               .bytes = options_.segment_bytes,
               .keep_free = options_.keep_free},
              std::move(recovered.spares)),
      snapshots_(std::move(recovered.snapshots)) {
  for (std::vector<Segment>* const segments : {&recovered.logs, &recovered.carried}) {
    for (Segment& segment : *segments) {
      segments_.add(std::move(segment));
    }
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
    // The next start makes a spare and is told of a trim again. A snapshot stays wanted: whoever
    // handed one over whole counts on it.
    spares_.want_nothing();
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
    if (auto spare = spares_.take()) {
      return std::move(*spare);
    }
  }
  return reserve_file(disk_, options_.directory, bytes);
}

uint64_t Archive::room() {
  Lock lock(mutex_);
  const uint64_t room = spares_.room();
  if (spares_.has_work()) {
    wake(lock);
  }
  return room;
}

void Archive::want_spare() {
  Lock lock(mutex_);
  spares_.want();
  wake(lock);
}

void Archive::add(Segment segment) {
  CHECK(segment.header.kind == SegmentKind::log);
  const std::lock_guard lock(mutex_);
  segments_.add(std::move(segment));
}

std::expected<std::vector<Place>, Error> Archive::places(Seq seq) {
  // The files are opened under the mutex, because the housekeeper renames and removes them under
  // it.
  const std::lock_guard lock(mutex_);
  std::vector<Place> places;
  for (const Segment* segment : segments_.holders(seq)) {
    auto place = open_place(disk_, *segment, seq);
    if (!place) {
      return std::unexpected(place.error());
    }
    places.push_back(std::move(*place));
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
  // Without the mutex: the file stays until two newer ones are stored.
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
    return !is_keeping_house_ && !is_storing_ && !spares_.has_work() && !snapshot_waiting_ &&
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
  // The spare first: without one appending is slower, while space can wait.
  if (spares_.has_work()) {
    if (const auto done = spares_.work(lock); !done) {
      trouble_ = done.error();
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
  const auto stored =
      store_snapshot(disk_, options_.directory, older, snapshot, [this] { return is_stopping(); });
  lock.lock();
  if (!stored) {
    save_failure_ = stored.error();
    return;
  }
  // Two are kept: when the newest turns out damaged, the older one and the records make the state.
  snapshots_ = {older, snapshot.seq};
  if (older == Seq{} || older == snapshot.seq) {
    snapshots_.erase(snapshots_.begin());
  }
}

bool Archive::is_stopping() {
  const std::lock_guard lock(mutex_);
  return stopping_;
}

// Copies what is live out of the segments that are worth it, and retires all that have nothing
// live. The new segments are durable before an old one goes.
void Archive::give_back(const Trim& trim, Lock& lock) {
  const std::vector<Segment*> trimmed = segments_.trimmed(trim.upto);
  // Nobody else changes `live` or removes a segment, so the mutex is not needed to look at them.
  lock.unlock();
  const Surveyed surveyed = survey(disk_, trimmed, trim.keep);
  std::vector<const Segment*> with_live;
  std::vector<const Segment*> done;
  for (const Segment* segment : surveyed.segments) {
    (segment->live.empty() ? done : with_live).push_back(segment);
  }
  const auto chosen = choose_for_merging(std::move(with_live));
  auto merged = merge(disk_, options_.directory, options_.segment_bytes, chosen);
  lock.lock();
  if (surveyed.failure) {
    trouble_ = surveyed.failure;
  }
  if (merged) {
    // In the same moment in which the old segments go, so that a record is always found somewhere.
    for (Segment& segment : *merged) {
      segments_.add(std::move(segment));
    }
    done.insert(done.end(), chosen.begin(), chosen.end());
  } else {
    trouble_ = merged.error();
  }
  retire(done, lock);
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
                          spares.size() < spares_.places();
    const std::string next =
        reusable ? options_.directory + "/" + spare_name(new_salt()) : path + ".tmp";
    if (const int done = disk_.rename(path, next); done < 0) {
      trouble_ = storage_error("rename", path, -done);
      continue;
    }
    (reusable ? spares : doomed).push_back(next);
    segments_.remove(*segment);
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
  spares_.add(spares);
}

}  // namespace parley::journal
