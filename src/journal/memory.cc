// SPDX-License-Identifier: Apache-2.0
#include "journal/memory.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace parley::journal {

namespace {

Error not_there(Seq seq) {
  return {base::Code::not_found,
          "record " + std::to_string(seq.n) + " is not in the journal: trimmed or not yet there",
          {}};
}

}  // namespace

// A record leaves the log when all journals have trimmed it. One that some journal keeps is then in
// `kept_`, for `fetch`.
void MemoryLog::free_trimmed() {
  Seq everywhere = last();
  for (const MemoryJournal* journal : journals_) {
    everywhere = std::min(everywhere, journal->trimmed_);
  }
  const auto needed = [this](Seq seq) {
    return std::ranges::any_of(journals_, [seq](const MemoryJournal* journal) {
      return std::ranges::binary_search(journal->keep_, seq);
    });
  };
  while (freed_ < everywhere) {
    freed_ = freed_.next();
    kept_.emplace(freed_, std::move(records_.front().payload));
    records_.pop_front();
  }
  std::erase_if(kept_, [&](const auto& entry) { return !needed(entry.first); });
}

MemoryJournal::MemoryJournal(MemoryLog& log) : log_(log), trimmed_(log.freed_) {
  log_.journals_.push_back(this);
}

MemoryJournal::~MemoryJournal() { std::erase(log_.journals_, this); }

std::expected<void, Error> MemoryJournal::append(std::span<const std::string_view> payloads, Sync) {
  log_.last_time_ = std::max(log_.last_time_, log_.clock_.now());
  for (const std::string_view payload : payloads) {
    log_.records_.push_back({log_.last_time_, std::string(payload)});
  }
  return {};
}

std::expected<void, Error> MemoryJournal::read(Seq after, size_t bytes_max,
                                               const std::function<void(const Record&)>& visit) {
  if (after < trimmed_) {
    return std::unexpected(not_there(after.next()));
  }
  size_t left = std::max<size_t>(bytes_max, 1);
  for (Seq seq = after.next(); seq <= log_.last() && left > 0; seq = seq.next()) {
    const MemoryLog::Entry& entry = log_.records_[seq.n - log_.freed_.n - 1];
    left -= std::min(left, std::max<size_t>(entry.payload.size(), 1));
    visit({seq, entry.time, entry.payload});
  }
  return {};
}

std::expected<std::string, Error> MemoryJournal::fetch(Seq seq) {
  // What other journals keep is not for this one: each behaves as if it were alone.
  const bool mine = seq > trimmed_ || std::ranges::binary_search(keep_, seq);
  if (mine && seq > log_.freed_ && seq <= log_.last()) {
    return log_.records_[seq.n - log_.freed_.n - 1].payload;
  }
  const auto kept = log_.kept_.find(seq);
  if (!mine || kept == log_.kept_.end()) {
    return std::unexpected(not_there(seq));
  }
  return kept->second;
}

std::expected<void, Error> MemoryJournal::save(Snapshot snapshot) {
  CHECK(snapshot.seq <= last());
  const ReadRecords read_records = [this](Seq after, Seq upto, const auto& visit) {
    return read(after, SIZE_MAX, [&](const Record& record) {
      if (record.seq <= upto) {
        visit(record);
      }
    });
  };
  if (auto completed = snapshot.complete(snapshot_, read_records); !completed) {
    save_failure_ = completed.error();
    return {};
  }
  snapshot_ = std::move(snapshot);
  return {};
}

void MemoryJournal::trim(Seq upto, std::vector<Seq> keep) {
  CHECK(upto <= snapshot_seq());
  CHECK(std::ranges::is_sorted(keep));
  trimmed_ = std::max(trimmed_, upto);
  keep_ = std::move(keep);
  log_.free_trimmed();
}

}  // namespace parley::journal
