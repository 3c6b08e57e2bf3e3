// SPDX-License-Identifier: Apache-2.0
#include "journal/file/file.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <utility>

#include "base/check.h"

namespace parley::journal {

namespace {

using Visit = std::function<void(const Record&)>;

constexpr size_t pid_width = 20;

uint64_t whole_blocks(uint64_t bytes) {
  return (bytes + block_bytes - 1) / block_bytes * block_bytes;
}

// Adds the time until its end.
class Stopwatch {
 public:
  explicit Stopwatch(base::Duration& sum) : sum_(sum) {}
  ~Stopwatch() {
    const auto took = std::chrono::steady_clock::now() - began_;
    sum_.us += std::chrono::duration_cast<std::chrono::microseconds>(took).count();
  }
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;

 private:
  base::Duration& sum_;
  std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
};

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
  if (const auto written = file->write(pid + "\n", 0); !written) {
    return std::unexpected(storage_error("write", path, written.error()));
  }
  return std::move(*file);
}

}  // namespace

FileJournal::FileJournal(std::unique_ptr<Disk> own_disk, Disk& disk, Options options,
                         base::Clock& clock)
    : own_disk_(std::move(own_disk)),
      disk_(disk),
      options_(std::move(options)),
      directory_(options_.directory.string()),
      clock_(clock) {}

FileJournal::~FileJournal() = default;

std::expected<std::unique_ptr<FileJournal>, Error> FileJournal::open(Options options,
                                                                     base::Clock& clock) {
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
  std::unique_ptr<FileJournal> journal(
      new FileJournal(std::move(own_disk), disk, std::move(options), clock));
  if (auto started = journal->start(std::move(*lock_file)); !started) {
    return std::unexpected(started.error());
  }
  return journal;
}

std::expected<void, Error> FileJournal::start(File lock_file) {
  lock_file_ = std::move(lock_file);
  auto recovered = recover(disk_, directory_, options_.segment_bytes);
  if (!recovered) {
    return std::unexpected(recovered.error());
  }
  report_ = recovered->report;
  trimmed_ = recovered->readable_after;
  std::optional<Segment> newest = std::move(recovered->newest);
  archive_ = std::make_unique<Archive>(
      disk_, Archive::Options{directory_, options_.segment_bytes, options_.background},
      std::move(*recovered));
  if (newest) {
    auto file = File::open(disk_, newest->path, OpenMode::read_write);
    if (!file) {
      return std::unexpected(storage_error("open", newest->path, file.error()));
    }
    active_ = std::move(*newest);
    active_file_ = std::move(*file);
  } else if (auto rolled = roll(0); !rolled) {
    return rolled;
  }
  synced_ = active_.last;
  batch_.first = active_.last.next();
  former_.first = batch_.first;
  archive_->want_spare();
  return {};
}

std::expected<void, Error> FileJournal::append(std::span<const std::string_view> payloads,
                                               Sync sync) {
  CHECK(appending() != Appending::pending);
  if (failed_) {
    return std::unexpected(*failed_);
  }
  uint64_t bytes = 0;
  for (const std::string_view payload : payloads) {
    if (payload.size() > payload_bytes_max) {
      return std::unexpected(Error{base::Code::payload_too_large,
                                   "a record of " + std::to_string(payload.size()) +
                                       " bytes is larger than " + std::to_string(payload_bytes_max),
                                   {}});
    }
    bytes += record_bytes(payload.size());
  }
  if (active_.end + bytes > active_.header.bytes) {
    if (auto rolled = roll(bytes); !rolled) {
      return rolled;
    }
  }
  if (payloads.empty()) {
    return sync == Sync::yes ? sync_active() : std::expected<void, Error>{};
  }
  const Time now = std::max(active_.last_time, clock_.now());
  if (sync_thread_ && sync == Sync::yes && bytes >= behind_bytes_min_) {
    pending_ = true;
    // Copying and summing 16 MiB takes 20 ms, which the caller does not have.
    sync_thread_->begin([this, now, bytes, views = std::vector(payloads.begin(), payloads.end())] {
      make_batch(views, bytes, now);
      return store({active_file_, active_.path, coming_.bytes, active_.end});
    });
    return {};
  }
  make_batch(payloads, bytes, now);
  return write_batch(sync);
}

// The records as they will lie in the file: so many bytes.
void FileJournal::make_batch(std::span<const std::string_view> payloads, uint64_t bytes, Time now) {
  coming_.first = active_.last.next();
  coming_.seed = active_.header.seed();
  coming_.bytes.clear();
  coming_.bytes.reserve(static_cast<size_t>(bytes + block_bytes));
  for (Seq seq = coming_.first; const std::string_view payload : payloads) {
    append_record(coming_.bytes, coming_.seed, {seq, now, synced_}, payload);
    seq = seq.next();
  }
  coming_.records_bytes = coming_.bytes.size();
  // Zeros up to the end of the block: it is written whole anyway, and the kernel need not read
  // the rest of a recycled one first.
  const uint64_t end = whole_blocks(active_.end + coming_.records_bytes);
  coming_.bytes.resize(static_cast<size_t>(end - active_.end));
}

