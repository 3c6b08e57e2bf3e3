// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdlib.h>

#include <filesystem>
#include <string>

namespace parley::edge::files {

// A directory that is there as long as this.
struct Scratch {
  Scratch() {
    std::string made = (std::filesystem::temp_directory_path() / "parley-files-XXXXXX").string();
    path = ::mkdtemp(made.data());
  }
  ~Scratch() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  std::string path;
};

}  // namespace parley::edge::files
