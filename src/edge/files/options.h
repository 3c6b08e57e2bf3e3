// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "base/time.h"
#include "edge/files/senders.h"

namespace parley::edge::files {

// How the tree of files is kept (docs/files.md).
struct Limits {
  base::Duration look_every = base::seconds(2);  // at the directories, whatever the kernel tells
  base::Duration keep = base::hours(24 * 7);     // a file in an archive
  base::Duration keep_ended = base::hours(24);   // the directory of a subagent that ended
  base::Duration quiet = base::seconds(2);       // how long a file that is not whole may rest
  uint64_t pending_max = 1'000;                  // files in one pending; more messages wait
  uint64_t archived_max = 10'000;                // files in one archive
  size_t file_bytes_max = size_t{1} << 20;       // of a message that comes in
};

struct Options {
  std::string root;  // empty: there is no tree
  std::vector<FileSender> senders{};
  Limits limits{};
  // Gets a line for the log when something is wrong with the tree.
  std::function<void(const std::string&)> warn{};
};

}  // namespace parley::edge::files
