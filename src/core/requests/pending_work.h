// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/model/command.h"
#include "core/state/deadlines.h"
#include "core/state/slots.h"

namespace parley::core {

// Over 150 lines: the three things that are waited for, and the table that they share.

// A request that is not answered yet, a roll call, or a message whose sender wants to know when it
// is acknowledged.
struct PendingRequest {
  Seq message;
  Duration timeout;
  OnTimeout on_timeout = OnTimeout::fail;
  uint32_t retries = 0;  // that were made
  bool is_roll_call = false;
  bool is_receipt = false;  // of the third kind
  bool pauses = false;      // before it is sent again
  Seq pipeline;             // whose stage it is; none: 0
  Time due{};
  uint32_t timer = none;

  static void fields(auto& self, auto& field) {
    field("message", self.message);
    field("timeout", self.timeout);
    field("on_timeout", self.on_timeout, on_timeout_last);
    field("retries", self.retries);
    field("is_roll_call", self.is_roll_call);
    field("is_receipt", self.is_receipt);
    field("pauses", self.pauses);
    field("pipeline", self.pipeline);
    field("due", self.due);
  }
};

// How a scatter-gather stands. Written into snapshots: never renumber.
enum class GatherState : uint8_t { open = 0, complete = 1, partial = 2, failed = 3 };
constexpr GatherState gather_state_last = GatherState::failed;
std::string_view gather_state_name(GatherState state);

struct Gather {
  struct Member {
    std::string name;
    Seq response;  // 0: none yet
    Status status = Status::unset;
    bool failed = false;  // the request did not reach it
    bool counts() const {
      return response.n != 0 && status != Status::error && status != Status::declined;
    }
    static void fields(auto& self, auto& field) {
      field("name", self.name);
      field("response", self.response);
      field("status", self.status, status_last);
      field("failed", self.failed);
    }
    bool operator==(const Member&) const = default;
  };

  Seq message;  // the request to all members
  MessageId id;
  std::string owner;
  std::string task{};    // the taskId of the request; empty: it has none
  std::string thread{};  // of that task; empty without one
  Gathering terms;
  GatherState state = GatherState::open;
  bool extended = false;
  std::vector<Member> members{};
  Time since{};
  Time due{};  // end of the window
  Time ended{};
  uint32_t timer = none;

  size_t needed() const;
  size_t good() const;
  // How many could still count.
  size_t possible() const;

  static void fields(auto& self, auto& field) {
    field("message", self.message);
    field("id", self.id);
    field("owner", self.owner);
    field("task", self.task);
    field("thread", self.thread);
    field("terms", self.terms);
    field("state", self.state, gather_state_last);
    field("extended", self.extended);
    field("since", self.since);
    field("due", self.due);
    field("ended", self.ended);
    field("members", self.members);
  }
};

// How a pipeline stands. Written into snapshots: never renumber.
enum class PipelineState : uint8_t { running = 0, paused = 1, completed = 2, failed = 3 };
constexpr PipelineState pipeline_state_last = PipelineState::failed;
std::string_view pipeline_state_name(PipelineState state);

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

// Everything that someone waits for, each under the place of its first message, and when it is due.
class PendingWork {
 public:
  PendingRequest* find_request(Seq message);
  const PendingRequest* find_request(Seq message) const;
  Gather* find_gather(Seq message);
  Pipeline* find_pipeline(Seq first);
  // By the id that its owner gave its message; nullptr when there is none.
  const Gather* find_gather(std::string_view owner, const MessageId& id) const;
  const Pipeline* find_pipeline(std::string_view owner, const MessageId& id) const;

  // What a scatter, or a pipeline as its first stage, asks of an agent under the name of a task.
  struct Asked {
    Seq message;
    std::string_view thread;
  };
  // Newest first, up to `count_max`. The views are good until something is removed.
  std::vector<Asked> asked(std::string_view agent, std::string_view task, size_t count_max) const;

  PendingRequest& add(PendingRequest request, Time due);
  Gather& add(Gather gather, Time due);
  Pipeline& add(Pipeline pipeline);
  void remove_request(Seq message);
  void remove_gather(Seq message);
  void remove_pipeline(Seq first);

  // `time_max` stops the timer.
  void set_due(PendingRequest& request, Time at) {
    set(request.timer, request.due, at, request.message, Kind::request);
  }
  void set_due(Gather& gather, Time at) {
    set(gather.timer, gather.due, at, gather.message, Kind::gather);
  }
  void set_due(Pipeline& pipeline, Time at) {
    set(pipeline.timer, pipeline.due, at, pipeline.first, Kind::pipeline);
  }

  enum class Kind : uint8_t { request, gather, pipeline };
  struct Due {
    Time at;
    Seq seq;
    Kind kind;
  };
  // The next one that is due, at time_max when nothing is.
  Due next() const;

  const std::map<Seq, PendingRequest>& requests() const { return requests_; }
  const std::map<Seq, Gather>& gathers() const { return gathers_; }
  const std::map<Seq, Pipeline>& pipelines() const { return pipelines_; }

  // The records that it still needs: what is not named by any table is lost with its segment.
  void add_live(std::vector<Seq>& seqs) const;

  void encode(Writer& out) const;
  bool decode(Reader& in);

 private:
  using Name = std::pair<std::string, MessageId>;
  using Work = std::pair<std::string, std::string>;  // an agent and a task

  void file(const Gather& gather);
  void unfile(const Gather& gather);
  void unfile(std::string_view agent, std::string_view task, Seq first);
  void set(uint32_t& timer, Time& due, Time at, Seq seq, Kind kind);

  std::map<Seq, PendingRequest> requests_;
  std::map<Seq, Gather> gathers_;
  std::map<Seq, Pipeline> pipelines_;
  std::map<Name, Seq> gather_names_;
  std::map<Name, Seq> pipeline_names_;
  std::map<Work, std::set<Seq>> work_;  // places of gathers and pipelines that name a task
  Deadlines deadlines_;
};

}  // namespace parley::core
