// SPDX-License-Identifier: Apache-2.0
#include "edge/files/tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <system_error>
#include <utility>

#include "lib/file.h"

namespace parley::edge::files {

namespace {

using base::Code;
using base::Error;

constexpr mode_t directory_mode = 0700;
constexpr mode_t file_mode = 0600;
constexpr std::string_view half_done = ".half";
constexpr int depth_max = 3;

std::unexpected<Error> failed(const std::string& what) {
  const bool is_full = errno == ENOSPC || errno == EDQUOT;
  return std::unexpected(Error{is_full                               ? Code::storage_full
                               : errno == ENOENT || errno == ENOTDIR ? Code::not_found
                                                                     : Code::storage_failed,
                               what + ": " + std::strerror(errno),
                               {}});
}

// One name: it stays where it is looked for.
bool is_one_name(std::string_view name) {
  return !name.empty() && name != "." && name != ".." && name.find('/') == name.npos &&
         name.find('\0') == name.npos;
}

Directory open_directory(int at, const std::string& name) {
  return Directory(::openat(at, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

// Calls `visit` with each entry; a copy of the descriptor is read, so that nothing moves in it.
void each_entry(int fd, const std::function<bool(const char*)>& visit) {
  const int own = ::openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR* const opened = own < 0 ? nullptr : ::fdopendir(own);
  if (opened == nullptr) {
    if (own >= 0) {
      ::close(own);
    }
    return;
  }
  const std::unique_ptr<DIR, int (*)(DIR*)> directory(opened, &::closedir);
  while (const dirent* const entry = ::readdir(directory.get())) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != ".." && !visit(entry->d_name)) {
      return;
    }
  }
}

void remove_below(int fd, int depth) {
  each_entry(fd, [&](const char* name) {
    if (::unlinkat(fd, name, 0) != 0 && errno == EISDIR && depth > 0) {
      if (const Directory inner = open_directory(fd, name)) {
        remove_below(inner.fd(), depth - 1);
      }
      ::unlinkat(fd, name, AT_REMOVEDIR);
    }
    return true;
  });
}

}  // namespace

Directory::~Directory() {
  if (fd_ >= 0) {
    ::close(fd_);
  }
}

Directory& Directory::operator=(Directory&& other) noexcept {
  std::swap(fd_, other.fd_);
  return *this;
}

std::expected<Tree, Error> Tree::open(const std::string& root) {
  std::error_code ignored;  // what is wrong is seen when it is opened
  std::filesystem::create_directories(root, ignored);
  Directory opened(::open(root.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!opened) {
    return failed("cannot open " + root);
  }
  const std::string work(work_directory);
  if (::mkdirat(opened.fd(), work.c_str(), directory_mode) != 0 && errno != EEXIST) {
    return failed("cannot make " + root + "/" + work);
  }
  Directory inner = open_directory(opened.fd(), work);
  if (!inner) {
    return failed("cannot open " + root + "/" + work);
  }
  each_entry(inner.fd(), [&](const char* name) {
    if (std::string_view(name).ends_with(half_done)) {
      ::unlinkat(inner.fd(), name, 0);
    }
    return true;
  });
  return Tree(std::move(opened), std::move(inner));
}

std::expected<Directory, Error> Tree::directory(std::string_view path, bool make) const {
  Directory at;
  int depth = 0;
  for (std::string_view rest = path; !rest.empty() || depth == 0;) {
    const std::string name(rest.substr(0, rest.find('/')));
    rest.remove_prefix(std::min(name.size() + 1, rest.size()));
    if (!is_one_name(name) || ++depth > depth_max) {
      return std::unexpected(
          Error{Code::not_found, "\"" + std::string(path) + "\" is no path of the tree", {}});
    }
    const int below = at ? at.fd() : root_.fd();
    if (make && ::mkdirat(below, name.c_str(), directory_mode) != 0 && errno != EEXIST) {
      return failed("cannot make " + std::string(path));
    }
    Directory next = open_directory(below, name);
    if (!next) {
      return failed("cannot open " + std::string(path));
    }
    at = std::move(next);
  }
  return at;
}

// A whole file in `.parley`, and what it is called there.
std::expected<std::string, Error> Tree::write_apart(std::string_view text) {
  const std::string name = std::to_string(next_++) + std::string(half_done);
  // What has the name is of a former life, or of someone who wants to read along.
  ::unlinkat(work_.fd(), name.c_str(), 0);
  const int file = ::openat(work_.fd(), name.c_str(),
                            O_CREAT | O_EXCL | O_NOFOLLOW | O_WRONLY | O_CLOEXEC, file_mode);
  if (file < 0) {
    return failed("cannot write a file in " + std::string(work_directory));
  }
  const bool is_written = lib::write_all(file, text) && ::fsync(file) == 0;
  const int error = errno;
  ::close(file);
  if (!is_written) {
    ::unlinkat(work_.fd(), name.c_str(), 0);
    errno = error;
    return failed("cannot write a file in " + std::string(work_directory));
  }
  return name;
}

std::expected<bool, Error> Tree::put(const Directory& to, const std::string& name,
                                     std::string_view text, bool only_new) {
  if (!is_one_name(name)) {
    return std::unexpected(Error{Code::not_found, "\"" + name + "\" is no name of a file", {}});
  }
  auto apart = write_apart(text);
  if (!apart) {
    return std::unexpected(apart.error());
  }
  const unsigned flags = only_new ? RENAME_NOREPLACE : 0;
  if (::renameat2(work_.fd(), apart->c_str(), to.fd(), name.c_str(), flags) == 0) {
    return true;
  }
  const int error = errno;
  ::unlinkat(work_.fd(), apart->c_str(), 0);
  errno = error;
  return error == EEXIST ? std::expected<bool, Error>(false) : failed("cannot write " + name);
}

std::expected<void, Error> Tree::write(const Directory& to, const std::string& name,
                                       std::string_view text) {
  const auto done = put(to, name, text, false);
  return done ? std::expected<void, Error>{} : std::unexpected(done.error());
}

std::expected<bool, Error> Tree::write_new(const Directory& to, const std::string& name,
                                           std::string_view text) {
  return put(to, name, text, true);
}

std::expected<bool, Error> Tree::move(const Directory& from, const std::string& name,
                                      const Directory& to, const std::string& new_name) const {
  if (!is_one_name(name) || !is_one_name(new_name)) {
    return false;
  }
  if (::renameat(from.fd(), name.c_str(), to.fd(), new_name.c_str()) == 0) {
    return true;
  }
  return errno == ENOENT ? std::expected<bool, Error>(false) : failed("cannot move " + name);
}

bool Tree::remove(const Directory& from, const std::string& name) const {
  return is_one_name(name) && ::unlinkat(from.fd(), name.c_str(), 0) == 0;
}

bool Tree::contains(const Directory& in, const std::string& name) const {
  struct stat found{};
  return is_one_name(name) && ::fstatat(in.fd(), name.c_str(), &found, AT_SYMLINK_NOFOLLOW) == 0;
}

std::expected<FileText, ReadFault> Tree::read(const Directory& from, const std::string& name,
                                              size_t bytes_max) const {
  if (!is_one_name(name)) {
    return std::unexpected(ReadFault::gone);
  }
  // A pipe or a device would block, or answer, when it is opened: O_NONBLOCK lets the first pass,
  // and what it is is looked at before anything is read.
  const int fd =
      ::openat(from.fd(), name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  if (fd < 0) {
    return std::unexpected(errno == ENOENT                    ? ReadFault::gone
                           : errno == ELOOP || errno == ENXIO ? ReadFault::not_regular
                                                              : ReadFault::failed);
  }
  const Directory closes(fd);
  struct stat found{};
  if (::fstat(fd, &found) != 0) {
    return std::unexpected(ReadFault::failed);
  }
  if (!S_ISREG(found.st_mode)) {
    return std::unexpected(ReadFault::not_regular);
  }
  if (found.st_nlink > 1) {
    return std::unexpected(ReadFault::has_other_names);
  }
  FileText file;
  file.owner = found.st_uid;
  file.stamp = {.device = found.st_dev,
                .inode = found.st_ino,
                .size = static_cast<uint64_t>(found.st_size),
                .changed_ns = found.st_mtim.tv_sec * 1'000'000'000 + found.st_mtim.tv_nsec};
  // Its size may change while it is read, so that is not what bounds it.
  file.text.resize(std::min<size_t>(file.stamp.size, bytes_max) + 1);
  size_t got = 0;
  while (true) {
    const ssize_t count = ::read(fd, file.text.data() + got, file.text.size() - got);
    if (count < 0 && errno == EINTR) {
      continue;
    }
    if (count < 0) {
      return std::unexpected(ReadFault::failed);
    }
    got += static_cast<size_t>(count);
    if (count == 0) {
      break;
    }
    if (got > bytes_max) {
      return std::unexpected(ReadFault::too_large);
    }
    if (got == file.text.size()) {
      file.text.resize(std::min(got * 2, bytes_max + 1));
    }
  }
  file.text.resize(got);
  return file;
}

void Tree::list(const Directory& in, const std::function<bool(const std::string&)>& visit) const {
  each_entry(in.fd(), [&](const char* name) { return visit(name); });
}

int64_t Tree::changed(const Directory& in, const std::string& name) const {
  struct stat found{};
  if (!is_one_name(name) || ::fstatat(in.fd(), name.c_str(), &found, AT_SYMLINK_NOFOLLOW) != 0) {
    return 0;
  }
  return std::max<int64_t>(found.st_ctim.tv_sec, 1);
}

void Tree::remove_all(const std::string& name) const {
  if (!is_one_name(name)) {
    return;
  }
  if (const Directory inner = open_directory(root_.fd(), name)) {
    remove_below(inner.fd(), depth_max - 1);
  }
  ::unlinkat(root_.fd(), name.c_str(), AT_REMOVEDIR);
}

}  // namespace parley::edge::files
