// SPDX-License-Identifier: Apache-2.0
#include "journal/file/disk.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>
#include <utility>

namespace parley::journal {

namespace {

template <typename Call>
auto retry_interrupted(Call call) {
  auto result = call();
  while (result < 0 && errno == EINTR) {
    result = call();
  }
  return result < 0 ? static_cast<decltype(result)>(-errno) : result;
}

int flags_of(OpenMode mode) {
  switch (mode) {
    case OpenMode::read:
      return O_RDONLY | O_CLOEXEC;
    case OpenMode::read_write:
      return O_RDWR | O_CLOEXEC;
    case OpenMode::create:
    case OpenMode::create_raw:
      return O_RDWR | O_CLOEXEC | O_CREAT | O_EXCL;
    case OpenMode::lock_file:
      return O_RDWR | O_CLOEXEC | O_CREAT;
  }
  return O_RDONLY;
}

}  // namespace

int RealDisk::open(const std::string& path, OpenMode mode) {
  // Only the owner may read the files: the records are other people's messages.
  const int fd = retry_interrupted([&] { return ::open(path.c_str(), flags_of(mode), 0600); });
  if (fd >= 0 && mode == OpenMode::create_raw) {
    // File systems in memory refuse this; then the file is written like any other.
    (void)::fcntl(fd, F_SETFL, O_DIRECT);
  }
  return fd;
}

void RealDisk::close(int fd) { ::close(fd); }

ssize_t RealDisk::read(int fd, char* to, size_t size, uint64_t at) {
  return retry_interrupted([&] { return ::pread(fd, to, size, static_cast<off_t>(at)); });
}

ssize_t RealDisk::write(int fd, std::string_view bytes, uint64_t at) {
  return retry_interrupted(
      [&] { return ::pwrite(fd, bytes.data(), bytes.size(), static_cast<off_t>(at)); });
}

int64_t RealDisk::size(int fd) {
  struct stat found{};
  return ::fstat(fd, &found) < 0 ? -errno : static_cast<int64_t>(found.st_size);
}

int RealDisk::reserve(int fd, uint64_t size) {
  const int done =
      retry_interrupted([&] { return ::fallocate(fd, 0, 0, static_cast<off_t>(size)); });
  return done == -EOPNOTSUPP || done == -ENOSYS ? 0 : done;
}

int RealDisk::sync(int fd) {
  // Never retried after another error: the kernel may have dropped the pages, and would report
  // success.
  return retry_interrupted([&] { return ::fdatasync(fd); });
}

int RealDisk::lock(int fd) {
  return retry_interrupted([&] { return ::flock(fd, LOCK_EX | LOCK_NB); });
}

int RealDisk::rename(const std::string& from, const std::string& to) {
  return ::rename(from.c_str(), to.c_str()) < 0 ? -errno : 0;
}

int RealDisk::remove(const std::string& path) { return ::unlink(path.c_str()) < 0 ? -errno : 0; }

// Syncs the parent of each directory it makes: a journal whose directory is gone after a power loss
// is lost, however well its files were synced.
int RealDisk::make_directory(const std::string& path) {
  std::error_code error;
  const std::filesystem::path whole = std::filesystem::absolute(path, error);
  std::filesystem::path made;
  for (const std::filesystem::path& part : whole) {
    const std::filesystem::path parent = made;
    made /= part;
    if (error || std::filesystem::exists(made, error) || part.empty()) {
      continue;
    }
    if (::mkdir(made.c_str(), 0700) < 0 && errno != EEXIST) {
      return -errno;
    }
    if (const int synced = sync_directory(parent.string()); synced < 0) {
      return synced;
    }
  }
  return error ? -error.value() : 0;
}

int RealDisk::sync_directory(const std::string& path) {
  const int fd =
      retry_interrupted([&] { return ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); });
  if (fd < 0) {
    return fd;
  }
  const int synced = retry_interrupted([&] { return ::fsync(fd); });
  ::close(fd);
  return synced;
}

int64_t RealDisk::free_bytes(const std::string& path) {
  struct statvfs space{};
  if (const int failed = retry_interrupted([&] { return ::statvfs(path.c_str(), &space); });
      failed < 0) {
    return failed;
  }
  return static_cast<int64_t>(space.f_bavail * space.f_frsize);
}

int RealDisk::list(const std::string& path, std::vector<std::string>& names) {
  std::error_code error;
  std::filesystem::directory_iterator entries(path, error);
  while (!error && entries != std::filesystem::directory_iterator()) {
    names.push_back(entries->path().filename().string());
    entries.increment(error);
  }
  return error ? -error.value() : 0;
}

File::File(File&& other) noexcept
    : disk_(std::exchange(other.disk_, nullptr)), fd_(std::exchange(other.fd_, -1)) {}

// The file that was open here closes with `other`.
File& File::operator=(File&& other) noexcept {
  std::swap(disk_, other.disk_);
  std::swap(fd_, other.fd_);
  return *this;
}

File::~File() {
  if (fd_ >= 0) {
    disk_->close(fd_);
  }
}

std::expected<File, int> File::open(Disk& disk, const std::string& path, OpenMode mode) {
  const int fd = disk.open(path, mode);
  if (fd < 0) {
    return std::unexpected(-fd);
  }
  File file;
  file.disk_ = &disk;
  file.fd_ = fd;
  return file;
}

Result File::write(std::string_view bytes, uint64_t at) const {
  while (!bytes.empty()) {
    const ssize_t written = disk_->write(fd_, bytes, at);
    // A disk that takes nothing and does not say why would be asked for ever.
    if (written <= 0) {
      return std::unexpected(written < 0 ? static_cast<int>(-written) : EIO);
    }
    bytes.remove_prefix(static_cast<size_t>(written));
    at += static_cast<uint64_t>(written);
  }
  return {};
}

std::expected<size_t, int> File::read(char* to, size_t size, uint64_t at) const {
  size_t done = 0;
  while (done < size) {
    const ssize_t got = disk_->read(fd_, to + done, size - done, at + done);
    if (got < 0) {
      return std::unexpected(static_cast<int>(-got));
    }
    if (got == 0) {
      break;
    }
    done += static_cast<size_t>(got);
  }
  return done;
}

Result File::sync() const { return as_result(disk_->sync(fd_)); }
Result File::reserve(uint64_t size) const { return as_result(disk_->reserve(fd_, size)); }
Result File::lock() const { return as_result(disk_->lock(fd_)); }

std::expected<uint64_t, int> File::size() const {
  const int64_t size = disk_->size(fd_);
  if (size < 0) {
    return std::unexpected(static_cast<int>(-size));
  }
  return static_cast<uint64_t>(size);
}

Result as_result(int returned) {
  if (returned < 0) {
    return std::unexpected(-returned);
  }
  return {};
}

base::Error storage_error(std::string_view act, std::string_view path, int number) {
  const bool full = number == ENOSPC || number == EDQUOT;
  std::string detail = "cannot ";
  detail.append(act).append(" ").append(path).append(": ");
  detail.append(std::generic_category().message(number));
  detail.append(full ? "; free disk space" : "; look at the disk and the system log");
  return {full ? base::Code::storage_full : base::Code::storage_failed, std::move(detail), {}};
}

}  // namespace parley::journal
