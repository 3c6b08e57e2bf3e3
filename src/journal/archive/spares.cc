// SPDX-License-Identifier: Apache-2.0
#include "journal/archive/spares.h"

#include <cerrno>
#include <utility>

#include "base/time.h"
#include "journal/archive/spare_file.h"
#include "journal/file/format.h"

namespace parley::journal {

Spares::Spares(Disk& disk, Options options, std::vector<std::string> found)
    : disk_(disk), options_(std::move(options)), paths_(std::move(found)) {}

std::optional<std::string> Spares::take() {
  if (paths_.empty()) {
    return std::nullopt;
  }
  std::string path = std::move(paths_.back());
  paths_.pop_back();
  return path;
}

void Spares::add(const std::vector<std::string>& paths) {
  paths_.insert(paths_.end(), paths.begin(), paths.end());
}

size_t Spares::places() const {
  return paths_.size() < spares_max ? spares_max - paths_.size() : 0;
}

uint64_t Spares::room() {
  too_many_ = !paths_.empty() && is_short(0);
  // A file system that does not say is taken for a large one: a full disk shows in other ways.
  const int64_t free = disk_.free_bytes(options_.directory);
  return base::saturating_sum(free < 0 ? UINT64_MAX : static_cast<uint64_t>(free),
                              paths_.size() * options_.bytes);
}

bool Spares::is_short(uint64_t more) const {
  const int64_t free = disk_.free_bytes(options_.directory);
  return free >= 0 && static_cast<uint64_t>(free) < options_.keep_free + more;
}

std::expected<void, Error> Spares::work(std::unique_lock<std::mutex>& lock) {
  if (std::exchange(wanted_, false)) {
    return make(lock);
  }
  too_many_ = false;
  give_back(lock);
  return {};
}

std::expected<void, Error> Spares::make(std::unique_lock<std::mutex>& lock) {
  lock.unlock();
  auto made = is_short(options_.bytes)
                  ? std::unexpected(storage_error("make a spare in", options_.directory, ENOSPC))
                  : make_spare(disk_, options_.directory, options_.bytes);
  lock.lock();
  if (!made) {
    return std::unexpected(made.error());
  }
  paths_.push_back(std::move(*made));
  return {};
}

// No more of them than must be.
void Spares::give_back(std::unique_lock<std::mutex>& lock) {
  for (bool is_done = false; !is_done;) {
    const auto path = take();
    lock.unlock();
    if (path) {
      disk_.remove(*path);  // one that comes back after a loss of power is a spare again
    }
    is_done = !path || !is_short(0);
    lock.lock();
  }
}

}  // namespace parley::journal
