// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <expected>
#include <future>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/time.h"
#include "edge/principal.h"

namespace parley::edge::mcp {

// What is left of a session when it leaves memory, so that it goes on as it was, or stays ended.
struct Note {
  bool is_ended = false;
  std::string level{};              // of its log; empty: the usual one
  std::vector<std::string> uris{};  // that it subscribes to

  bool is_empty() const { return !is_ended && level.empty() && uris.empty(); }
};

// The notes of all sessions: in memory and, where there is one, in a file of lines, of which the
// last about a session counts. Bounded in bytes, for each principal and in all: then the oldest are
// forgotten. Not synced: a crash of the machine may take the newest, one of the broker does not.
// A note is appended by the thread that keeps it; a file that has grown is written anew by another.
class Notes {
 public:
  struct Bounds {
    size_t bytes_per_principal_max = size_t{1} << 20;
    size_t bytes_max = size_t{16} << 20;
    base::Duration life = base::hours(30 * 24);  // as long as a session can be used
  };

  Notes() = default;  // without a file
  static std::expected<std::unique_ptr<Notes>, base::Error> open(std::string path, base::Time now,
                                                                 const Bounds& bounds);
  ~Notes();
  Notes(const Notes&) = delete;
  Notes& operator=(const Notes&) = delete;

  // Null: nothing is to be known of it. Good until the next call of `keep`.
  const Note* find(std::string_view session) const;
  // Instead of the one before. Empty: as if there had been none. What cannot be written is kept in
  // memory all the same.
  void keep(std::string_view session, const Principal& owner, Note note, base::Time now);

  size_t size() const { return entries_.size(); }
  // Waits until the file is not being written anew.
  void settle();

 private:
  // A new file with nothing in it but what counts, not in its place yet.
  struct Compact {
    int fd = -1;
    size_t bytes = 0;
  };
  struct Entry {
    std::string owner;
    Note note;
    base::Time at;
    size_t bytes = 0;
    uint64_t turn = 0;  // in which it came
  };

  void take(const std::string& key, Entry entry);
  void erase(const std::string& key);
  void read_line(std::string_view line, base::Time now);
  static std::expected<Compact, base::Error> compact(const std::string& path, size_t upto,
                                                     const Bounds& bounds, base::Time now,
                                                     Notes& notes);
  std::expected<Compact, base::Error> write_new() const;
  std::expected<void, base::Error> put_in_place(const Compact& made);
  void append(const std::string& line);
  void finish_compaction();

  std::string path_;
  Bounds bounds_;
  int fd_ = -1;
  size_t file_bytes_ = 0;
  std::string unwritten_;   // a write failed: goes before the next line
  size_t compact_from_ = 0;  // bytes of the file; less is not worth it, or failed just now
  std::string since_;        // lines that a file that is being written does not have
  std::future<std::expected<Compact, base::Error>> compacting_;
  std::future<void> closing_;
  size_t bytes_ = 0;
  uint64_t last_turn_ = 0;
  // By a hash: an id is half of what it takes to use a session.
  std::unordered_map<std::string, Entry> entries_;
  std::map<uint64_t, std::string> by_turn_;
  std::map<std::pair<std::string, uint64_t>, std::string> by_owner_;  // and turn
  std::map<std::string, size_t> bytes_of_;                            // by owner
};

}  // namespace parley::edge::mcp
