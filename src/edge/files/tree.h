// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <functional>
#include <string>
#include <string_view>

#include "base/error.h"

namespace parley::edge::files {

// A directory of the tree that is open. Closes it.
class Directory {
 public:
  Directory() = default;
  explicit Directory(int fd) : fd_(fd) {}
  ~Directory();
  Directory(Directory&& other) noexcept : fd_(other.fd_) { other.fd_ = -1; }
  Directory& operator=(Directory&& other) noexcept;
  Directory(const Directory&) = delete;
  Directory& operator=(const Directory&) = delete;

  int fd() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }

 private:
  int fd_ = -1;
};

// What tells one content of a file from another, without reading it.
struct FileStamp {
  uint64_t device = 0;
  uint64_t inode = 0;
  uint64_t size = 0;
  int64_t changed_ns = 0;  // its content

  bool operator==(const FileStamp&) const = default;
};

struct FileText {
  std::string text;
  FileStamp stamp;
  uint32_t owner = 0;  // a uid
};

// How a file is read: what is no regular file, has a second name, or is larger than this is not.
enum class ReadFault : uint8_t { gone, not_regular, has_other_names, too_large, failed };

// The files of the tree below one root. Other processes write there too, so nothing in it is
// believed: each name is opened by itself below an open directory, symbolic links are never
// followed, and what is read is a regular file with one name, of a bounded size. What is written is
// written whole under a name in `.parley`, synced, and renamed. Files are for their owner alone.
// Blocks: belongs to a thread that may wait for the disk.
class Tree {
 public:
  static constexpr std::string_view work_directory = ".parley";

  // Makes the root and `.parley` in it where they are not there, and clears what a former life left
  // half done. The root itself may be reached by symbolic links.
  static std::expected<Tree, base::Error> open(const std::string& root);

  // A path below the root of one to three parts, each of which is one name. Makes what is missing
  // if `make` is set. Fails with not_found otherwise, and where a part is no directory.
  std::expected<Directory, base::Error> directory(std::string_view path, bool make) const;

  // Writes the file whole; takes the place of one with this name.
  std::expected<void, base::Error> write(const Directory& to, const std::string& name,
                                         std::string_view text);
  // Only where nothing has the name: false if something has.
  std::expected<bool, base::Error> write_new(const Directory& to, const std::string& name,
                                             std::string_view text);
  // False if there is no such file. Takes the place of what has the name.
  std::expected<bool, base::Error> move(const Directory& from, const std::string& name,
                                        const Directory& to, const std::string& new_name) const;
  // False if there was none.
  bool remove(const Directory& from, const std::string& name) const;
  bool contains(const Directory& in, const std::string& name) const;

  std::expected<FileText, ReadFault> read(const Directory& from, const std::string& name,
                                          size_t bytes_max) const;

  // Calls `visit` with the name of each entry, in no order, until it returns false.
  void list(const Directory& in, const std::function<bool(const std::string&)>& visit) const;

  // When the entry was last moved or changed, by the machine's clock, in seconds; 0: it is not
  // there.
  int64_t changed(const Directory& in, const std::string& name) const;

  // Removes a directory of the root with all that is in it, to a depth of three.
  void remove_all(const std::string& name) const;

  const Directory& root() const { return root_; }

 private:
  Tree(Directory root, Directory work) : root_(std::move(root)), work_(std::move(work)) {}
  std::expected<std::string, base::Error> write_apart(std::string_view text);
  std::expected<bool, base::Error> put(const Directory& to, const std::string& name,
                                       std::string_view text, bool only_new);

  Directory root_;
  Directory work_;
  uint64_t next_ = 1;  // of names in `.parley`
};

}  // namespace parley::edge::files
