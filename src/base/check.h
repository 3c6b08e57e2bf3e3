// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace parley::base {

// Prints the condition and its place on standard error, then aborts.
[[noreturn]] void check_failed(const char* condition, const char* file, int line);

// A member that each row of a table must name: leaving it out does not compile.
template <class T>
struct Stated {
  constexpr Stated(T stated) : value(stated) {}
  constexpr operator T() const { return value; }
  T value;
};

}  // namespace parley::base

// For our own mistakes only, in release builds too. What a client can cause is an Error, never a
// CHECK.
#define CHECK(condition)            \
  (static_cast<bool>(condition) ? static_cast<void>(0) \
                                : ::parley::base::check_failed(#condition, __FILE__, __LINE__))
