// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace parley::app {

// `parley journal verify --data DIR`: checks every segment and snapshot and prints what it found.
// Returns the exit code: 0 sound, 1 damaged or unreadable.
int verify_journal(const std::string& data);

// `parley journal dump --data DIR`: prints the records from `from` to `to`, one a line.
int dump_journal(const std::string& data, uint64_t from, uint64_t to);

}  // namespace parley::app
