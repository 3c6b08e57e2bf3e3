// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace parley::journal {

enum class OpenMode : uint8_t {
  read,        // must exist
  read_write,  // must exist
  create,      // must not exist
  lock_file,   // read and write; made when it does not exist
  create_raw,  // as create; past the kernel's cache where that can be: whole, aligned blocks only
};

// The few system calls that the file journal needs. A seam, because recovery can only be trusted
// when power loss, full disks and failing syncs are tested: see simulated_disk.h. Every call
// returns a negative errno on failure and may come from two threads at once.
class Disk {
 public:
  virtual ~Disk() = default;

  virtual int open(const std::string& path, OpenMode mode) = 0;
  virtual void close(int fd) = 0;
  virtual ssize_t read(int fd, char* to, size_t size, uint64_t at) = 0;
  virtual ssize_t write(int fd, std::string_view bytes, uint64_t at) = 0;
  virtual int64_t size(int fd) = 0;

  // Reserves space for the first `size` bytes of a new file, so that a full disk shows before
  // anything is written. A file system that cannot says yes.
  virtual int reserve(int fd, uint64_t size) = 0;

  // Makes the data of the file durable, and its size.
  virtual int sync(int fd) = 0;

  // Takes the exclusive lock that ends with the descriptor; -EWOULDBLOCK when another has it.
  virtual int lock(int fd) = 0;

  virtual int rename(const std::string& from, const std::string& to) = 0;
  virtual int remove(const std::string& path) = 0;
  virtual int make_directory(const std::string& path) = 0;
  virtual int sync_directory(const std::string& path) = 0;

  // The names in a directory, in no order.
  virtual int list(const std::string& path, std::vector<std::string>& names) = 0;

  // What can still be written to the file system of this path.
  virtual int64_t free_bytes(const std::string& path) = 0;
};

class RealDisk final : public Disk {
 public:
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
};

// Every failure of a Disk, as an errno. Turned into an Error where the path is known.
using Result = std::expected<void, int>;

// An open file; closes itself. The disk outlives it.
class File {
 public:
  File() = default;
  File(File&& other) noexcept;
  File& operator=(File&& other) noexcept;
  ~File();

  static std::expected<File, int> open(Disk& disk, const std::string& path, OpenMode mode);

  // Writes all of it or fails; what was written of a failed write is not known.
  Result write(std::string_view bytes, uint64_t at) const;

  // Reads until `size` bytes are there or the file ends; returns how many there were.
  std::expected<size_t, int> read(char* to, size_t size, uint64_t at) const;

  Result sync() const;
  Result reserve(uint64_t size) const;
  Result lock() const;
  std::expected<uint64_t, int> size() const;

 private:
  Disk* disk_ = nullptr;
  int fd_ = -1;
};

Result as_result(int returned);

// `cannot write /data/log-1.seg: No space left on device`, as storage_full or storage_failed.
base::Error storage_error(std::string_view act, std::string_view path, int number);

}  // namespace parley::journal
