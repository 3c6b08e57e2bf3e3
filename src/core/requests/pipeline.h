// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/model/command.h"
#include "core/state/slots.h"

namespace parley::core {

// How a pipeline stands. Written into snapshots: never renumber.
enum class PipelineState : uint8_t { running = 0, paused = 1, completed = 2, failed = 3 };
constexpr PipelineState pipeline_state_last = PipelineState::failed;
std::string_view pipeline_state_name(PipelineState state);

// Work that goes through agents one after the other: what one answers is what the next is asked.
// The broker asks each of them in the name of the owner, who is told at the end.
struct Pipeline {
  struct Stage {
    std::string agent;
    Seq message{};   // what it was given; 0: not there yet
    Seq response{};  // what it made of it
    Time began{};
    Time ended{};
    static void fields(auto& self, auto& field) {
      field("agent", self.agent);
      field("message", self.message);
      field("response", self.response);
      field("began", self.began);
      field("ended", self.ended);
    }
    bool operator==(const Stage&) const = default;
  };

  Seq first;  // the message to the first stage
  MessageId id;
  std::string owner;
  std::string task{};  // as in Gather
  std::string thread{};
  std::vector<Stage> stages;
  uint32_t stage = 0;  // the one that works, or is waited for
  PipelineState state = PipelineState::running;
  Duration stage_timeout{};
  OnTimeout on_timeout = OnTimeout::fail;
  std::string error{};       // why it failed
  std::string waits_for{};   // the busy agent, while paused
  uint64_t outbox_item = 0;  // which will begin the stage
  Time since{};
  Time due{};  // while paused: when to look again
  Time ended{};
  uint32_t timer = none;

  bool is_over() const { return state >= PipelineState::completed; }
  // Its first message is kept until the first stage has time.
  bool waits_to_begin() const { return !is_over() && stages.front().message.n == 0; }

  static void fields(auto& self, auto& field) {
    field("first", self.first);
    field("id", self.id);
    field("owner", self.owner);
    field("task", self.task);
    field("thread", self.thread);
    field("stage", self.stage);
    field("state", self.state, pipeline_state_last);
    field("stage_timeout", self.stage_timeout);
    field("on_timeout", self.on_timeout, on_timeout_last);
    field("error", self.error);
    field("waits_for", self.waits_for);
    field("outbox_item", self.outbox_item);
    field("since", self.since);
    field("due", self.due);
    field("ended", self.ended);
    field("stages", self.stages);
  }
};

}  // namespace parley::core
