// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "app/client/client.h"
#include "app/config.h"
#include "base/time.h"

namespace parley::app {

// What one look found. `advice` says what to do about a warning or a failure.
struct Finding {
  enum class Status : uint8_t { ok, warn, fail };

  std::string check;
  Status status = Status::ok;
  std::string detail;
  std::string advice;
};

// Looks at everything that is known to go wrong on this machine: configuration, data directory,
// who uses it, tokens, journal, clock, disk, port, the running broker. Changes nothing.
std::vector<Finding> examine(const ConfigSources& sources, const ClientOptions& client,
                             base::Time now);

// The time of an HTTP Date header: `Sun, 06 Nov 1994 08:49:37 GMT`.
std::optional<base::Time> parse_http_date(std::string_view text);

}  // namespace parley::app
