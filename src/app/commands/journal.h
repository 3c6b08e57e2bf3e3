// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace parley::app {

// `parley journal verify --data DIR`: checks every segment and snapshot and prints what it found.
// Returns the exit code: 0 sound, 1 damaged or unreadable.
int verify_journal(const std::string& data);

// Which records are printed.
struct DumpFilter {
  uint64_t from = 1;
  uint64_t to = UINT64_MAX;
  std::string agent{};  // only those that concern this principal; empty: all
};

// `parley journal dump --data DIR`: prints the records that the filter lets pass, one a line.
int dump_journal(const std::string& data, const DumpFilter& filter);

}  // namespace parley::app
