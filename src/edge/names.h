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

// Finds the message that a caller means by an id. A message has an id in the form of each dialect,
// and any of them will do. The id is looked up among the caller's own messages, so two senders may
// use the same text as an id.
class Names final : public dialect::Lookup {
 public:
  Names(const core::Tables& tables, const Principal& caller) : t_(tables), caller_(caller) {}

  std::expected<base::MessageId, base::Error> find_received(
      std::string_view id, std::span<const std::string_view> from) const override;

  std::optional<base::MessageId> find_task(std::string_view task,
                                           std::span<const std::string_view> from,
                                           std::string_view thread) const override;

  enum class First : uint8_t { received, sent };

  // The message with this id, in any form, or with this seq: `17`. Fails only where the id could
  // mean several messages that wait. An id that the engine does not know counts as one of the
  // caller's own messages.
  std::expected<core::Target, base::Error> target(std::string_view text,
                                                  First first = First::received) const;

 private:
  std::expected<core::MessageRef, base::Error> received(
      std::string_view id, std::span<const std::string_view> from) const;
  // The message by which a scatter or a pipeline asks the caller under this name. It is no task.
  core::MessageRef asked(const core::TaskReport& report) const;

  const core::Tables& t_;
  const Principal& caller_;
};

// `there is no "sma" here; the nearest name is "sam"`, for a message to a name that nobody has.
// Looks at 500 names at most, so that a wrong name costs the server little.
std::string no_such_name(const core::Tables& tables, std::string_view name);

}  // namespace parley::edge
