// SPDX-License-Identifier: Apache-2.0
#include "journal/file/log_writer.h"

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

#include "base/check.h"

namespace parley::journal {

namespace {

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

// The bytes that the payloads take as records; payload_too_large when one is none.
std::expected<uint64_t, Error> bytes_of(std::span<const std::string_view> payloads) {
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
  return bytes;
}

}  // namespace

LogWriter::LogWriter(Disk& disk, Archive& archive, base::Clock& clock, Options options)
    : disk_(disk), archive_(archive), clock_(clock), options_(std::move(options)) {}

std::expected<void, Error> LogWriter::start(std::optional<Segment> newest) {
  if (newest) {
    auto file = File::open(disk_, newest->path, OpenMode::read_write);
    if (!file) {
      return std::unexpected(storage_error("open", newest->path, file.error()));
    }
    active_ = std::move(*newest);
    file_ = std::move(*file);
  } else if (auto rolled = roll(0); !rolled) {
    return rolled;
  }
  synced_ = active_.last;  // recovery has synced what it found
  recent_.begin(active_.last.next());
  archive_.want_spare();
  return {};
}

void LogWriter::sync_behind(size_t bytes_min, std::function<void()> on_synced) {
  CHECK(!sync_thread_);
  behind_bytes_min_ = bytes_min;
  sync_thread_ = std::make_unique<SyncThread>(std::move(on_synced));
}

std::expected<void, Error> LogWriter::append(std::span<const std::string_view> payloads,
                                             Sync sync) {
  CHECK(appending() != Appending::pending);
  if (failed_) {
    return std::unexpected(*failed_);
  }
  const auto bytes = bytes_of(payloads);
  if (!bytes) {
    return std::unexpected(bytes.error());
  }
  if (active_.end + *bytes > active_.header.bytes) {
    if (auto rolled = roll(*bytes); !rolled) {
      return rolled;
    }
  }
  if (payloads.empty()) {
    return sync == Sync::yes ? sync_active() : std::expected<void, Error>{};
  }
  const Time now = std::max(active_.last_time, clock_.now());
  if (sync_thread_ && sync == Sync::yes && *bytes >= behind_bytes_min_) {
    pending_ = true;
    // Copying and summing 16 MiB takes 20 ms, which the caller does not have.
    sync_thread_->begin(
        [this, now, bytes = *bytes, views = std::vector(payloads.begin(), payloads.end())] {
          make_batch(views, bytes, now);
          return store({file_, active_.path, recent_.coming().bytes, active_.end});
        });
    return {};
  }
  make_batch(payloads, *bytes, now);
  return write_batch(sync);
}

void LogWriter::make_batch(std::span<const std::string_view> payloads, uint64_t bytes, Time now) {
  recent_.coming().make(payloads, bytes,
                        {.first = active_.last.next(),
                         .time = now,
                         .synced = synced_,
                         .seed = active_.header.seed(),
                         .at = active_.end});
}

std::expected<void, Error> LogWriter::write_batch(Sync sync) {
  const Stopwatch watch(stored_for_);
  const Storing storing{file_, active_.path, recent_.coming().bytes, active_.end};
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
void LogWriter::count_batch(Sync sync) {
  const Batch& batch = recent_.count_coming();
  totals_.bytes += batch.records_bytes;
  totals_.syncs += sync == Sync::yes ? 1 : 0;
  for (std::string_view rest = batch.records(); !rest.empty();) {
    const auto head = decode_head(rest, batch.seed);
    CHECK(head.has_value());
    active_.add(head->place, head->bytes());
    rest.remove_prefix(static_cast<size_t>(head->bytes()));
  }
  // A sync is of the whole file: it also covers the batches before that were not synced.
  synced_ = sync == Sync::yes ? active_.last : synced_;
}

// The calling thread counts the batch, and not the sync thread: so nothing that it reads changes
// but in its own calls.
void LogWriter::finish_pending() {
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

Appending LogWriter::appending() {
  finish_pending();
  return pending_ ? Appending::pending : lost_ ? Appending::lost : Appending::idle;
}

void LogWriter::wait() {
  if (pending_) {
    const Stopwatch watch(stored_for_);
    sync_thread_->wait();
    finish_pending();
  }
}

Seq LogWriter::last() {
  finish_pending();
  return active_.last;
}

// Not beside a sync that is going on: the kernel would tell a failure to only one of the two.
std::expected<void, Error> LogWriter::sync_upto(Seq seq) {
  CHECK(seq <= active_.last);
  if (seq > synced_) {
    wait();
  }
  if (failed_) {
    return std::unexpected(*failed_);
  }
  if (seq > synced_) {
    const Stopwatch watch(stored_for_);
    return sync_active();
  }
  return {};
}

std::expected<void, Error> LogWriter::sync_active() {
  if (synced_ == active_.last) {
    return {};
  }
  if (const auto synced = file_.sync(); !synced) {
    return std::unexpected(poison(storage_error("sync", active_.path, synced.error())));
  }
  synced_ = active_.last;
  return {};
}

// After a failed write or sync nobody knows what is on the disk, and asking again may get a yes
// that is not true: the kernel drops pages that it could not write.
Error LogWriter::poison(Error error) {
  error.code = base::Code::storage_failed;
  error.detail += "; the journal takes nothing more until the broker is restarted";
  failed_ = error;
  return error;
}

// Begins a new segment. What is in the old one is synced first: a header with a base proves that
// every record before it was stored.
std::expected<void, Error> LogWriter::roll(uint64_t batch_bytes) {
  const Stopwatch watch(stored_for_);
  if (auto synced = sync_active(); !synced) {
    return synced;
  }
  const uint64_t bytes =
      std::max<uint64_t>(options_.segment_bytes, whole_blocks(block_bytes + batch_bytes));
  // A disk without space for another file is no reason to take nothing more: nothing was begun.
  auto path = archive_.take_file(bytes);
  if (!path) {
    return std::unexpected(path.error());
  }
  const SegmentHeader header{SegmentKind::log, active_.last.next(), new_salt(), bytes,
                             active_.last_time};
  if (auto activated = activate(*path, header); !activated) {
    return std::unexpected(poison(activated.error()));
  }
  archive_.want_spare();
  return {};
}

// The header is durable before the name is: a log segment without a valid header is damage.
std::expected<void, Error> LogWriter::activate(const std::string& path,
                                               const SegmentHeader& header) {
  const std::string log_path = options_.directory + "/" + log_name(header.base);
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
    done = as_result(disk_.sync_directory(options_.directory));
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
    archive_.add(std::move(active_));
  }
  active_ = std::move(next);
  file_ = std::move(*file);
  return {};
}

}  // namespace parley::journal
