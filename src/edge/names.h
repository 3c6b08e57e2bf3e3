// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <expected>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/conversation/tasks.h"
#include "core/machine/tables.h"
#include "core/model/command.h"
#include "dialect/dialect.h"
#include "edge/principal.h"

namespace parley::edge {

// What a caller means by the id of a message. A message has one id in the form of each dialect, and
// any of them will do; it is looked up among the caller's own messages, so that two senders may use
// the same text without getting into each other's way.
class Names final : public dialect::Lookup {
 public:
  Names(const core::Tables& tables, const Principal& caller) : t_(tables), caller_(caller) {}

  std::expected<base::MessageId, base::Error> find_received(
      std::string_view id, std::span<const std::string_view> from) const override;

  std::optional<base::MessageId> find_task(std::string_view task,
                                           std::span<const std::string_view> from,
                                           std::string_view thread) const override;

  enum class First : uint8_t { received, sent };

  // By id in any form, or by place: `17`. Fails only where it could mean several that wait.
  // What the engine does not know is the caller's own of that id, as far as this can tell.
  std::expected<core::Target, base::Error> target(std::string_view text,
                                                  First first = First::received) const;

 private:
  std::expected<core::MessageRef, base::Error> received(
      std::string_view id, std::span<const std::string_view> from) const;
  // What a scatter or a pipeline asks of the caller under this name without giving it a task.
  core::MessageRef asked(const core::TaskReport& report) const;

  const core::Tables& t_;
  const Principal& caller_;
};

// `there is no "sma" here; the nearest name is "sam"`, for one who wrote to nobody. Of a crowd it
// looks at a part, so that a name costs the server no more than that.
std::string no_such_name(const core::Tables& tables, std::string_view name);

}  // namespace parley::edge