std::expected<void, Error> FileJournal::write_batch(Sync sync) {
  const Stopwatch watch(stored_for_);
  const Storing storing{active_file_, active_.path, coming_.bytes, active_.end};
  if (sync == Sync::yes) {
    if (const auto stored = store(storing); !stored) {
      return std::unexpected(poison(stored.error()));
    }
  } else if (const auto written = storing.file.write(storing.bytes, storing.at); !written) {
    return std::unexpected(poison(storage_error("write", active_.path, written.error())));
  }
  count_batch(sync);
  return {};
}

// Nothing of the batch counts, or can be read, before it is written and, if that was asked for,
// synced.
void FileJournal::count_batch(Sync sync) {
  totals_.bytes += coming_.records_bytes;
  totals_.syncs += sync == Sync::yes ? 1 : 0;
  std::swap(former_, batch_);
  std::swap(batch_, coming_);
  for (std::string_view rest = batch_.records(); !rest.empty();) {
    const auto head = decode_head(rest, batch_.seed);
    CHECK(head.has_value());
    active_.add(head->place, head->bytes());
    rest.remove_prefix(static_cast<size_t>(head->bytes()));
  }
  synced_ = sync == Sync::yes ? active_.last : synced_;
}

void FileJournal::sync_behind(size_t bytes_min, std::function<void()> on_synced) {
  CHECK(!sync_thread_);
  behind_bytes_min_ = bytes_min;
  sync_thread_ = std::make_unique<SyncThread>(std::move(on_synced));
}

void FileJournal::finish_pending() {
  if (!pending_ || sync_thread_->busy()) {
    return;
  }
  pending_ = false;
  if (sync_thread_->outcome()) {
    count_batch(Sync::yes);
  } else {
    lost_ = true;
    poison(sync_thread_->outcome().error());
  }
}

Appending FileJournal::appending() {
  finish_pending();
  return pending_ ? Appending::pending : lost_ ? Appending::lost : Appending::idle;
}

void FileJournal::wait() {
  if (pending_) {
    const Stopwatch watch(stored_for_);
    sync_thread_->wait();
    finish_pending();
  }
}

Seq FileJournal::last() {
  finish_pending();
  return active_.last;
}

std::expected<void, Error> FileJournal::sync_active() {
  if (synced_ == active_.last) {
    return {};
  }
  if (const auto synced = active_file_.sync(); !synced) {
    return std::unexpected(poison(storage_error("sync", active_.path, synced.error())));
  }
  synced_ = active_.last;
  return {};
}

// After a failed write or sync nobody knows what is on the disk, and asking again may get a yes
// that is not true: the kernel drops pages that it could not write.
Error FileJournal::poison(Error error) {
  error.code = base::Code::storage_failed;
  error.detail += "; the journal takes nothing more until the broker is restarted";
  failed_ = error;
  return error;
}

// Begins a new segment. What is in the old one is synced first: a header with a base proves that
// every record before it was stored.
std::expected<void, Error> FileJournal::roll(uint64_t batch_bytes) {
  const Stopwatch watch(stored_for_);
  if (auto synced = sync_active(); !synced) {
    return synced;
  }
  const uint64_t bytes =
      std::max<uint64_t>(options_.segment_bytes, whole_blocks(block_bytes + batch_bytes));
  auto path = archive_->take_file(bytes);
  if (!path) {
    return std::unexpected(path.error());
  }
  const SegmentHeader header{SegmentKind::log, active_.last.next(), new_salt(), bytes,
                             active_.last_time};
  if (auto activated = activate(*path, header); !activated) {
    return std::unexpected(poison(activated.error()));
  }
  archive_->want_spare();
  return {};
}

// The header is durable before the name is: a log segment without a valid header is damage.
std::expected<void, Error> FileJournal::activate(const std::string& path,
                                                 const SegmentHeader& header) {
  const std::string log_path = directory_ + "/" + log_name(header.base);
  auto file = File::open(disk_, path, OpenMode::read_write);
  if (!file) {
    return std::unexpected(storage_error("open", path, file.error()));
  }
  Result done = file->write(encode_header(header), 0);
  if (done) {
    done = file->sync();
  }
  if (done) {
    // An old segment that is still empty has the same name, and is replaced.
    done = as_result(disk_.rename(path, log_path));
  }
  if (done) {
    done = as_result(disk_.sync_directory(directory_));
  }
  if (!done) {
    return std::unexpected(storage_error("begin", log_path, done.error()));
  }
  Segment next;
  next.path = log_path;
  next.header = header;
  next.file_bytes = header.bytes;
  next.last = active_.last;
  next.last_time = active_.last_time;
  if (active_.records > 0) {
    archive_->add(std::move(active_));
  }
  active_ = std::move(next);
  active_file_ = std::move(*file);
  return {};
}

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
  for (Seq from = after.next(); from <= active_.last && left > 0;) {
    if (from >= former_.first) {
      from = (from >= batch_.first ? batch_ : former_).read(from, left, hand_out);
      continue;
    }
    const auto reached = read_file(from, left, hand_out);
    if (!reached) {
      return std::unexpected(reached.error());
    }
    CHECK(*reached > from);
    from = *reached;
  }
  return {};
}

