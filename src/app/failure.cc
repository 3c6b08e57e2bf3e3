// SPDX-License-Identifier: Apache-2.0
#include "app/failure.h"

#include <cstdio>

#include "app/text/terminal.h"

namespace parley::app {

Failure failure_of(const base::Error& error) {
  const base::CodeInfo& info = base::info(error.code);
  return {std::string(info.name), base::whole_detail(error), std::string(info.advice),
          error.has_lost_connection};
}

int complain(const Failure& failure) {
  std::string line = "parley: " + printable(failure.detail);
  if (!failure.code.empty()) {
    line += " (" + printable(failure.code) + ")";
  }
  std::fprintf(stderr, "%s\n", line.c_str());
  if (!failure.advice.empty()) {
    std::fprintf(stderr, "%s\n", printable(failure.advice).c_str());
  }
  return 1;
}

}  // namespace parley::app
