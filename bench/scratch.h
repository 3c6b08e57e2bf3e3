// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdlib.h>

#include <filesystem>
#include <string>

namespace parley::bench {

// A directory of its own, removed at the end. Beside the working directory, not in /tmp: that may
// be memory.
class Scratch {
 public:
  Scratch() : path_((std::filesystem::current_path() / "parley-bench-XXXXXX").string()) {
    if (::mkdtemp(path_.data()) == nullptr) {
      path_.clear();
    }
  }
  ~Scratch() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace parley::bench
