// SPDX-License-Identifier: Apache-2.0
#include "journal/file/simulated_disk.h"

#include <algorithm>
#include <cerrno>
#include <random>
#include <utility>

#include "base/check.h"

namespace parley::journal {

void SimulatedDisk::Inode::written(size_t at, size_t size) {
  for (size_t sector = at / sector_bytes; sector * sector_bytes < at + size; ++sector) {
    dirty.insert(sector);
  }
}

void SimulatedDisk::fail_next(Call call, int number, std::string part) {
  const std::lock_guard lock(mutex_);
  faults_.push_back({call, number, std::move(part)});
}

void SimulatedDisk::set_capacity(uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  capacity_ = bytes;
}

void SimulatedDisk::lose_power_after(uint64_t calls) {
  const std::lock_guard lock(mutex_);
  calls_left_ = calls;
}

bool SimulatedDisk::has_power() const {
  const std::lock_guard lock(mutex_);
  return !calls_left_ || *calls_left_ > 0;
}

// Decides what the disk holds after a power loss, in two steps: which names survived, and which
// sectors of the files behind them.
void SimulatedDisk::restart(uint64_t seed) {
  const std::lock_guard lock(mutex_);
  std::mt19937_64 random(seed);
  // Either the names survive up to some point, as in a file system that journals them, or any of
  // them.
  const bool ordered = random() % 2 == 0;
  const size_t point = random() % (unsynced_names_.size() + 1);
  bool survives = false;
  for (size_t i = 0; i < unsynced_names_.size(); ++i) {
    const bool second_of_pair = i > 0 && unsynced_names_[i - 1].first_of_pair;
    // Both halves of a rename survive, or none.
    if (!second_of_pair) {
      survives = ordered ? i < point : random() % 2 == 0;
    }
    if (survives) {
      apply(durable_names_, unsynced_names_[i]);
    }
  }
  unsynced_names_.clear();
  names_ = durable_names_;
  // From nothing to all, so that the extremes come up too.
  const uint64_t kept_of_four = random() % 5;
  for (auto& [path, inode] : names_) {
    const bool size_survives = random() % 4 < kept_of_four;
    std::string& durable = inode->durable;
    if (size_survives) {
      durable.resize(inode->current.size(), '\0');
    }
    for (const size_t sector : inode->dirty) {
      const size_t at = sector * sector_bytes;
      const size_t end = std::min({at + sector_bytes, durable.size(), inode->current.size()});
      if (at < end && random() % 4 < kept_of_four) {
        durable.replace(at, end - at, inode->current, at, end - at);
      }
    }
    inode->dirty.clear();
    inode->current = durable;
    inode->locked_by = -1;
  }
  handles_.clear();
  faults_.clear();
  calls_left_.reset();
}

std::string SimulatedDisk::contents(const std::string& path) const {
  const std::lock_guard lock(mutex_);
  return names_.at(path)->current;
}

void SimulatedDisk::replace(const std::string& path, std::string contents) {
  const std::lock_guard lock(mutex_);
  const InodePtr& inode = names_.at(path);
  inode->dirty.clear();
  inode->durable = contents;
  inode->current = std::move(contents);
}

std::vector<std::string> SimulatedDisk::paths() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> paths;
  for (const auto& [path, inode] : names_) {
    paths.push_back(path);
  }
  return paths;
}

uint64_t SimulatedDisk::bytes_used() const {
  const std::lock_guard lock(mutex_);
  uint64_t sum = 0;
  for (const auto& [path, inode] : names_) {
    sum += inode->current.size();
  }
  return sum;
}

SimulatedDisk::Calls SimulatedDisk::calls() const {
  const std::lock_guard lock(mutex_);
  return calls_;
}

int SimulatedDisk::open(const std::string& path, OpenMode mode) {
  const std::lock_guard lock(mutex_);
  const auto found = names_.find(path);
  const bool exists = found != names_.end();
  const bool is_new = mode == OpenMode::create || mode == OpenMode::create_raw;
  const bool makes = is_new || (mode == OpenMode::lock_file && !exists);
  if (is_new && exists) {
    return -EEXIST;
  }
  if (!makes && !exists) {
    return -ENOENT;
  }
  if (makes) {
    if (const int number = trouble(Call::open, path); number != 0) {
      return -number;
    }
    set_name(path, std::make_shared<Inode>());
  }
  const int fd = next_fd_++;
  handles_[fd] = {path, names_.at(path)};
  return fd;
}

void SimulatedDisk::close(int fd) {
  const std::lock_guard lock(mutex_);
  const auto found = handles_.find(fd);
  if (found == handles_.end()) {
    return;  // opened before a restart
  }
  if (found->second.inode->locked_by == fd) {
    found->second.inode->locked_by = -1;
  }
  handles_.erase(found);
}

ssize_t SimulatedDisk::read(int fd, char* to, size_t size, uint64_t at) {
  const std::lock_guard lock(mutex_);
  ++calls_.reads;
  const Handle& handle = handles_.at(fd);
  const auto fault = std::ranges::find_if(faults_, [&](const Fault& f) {
    return f.call == Call::read && handle.path.find(f.part) != std::string::npos;
  });
  if (fault != faults_.end()) {
    const int number = fault->number;
    faults_.erase(fault);
    return -number;
  }
  const std::string& current = handle.inode->current;
  if (at >= current.size()) {
    return 0;
  }
  return static_cast<ssize_t>(current.copy(to, size, static_cast<size_t>(at)));
}