// Hands out records of the one segment that holds `from`; returns the first that it did not.
std::expected<Seq, Error> FileJournal::read_file(Seq from, const size_t& left, const Visit& visit) {
  auto places = places_of(from);
  if (!places) {
    return std::unexpected(places.error());
  }
  // What is not trimmed is in a log segment, whatever else holds a copy.
  CHECK(!places->empty());
  CHECK(places->front().header.kind == SegmentKind::log);
  return read_from(places->front(), from, left, visit);
}

std::expected<std::vector<Place>, Error> FileJournal::places_of(Seq seq) {
  if (seq < active_.header.base) {
    return archive_->places(seq);
  }
  auto place = open_place(disk_, active_, seq);
  if (!place) {
    return std::unexpected(place.error());
  }
  std::vector<Place> places;
  places.push_back(std::move(*place));
  return places;
}

std::expected<std::string, Error> FileJournal::fetch(Seq seq) {
  if (seq == Seq{} || seq > active_.last) {
    return std::unexpected(not_there(seq, "the last one is " + std::to_string(active_.last.n)));
  }
  if (auto payload = fetch_from_memory(seq)) {
    return std::move(*payload);
  }
  const auto places = places_of(seq);
  return places ? fetch_from(*places, seq) : std::unexpected(places.error());
}

std::optional<std::string> FileJournal::fetch_from_memory(Seq seq) const {
  if (seq < former_.first) {
    return std::nullopt;
  }
  std::string payload;
  size_t left = 1;
  (seq >= batch_.first ? batch_ : former_).read(seq, left, [&](const Record& record) {
    payload = record.payload;
    left = 0;
  });
  return payload;
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
    std::expected<std::vector<Place>, Error> active;
    if (seq == Seq{} || seq > active_.last || seq >= former_.first) {
      fetcher_->add(seq, [payload = fetch(seq)] { return payload; });
      continue;
    }
    if (seq >= active_.header.base) {
      active = places_of(seq);
    }
    fetcher_->add(seq, [this, seq, active = std::move(active)] {
      auto fetched = active && !active->empty()
                         ? fetch_from(*active, seq)
                         : std::expected<std::string, Error>(std::unexpected(not_there(seq, "")));
      constexpr int tries_max = 3;
      for (int tries = 0; !fetched && tries < tries_max; ++tries) {
        const auto places = archive_->places(seq);
        fetched = places ? fetch_from(*places, seq) : std::unexpected(places.error());
      }
      return fetched;
    });
  }
}

bool FileJournal::has_fetched() { return fetcher_ ? fetcher_->has_some() : Journal::has_fetched(); }

std::vector<Fetched> FileJournal::take_fetched() {
  return fetcher_ ? fetcher_->take() : Journal::take_fetched();
}

// A snapshot must never be ahead of the records: they are synced first, if they are not yet. Not
// beside a sync that is going on: a failure would be told to only one of the two.
std::expected<void, Error> FileJournal::save(Snapshot snapshot) {
  CHECK(snapshot.seq <= active_.last);
  if (snapshot.seq > synced_) {
    wait();
  }
  if (failed_) {
    return std::unexpected(*failed_);
  }
  if (snapshot.seq > synced_) {
    const Stopwatch watch(stored_for_);
    if (auto synced = sync_active(); !synced) {
      return synced;
    }
  }
  archive_->save(std::move(snapshot));
  return {};
}

std::optional<Error> FileJournal::take_save_failure() { return archive_->take_save_failure(); }

Seq FileJournal::snapshot_seq() { return archive_->snapshot_seq(); }

std::expected<std::optional<Snapshot>, Error> FileJournal::load() { return archive_->load(); }

void FileJournal::trim(Seq upto, std::vector<Seq> keep) {
  CHECK(upto <= snapshot_seq());
  trimmed_ = std::max(trimmed_, upto);
  archive_->trim(upto, std::move(keep));
}

void FileJournal::settle() {
  wait();
  archive_->settle();
}

std::optional<Error> FileJournal::take_trouble() { return archive_->take_trouble(); }

}  // namespace parley::journal
