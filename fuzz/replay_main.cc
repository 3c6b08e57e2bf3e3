// SPDX-License-Identifier: Apache-2.0
// Runs a fuzz target over the files of the directories given, so that what a fuzzer once found
// stays tested by every compiler. A directory that is missing or empty is a failure: a replay of
// nothing proves nothing.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <system_error>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

// The files of `directory` in the order of their names; empty when it cannot be read.
std::vector<std::string> files_of(const char* directory) {
  std::vector<std::string> files;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(directory, error)) {
    if (entry.is_regular_file()) {
      files.push_back(entry.path().string());
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

bool replay(const std::string& path) {
  // Printed before the run: after a crash the last line names the input.
  std::fprintf(stderr, "%s\n", path.c_str());
  std::ifstream file(path, std::ios::binary);
  const std::string content{std::istreambuf_iterator<char>(file), {}};
  if (!file.is_open() || file.bad()) {
    std::fprintf(stderr, "replay: cannot read %s\n", path.c_str());
    return false;
  }
  // Exactly as large as the input, so that AddressSanitizer sees a read beyond its end.
  const std::vector<uint8_t> bytes(content.begin(), content.end());
  LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: %s DIRECTORY...\n", argv[0]);
    return 2;
  }
  size_t count = 0;
  for (int at = 1; at < argc; ++at) {
    const std::vector<std::string> files = files_of(argv[at]);
    if (files.empty()) {
      std::fprintf(stderr, "replay: no inputs in %s\n", argv[at]);
      return 1;
    }
    for (const std::string& path : files) {
      if (!replay(path)) {
        return 1;
      }
      ++count;
    }
  }
  std::printf("%zu inputs replayed\n", count);
  return 0;
}
