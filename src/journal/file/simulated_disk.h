// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "journal/file/disk.h"

namespace parley::journal {

// A disk in memory that fails on demand and loses what was not synced when its power goes; for
// tests and the simulator. It promises less than a real one: a name counts only after
// sync_directory, and of the names changed and the sectors written but not synced any subset may
// survive. What it does not model: sectors that are themselves torn, and directories but one.
class SimulatedDisk final : public Disk {
 public:
  enum class Call : uint8_t { open, read, write, reserve, sync, rename, remove, sync_directory };
  static constexpr size_t sector_bytes = 512;

  // The next call of this kind on a path that contains `part` fails with `number`. A sync that
  // fails drops what it should have written, as kernels do.
  void fail_next(Call call, int number, std::string part = {});

  // Writes that would grow the files beyond this many bytes fail with ENOSPC.
  void set_capacity(uint64_t bytes);

  // The power goes during the `calls`-th changing call from now: that one and all after it fail.
  void lose_power_after(uint64_t calls);
  bool has_power() const;

  // The machine starts again after a power loss. The seed decides what survived of that which was
  // not synced. All descriptors and locks are gone.
  void restart(uint64_t seed);

  // For tests that look at the bytes or damage them; both as if synced.
  std::string contents(const std::string& path) const;
  void replace(const std::string& path, std::string contents);
  std::vector<std::string> paths() const;
  uint64_t bytes_used() const;
  struct Calls {
    uint64_t changing = 0;
    uint64_t reads = 0;
  };
  Calls calls() const;

  int open(const std::string& path, OpenMode mode) override;
  void close(int fd) override;
  ssize_t read(int fd, char* to, size_t size, uint64_t at) override;
  ssize_t write(int fd, std::string_view bytes, uint64_t at) override;
  int64_t size(int fd) override;
  int reserve(int fd, uint64_t size) override;
  int sync(int fd) override;
  int lock(int fd) override;
  int rename(const std::string& from, const std::string& to) override;
  int remove(const std::string& path) override;
  int make_directory(const std::string& path) override;
  int sync_directory(const std::string& path) override;
  int list(const std::string& path, std::vector<std::string>& names) override;
  int64_t free_bytes(const std::string& path) override;

 private:
  struct Inode {
    std::string current;
    std::string durable;
    std::set<size_t> dirty;  // sectors of `current` that no sync covered
    int locked_by = -1;

    void written(size_t at, size_t size);
  };
  using InodePtr = std::shared_ptr<Inode>;
  using Names = std::map<std::string, InodePtr>;

  // One change of a name: `path` now means `inode`, or nothing.
  struct Renaming {
    std::string path;
    InodePtr inode;
    bool first_of_pair = false;  // a rename is two of these, and never half done
  };
  struct Handle {
    std::string path;
    InodePtr inode;
  };
  struct Fault {
    Call call;
    int number;
    std::string part;
  };

  bool fits(const Inode& inode, size_t end) const;
  int trouble(Call call, const std::string& path);
  void set_name(const std::string& path, InodePtr inode, bool first_of_pair = false);
  static void apply(Names& names, const Renaming& change);

  mutable std::mutex mutex_;
  Names names_;
  Names durable_names_;
  std::vector<Renaming> unsynced_names_;
  std::map<int, Handle> handles_;
  int next_fd_ = 3;
  std::vector<Fault> faults_;
  std::optional<uint64_t> capacity_;
  std::optional<uint64_t> calls_left_;
  Calls calls_;
};

}  // namespace parley::journal
