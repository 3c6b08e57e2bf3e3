// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>

#include "edge/notify/templates.h"

namespace parley::edge::notify {

// What each target was told, in a small file, so that a restart does not tell all that is open
// again. Escalations and approvals are told in the order of their ids, so that one id for each says
// it. Waits for the disk, and may be called on any thread.
class Told {
 public:
  // What the file has. Empty path: nothing is kept.
  explicit Told(std::string path);

  // The newest that the target was told of; 0: of none.
  uint64_t newest(const std::string& target, What what) const;
  // It was told, and so was all before it.
  void add(const std::string& target, What what, uint64_t id);

 private:
  using Key = std::pair<std::string, What>;
  void save() const;

  const std::string path_;
  mutable std::mutex mutex_;
  std::map<Key, uint64_t> newest_;
};

}  // namespace parley::edge::notify
