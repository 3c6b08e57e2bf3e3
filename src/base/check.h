// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace parley::base {

// Prints the condition and its place on standard error, then aborts.
[[noreturn]] void check_failed(const char* condition, const char* file, int line);

}  // namespace parley::base

// For our own mistakes only, in release builds too. What a client can cause is an Error, never a
// CHECK.
#define CHECK(condition)            \
  (static_cast<bool>(condition) ? static_cast<void>(0) \
                                : ::parley::base::check_failed(#condition, __FILE__, __LINE__))
