// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "sim/model/step.h"

// Requests, scatters and pipelines that are not over, as the model has them.
namespace parley::sim {

// A request that is waited for.
struct Request {
  std::string sender;
  Time due;
  core::Duration timeout;
  core::OnTimeout on_timeout = core::OnTimeout::fail;
  uint32_t retries = 0;
  bool is_stage = false;  // It is one stage of a pipeline.
  bool failed = false;    // For all receivers, in the entry at hand.
  bool pauses = false;    // Before it is sent again.
  Seq held{};  // It, or the answer to it, which waits for people: its timer stands still.
  core::Duration left{};  // Of the timer, while it stands still.
  bool reported = false;  // Its receiver said that this try has failed.
  core::Duration extension{};  // What its receiver got beyond `timeout`.
  Seq extended_at{};           // The entry that gave it the last of that.
};

enum class Answer : uint8_t { none, good, bad, failed };

// A request to several at once.
struct Scatter {
  core::Gathering terms;
  std::string owner;
  Time due;
  bool extended = false;
  std::map<std::string, Answer> answers;  // By receiver.

  // How many good answers it needs.
  size_t needed() const;
  size_t count(Answer kind) const;
};

// What all requests of one pipeline have in common with its first message.
struct StageHeader {
  std::string sender;
  std::string thread;
  std::string correlation;
  core::Priority priority = core::Priority::normal;
  core::Duration ttl;
  core::Id128 trace_id;

  static StageHeader of(const core::Envelope& envelope);
  bool operator==(const StageHeader&) const = default;
};

// A request that is answered by one agent after the other.
struct Pipeline {
  core::MessageId id;
  StageHeader header;
  std::vector<std::string> stages;
  core::Duration timeout;        // Of each stage, by the rules that held when it began.
  size_t asked = 1;              // How many stages were asked. 0: the first one is busy.
  Seq message;                   // The request to the present stage.
  Answer answer = Answer::none;  // The present stage's answer.
  uint64_t outbox_item = 0;      // It will send the request to the next stage.
  Seq sent_at;                   // The entry in which the broker sent the present request.
};

// What an outbox item says under this name; empty or zero when it says nothing.
template <class T>
T fact_of(const core::OutboxItem& item, std::string_view name) {
  const auto at = std::ranges::find(item.facts, name, &core::Fact::name);
  const T* const value = at == item.facts.end() ? nullptr : std::get_if<T>(&at->value);
  return value == nullptr ? T{} : *value;
}

}  // namespace parley::sim
