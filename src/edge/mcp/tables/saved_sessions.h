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

// What is kept of a session that leaves memory, so that it goes on as it was, or stays ended.
struct SavedSession {
  bool is_ended = false;
  std::string level{};              // of its log; empty: the usual one
  std::vector<std::string> uris{};  // that it subscribes to

  bool is_empty() const { return !is_ended && level.empty() && uris.empty(); }
};

// What is kept of all sessions: in memory and, where there is one, in a file with a line for each
// change, of which the last about a session counts. Bounded in bytes, for each principal and in
// all: beyond that the oldest are forgotten. The file is not synced: a crash of the machine may
// take the newest lines, a crash of the broker does not. A line is appended by the thread that
// calls `keep`; a file that has grown is written anew by another thread.
class SavedSessions {
 public:
  struct Bounds {
    size_t bytes_per_principal_max = size_t{1} << 20;
    size_t bytes_max = size_t{16} << 20;
    base::Duration life = base::hours(30 * 24);  // as long as a session can be used
  };

  SavedSessions() = default;  // without a file
  static std::expected<std::unique_ptr<SavedSessions>, base::Error> open(std::string path,
                                                                         base::Time now,
                                                                         const Bounds& bounds);
  ~SavedSessions();
  SavedSessions(const SavedSessions&) = delete;
  SavedSessions& operator=(const SavedSessions&) = delete;

  // What is kept of the session with this id; null: nothing. Good until the next call of `keep`.
  const SavedSession* find(std::string_view session) const;
  // Replaces what was kept of the session; an empty one is removed. What cannot be written to the
  // file is kept in memory all the same.
  void keep(std::string_view session, const Principal& owner, SavedSession saved, base::Time now);

  size_t size() const { return entries_.size(); }
  // Waits until no other thread writes the file anew.
  void settle();

 private:
  // A new file with the lines that count and no others. It does not have its final name yet.
  struct CompactFile {
    int fd = -1;
    size_t bytes = 0;
  };
  struct Entry {
    std::string owner;
    SavedSession saved;
    base::Time at;
    size_t bytes = 0;
    uint64_t order = 0;  // a later one has a larger number
  };

  void take(const std::string& key, Entry entry);
  void erase(const std::string& key);
  void read_line(std::string_view line, base::Time now);
  static std::expected<CompactFile, base::Error> compact(const std::string& path, size_t upto,
                                                         const Bounds& bounds, base::Time now,
                                                         SavedSessions& saved_sessions);
  std::expected<CompactFile, base::Error> write_new() const;
  std::expected<void, base::Error> put_in_place(const CompactFile& made);
  void append(const std::string& line);
  void finish_compaction();

  std::string path_;
  Bounds bounds_;
  int fd_ = -1;
  size_t file_bytes_ = 0;
  std::string unwritten_;    // lines that could not be written; they go before the next one
  size_t compact_from_ = 0;  // the file is not written anew below this size: that just failed
  std::string lines_since_;  // appended since the other thread began to write the file anew
  std::future<std::expected<CompactFile, base::Error>> compacting_;
  std::future<void> closing_;
  size_t bytes_ = 0;
  uint64_t last_order_ = 0;
  // By a hash of the id: the id is half of what it takes to use a session.
  std::unordered_map<std::string, Entry> entries_;
  std::map<uint64_t, std::string> by_order_;
  std::map<std::pair<std::string, uint64_t>, std::string> by_owner_;  // and order
  std::map<std::string, size_t> bytes_of_;                            // by owner
};

}  // namespace parley::edge::mcp
