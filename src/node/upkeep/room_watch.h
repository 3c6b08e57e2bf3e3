// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "base/error.h"
#include "base/time.h"

namespace parley::node {

// Looks now and then at what can still be stored, and knows why nothing new is taken while that is
// little. A part of Node.
class RoomWatch {
 public:
  struct Options {
    // What can still be stored, in bytes. Empty: enough.
    std::function<uint64_t()> room;
    uint64_t room_min = 0;
    // Told once when it becomes little. Empty: nobody.
    std::function<void(const base::Error&)> warn;
  };

  explicit RoomWatch(Options options) : options_(std::move(options)) {}

  enum class Found : uint8_t { nothing, enough, little };
  // Looks, if it is time to; else it finds nothing.
  Found look(base::Time now);

  // Why nothing new is taken; none when there is room.
  const std::optional<base::Error>& trouble() const { return trouble_; }
  // When to look by itself: room that comes back is noticed although nothing is taken meanwhile.
  base::Time due() const { return trouble_ ? due_ : base::time_max; }

 private:
  Options options_;
  std::optional<base::Error> trouble_;
  base::Time due_{};
};

}  // namespace parley::node
