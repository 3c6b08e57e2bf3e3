// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <string>

#include "edge/events/settings.h"

namespace parley::edge::events {

// The body of one hook is held for a caller who is not known until it is whole: so it is modest.
// GitHub sends up to 25 MB, but few events of the kinds that are delegated have even 100 KB.
constexpr size_t hook_bytes_default = size_t{1} << 20;

// How events come in, and in whose name they are delegated.
struct Options {
  std::string secret{};  // of the webhook; empty: there is none
  std::string supervisor = "orchestrator";
  bool bots = false;  // whether what bots did is delegated too
  size_t body_bytes_max = hook_bytes_default;
  Tables tables{};
  // Gets a line for the log when an event cannot be delegated.
  std::function<void(const std::string&)> warn{};
};

}  // namespace parley::edge::events
