// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/error.h"

namespace parley::app {

// What the user reads when something is refused or fails: `parley: DETAIL (CODE)` and the advice.
struct Failure {
  std::string code;
  std::string detail;
  std::string advice;
  bool has_lost_connection = false;  // there was a broker: it went while it was asked

  bool operator==(const Failure&) const = default;
};

Failure failure_of(const base::Error& error);

// Prints the failure on standard error and returns the exit code, 1.
int complain(const Failure& failure);

}  // namespace parley::app