ssize_t SimulatedDisk::write(int fd, std::string_view bytes, uint64_t at) {
  const std::lock_guard lock(mutex_);
  const Handle& handle = handles_.at(fd);
  Inode& inode = *handle.inode;
  const auto begin = static_cast<size_t>(at);
  const size_t end = begin + bytes.size();
  const bool had_power = !calls_left_ || *calls_left_ > 0;
  if (!fits(inode, end)) {
    return -ENOSPC;
  }
  const int number = trouble(Call::write, handle.path);
  if (number != 0 && !(had_power && calls_left_ == uint64_t{0})) {
    return -number;
  }
  // The write during which the power goes may still reach the disk, in part.
  inode.current.resize(std::max(end, inode.current.size()), '\0');
  inode.current.replace(begin, bytes.size(), bytes);
  inode.written(begin, bytes.size());
  return number != 0 ? -number : static_cast<ssize_t>(bytes.size());
}

int64_t SimulatedDisk::size(int fd) {
  const std::lock_guard lock(mutex_);
  return static_cast<int64_t>(handles_.at(fd).inode->current.size());
}

int SimulatedDisk::reserve(int fd, uint64_t size) {
  const std::lock_guard lock(mutex_);
  const Handle& handle = handles_.at(fd);
  if (!fits(*handle.inode, static_cast<size_t>(size))) {
    return -ENOSPC;
  }
  if (const int number = trouble(Call::reserve, handle.path); number != 0) {
    return -number;
  }
  handle.inode->current.resize(static_cast<size_t>(size), '\0');
  return 0;
}

int SimulatedDisk::sync(int fd) {
  const std::lock_guard lock(mutex_);
  const Handle& handle = handles_.at(fd);
  const bool had_power = !calls_left_ || *calls_left_ > 0;
  const int number = trouble(Call::sync, handle.path);
  const bool power_goes = had_power && calls_left_ == uint64_t{0};
  if (number == 0) {
    handle.inode->durable = handle.inode->current;
  }
  // A sync that failed drops its pages, as kernels do: asking again would get a yes. When the power
  // goes during the sync, any of the sectors may have reached the disk.
  if (!power_goes) {
    handle.inode->dirty.clear();
  }
  return -number;
}

int SimulatedDisk::lock(int fd) {
  const std::lock_guard lock(mutex_);
  Inode& inode = *handles_.at(fd).inode;
  if (inode.locked_by >= 0 && inode.locked_by != fd) {
    return -EWOULDBLOCK;
  }
  inode.locked_by = fd;
  return 0;
}

int SimulatedDisk::rename(const std::string& from, const std::string& to) {
  const std::lock_guard lock(mutex_);
  const auto found = names_.find(from);
  if (found == names_.end()) {
    return -ENOENT;
  }
  if (const int number = trouble(Call::rename, from); number != 0) {
    return -number;
  }
  const InodePtr inode = found->second;  // `found` is not valid after the first change
  set_name(to, inode, true);
  set_name(from, nullptr);
  return 0;
}

int SimulatedDisk::remove(const std::string& path) {
  const std::lock_guard lock(mutex_);
  if (!names_.contains(path)) {
    return -ENOENT;
  }
  if (const int number = trouble(Call::remove, path); number != 0) {
    return -number;
  }
  set_name(path, nullptr);
  return 0;
}

int SimulatedDisk::make_directory(const std::string&) { return 0; }

int SimulatedDisk::sync_directory(const std::string& path) {
  const std::lock_guard lock(mutex_);
  if (const int number = trouble(Call::sync_directory, path); number != 0) {
    return -number;
  }
  durable_names_ = names_;
  unsynced_names_.clear();
  return 0;
}

int64_t SimulatedDisk::free_bytes(const std::string&) {
  const uint64_t used = bytes_used();
  const std::lock_guard lock(mutex_);
  return !capacity_ ? INT64_MAX : *capacity_ < used ? 0 : static_cast<int64_t>(*capacity_ - used);
}

int SimulatedDisk::list(const std::string& path, std::vector<std::string>& names) {
  const std::lock_guard lock(mutex_);
  for (const auto& [name, inode] : names_) {
    if (name.starts_with(path + "/")) {
      names.push_back(name.substr(path.size() + 1));
    }
  }
  return 0;
}

bool SimulatedDisk::fits(const Inode& inode, size_t end) const {
  if (!capacity_ || end <= inode.current.size()) {
    return true;
  }
  uint64_t used = end - inode.current.size();
  for (const auto& [path, other] : names_) {
    used += other->current.size();
  }
  return used <= *capacity_;
}

// Counts the call, takes the power away when its time has come, and returns the error that a test
// asked for, or 0.
int SimulatedDisk::trouble(Call call, const std::string& path) {
  ++calls_.changing;
  if (calls_left_) {
    *calls_left_ -= *calls_left_ > 0 ? 1 : 0;
    if (*calls_left_ == 0) {
      return EIO;
    }
  }
  const auto fault = std::ranges::find_if(faults_, [&](const Fault& f) {
    return f.call == call && path.find(f.part) != std::string::npos;
  });
  if (fault == faults_.end()) {
    return 0;
  }
  const int number = fault->number;
  faults_.erase(fault);
  return number;
}

void SimulatedDisk::set_name(const std::string& path, InodePtr inode, bool first_of_pair) {
  const Renaming change{path, std::move(inode), first_of_pair};
  apply(names_, change);
  unsynced_names_.push_back(change);
}

void SimulatedDisk::apply(Names& names, const Renaming& change) {
  if (change.inode == nullptr) {
    names.erase(change.path);
  } else {
    names[change.path] = change.inode;
  }
}

}  // namespace parley::journal
