// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/time.h"
#include "edge/files/jobs.h"
#include "edge/files/store.h"
#include "edge/files/watch.h"
#include "lib/json.h"

namespace parley::edge::files {

// Finds what agents did with the files of the store: messages that they sent, and those that they
// moved to the archive. Each is reported once until the loop has answered; what is lost with the
// process is found again. What is no message is moved aside. Belongs to the thread of the files.
class Finder {
 public:
  struct Options {
    size_t file_bytes_max = size_t{1} << 20;  // of a message; a larger one is refused
    size_t found_max = 64;                    // files that wait for the loop's answer
    // How long a file that is not whole, as far as can be seen, may stay as it is.
    base::Duration quiet = base::seconds(2);
    std::function<base::Time()> steady;  // a clock that nobody sets
  };
  Finder(Store& store, Options options) : store_(store), options_(std::move(options)) {}

  // From now on the box is looked after. Reports what has a file there.
  void add_box(const std::string& box);
  void close_box(const std::string& box);
  // The loop has answered what was found there.
  void answered(const std::string& box, Place place, const std::string& name);

  // The same, and it is to be looked at again soon.
  void postponed(const std::string& box, Place place, const std::string& name);

  // What the kernel told since the last call.
  void look_at_changes();
  // Looks through some of the directories, in turns, and tidies some.
  void look_around();
  // Looks through those that have more than could be reported when they were looked at.
  void look_again();

  // Has it told with what was found.
  void report(Report report) { reports_.push_back(std::move(report)); }
  std::vector<Report> take_reports() { return std::exchange(reports_, {}); }
  int fd() const { return watch_.fd(); }

 private:
  using FileKey = std::tuple<std::string, Place, std::string>;
  // A file that is not whole, as it was seen first.
  struct Unready {
    FileStamp stamp{};
    base::Time since{};
  };

  void look_at(const std::string& box, Place place, const std::string& name);
  void look_at_archived(const std::string& box, const std::string& name);
  void look_at_gone(const std::string& box, const std::string& name);
  void find_new(const std::string& box, Place place, const std::string& name);
  void find_unready(const FileKey& key, const FileStamp& stamp, const std::string& what);
  void look_through(const std::string& box, Place place);
  void find_lost(const std::string& box, const std::set<std::string>& there);

  Store& store_;
  const Options options_;
  Watch watch_;
  std::set<FileKey> asked_;  // what was found and is not answered yet
  std::map<FileKey, Unready> unready_;
  std::map<std::string, std::set<std::string>> lost_;  // by box: what a look did not find
  std::set<Watch::Where> more_;                        // have more than could be reported
  Watch::Where last_again_{};                          // of those: which was looked through last
  Watch::Where next_{};                                // where the turn of `look_around` goes on
  uint64_t turns_ = 0;
  std::vector<Report> reports_;
  lib::JsonDocument document_;
};

}  // namespace parley::edge::files
