// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "core/tasks.h"
#include "edge/names.h"
#include "node/broker.h"

namespace parley::edge {

// What a codec asks of the messages that its sender got. Knows what Names know from the tables, and
// from the journal the names of what several were asked at once.
class Lookup final : public Names {
 public:
  Lookup(node::Broker& broker, const Principal& caller);

  std::optional<base::MessageId> find_task(std::string_view task,
                                           std::span<const std::string_view> from,
                                           std::string_view thread) const override;

 private:
  // What a scatter or a pipeline asks of the caller under this name without giving it a task.
  core::MessageRef asked(const core::TaskReport& report) const;

  node::Broker& broker_;
};

}  // namespace parley::edge
