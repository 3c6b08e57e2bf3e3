// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <expected>
#include <optional>
#include <span>
#include <string_view>

#include "core/tasks.h"
#include "edge/names.h"
#include "node/broker.h"

namespace parley::edge {

// What a codec asks of the messages that its sender got. Knows what the tables know (Names), and
// from the journal the names of what several were asked at once.
class Lookup final : public dialect::Lookup {
 public:
  Lookup(node::Broker& broker, const Principal& caller);

  std::expected<base::MessageId, base::Error> find_received(
      std::string_view id, std::span<const std::string_view> from) const override;

  std::optional<base::MessageId> find_task(std::string_view task,
                                           std::span<const std::string_view> from,
                                           std::string_view thread) const override;

 private:
  // What a scatter or a pipeline asks of the caller under this name without giving it a task.
  core::MessageRef asked(const core::TaskReport& report) const;

  node::Broker& broker_;
  const core::Tables& t_;
  const Principal& caller_;
  Names names_;
};

}  // namespace parley::edge
