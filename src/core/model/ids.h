// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <compare>
#include <cstdint>

#include "core/model/envelope.h"
#include "core/model/fields.h"

namespace parley::core {

// SHA-256 of a token. The token itself is never in a journal.
using TokenHash = std::array<uint8_t, 32>;

// What webhooks are signed with. It has to be in the journal: a hash signs nothing.
using WebhookSecret = std::array<uint8_t, 32>;

// A workspace's number; 0 is the one that every journal begins with.
enum class WorkspaceId : uint32_t {};
constexpr WorkspaceId workspace_first{0};

// A connection through which messages are pushed: the node's origin and a number it gave.
struct StreamId {
  uint64_t origin = 0;
  uint64_t number = 0;

  static void fields(auto& self, auto& field) {
    field("origin", self.origin, Form::fixed);
    field("number", self.number);
  }
  auto operator<=>(const StreamId&) const = default;
};
constexpr StreamId stream_none{};

// A message as its receiver names it: by place, or else by id.
struct Target {
  Seq seq;
  MessageId id;

  static void fields(auto& self, auto& field) {
    field("seq", self.seq);
    field("id", self.id);
  }
  bool operator==(const Target&) const = default;
};

}  // namespace parley::core
