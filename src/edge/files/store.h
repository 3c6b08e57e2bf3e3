// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "edge/files/jobs.h"
#include "edge/files/ledger.h"
#include "edge/files/tree.h"
#include "lib/json.h"

namespace parley::edge::files {

// Where files are found in a box of this kind.
std::vector<Place> places_of(BoxKind kind);

// Does with the boxes of the tree what the broker wants done, and keeps the ledger of what is in
// them. A call that was cut off by a crash can be made again. Belongs to the thread of the files.
class Store {
 public:
  struct Options {
    std::string root;          // has `agent-inbox`, and beside it what is appended to
    size_t kept_max = 10'000;  // files in one archive; the oldest go
    base::Duration keep = base::hours(24 * 7);  // in an archive
    base::Duration keep_box = base::hours(24);  // of an agent that is gone for good
    std::string readme;                         // of the tree
    std::string schema;
    std::function<base::Time()> wall;  // what files are dated by
  };

  static std::expected<std::unique_ptr<Store>, base::Error> open(Options options);
  ~Store();
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  std::expected<void, base::Error> add_box(const AddBox& job);
  void end_box(const EndBox& job);
  void close_box(const CloseBox& job) { boxes_.erase(job.box); }
  std::expected<void, base::Error> put(const Put& job);
  void settle(const Settle& job);
  void withdraw(const Withdraw& job);
  void take(const Take& job);
  // Moves a file aside, and writes beside it what is wrong: JSON.
  void set_aside(const Refuse& job);
  std::expected<void, base::Error> append(const Append& job);

  // The end of a file beside the boxes; empty where there is none.
  std::string read_back(const std::string& file) const;

  const std::map<std::string, BoxKind, std::less<>>& boxes() const { return boxes_; }
  // A directory of a box; opens nothing where the box is not looked after or the directory is gone.
  Directory open(const std::string& box, Place place) const;
  const Tree& tree() const { return tree_; }
  const Ledger& ledger() const { return ledger_; }
  void set(const std::string& box, const std::string& name, Ledger::Entry entry);
  void erase(const std::string& box, const std::string& name);

  // Removes what is old in the box: from the archive, from what was sent and what was refused.
  void tidy(const std::string& box);
  // Removes the boxes of agents that are gone since long enough.
  void tidy_ended();

 private:
  Store(Options options, Tree top, Tree tree);

  std::expected<void, base::Error> open_ledger();
  void note(const std::string& line);
  bool is_same_message(const Directory& in, const std::string& name, std::string_view text);
  void tidy(const std::string& box, Place place);

  const Options options_;
  Tree top_;   // the root
  Tree tree_;  // its agent-inbox
  Ledger ledger_;
  int ledger_fd_ = -1;
  std::map<std::string, BoxKind, std::less<>> boxes_;
  std::array<lib::JsonDocument, 2> documents_;
};

}  // namespace parley::edge::files
