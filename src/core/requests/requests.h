// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <expected>
#include <string>
#include <string_view>

#include "core/delivery/dispatch.h"
#include "core/machine/tables.h"

namespace parley::core {

// Whose next stage the outbox item is.
Seq pipeline_of(const OutboxItem& item);

// Follows the messages that someone waits for: requests, roll calls, scatters, pipelines. Each ends
// by an answer, by a failure or by the clock, and whoever waits is told. Made anew for each entry,
// beside Dispatch, which moves the deliveries.
class Requests {
 public:
  Requests(Tables& tables, Dispatch& dispatch) : t_(tables), dispatch_(dispatch) {}

  // Whether the message, which is about to be accepted, will be watched. To many: to a topic or to
  // everyone.
  static bool wants(const Tables& tables, const Send& command, bool to_many);
  // Why it cannot be.
  static std::expected<void, Error> check(const Tables& tables, const Send& command);
  // It was accepted: begins what it starts. `item` is what it was sent for, if anything.
  void begin(const Send& command, MessageRef message, const OutboxItem* item);

  // The agent says that it has no time now, or put a stage's message off.
  bool is_busy(const Agent& agent) const;

  // `answer` is the reply of `by` to `question`.
  void answered(MessageRef question, AgentRef by, MessageRef answer, Status status);

  // The message of the outbox item, a pipeline's next stage, was refused.
  void cannot_begin(const OutboxItem& item, std::string why);

  // The agent gave a message back: a stage is busy until then.
  void put_off(DeliveryRef ref, Duration delay);
  // The agent said how it is: pipelines that wait for it may go on.
  void heard_from(AgentRef agent);
  // No one has this name any more.
  void left(std::string_view name);

  // Draws the conclusions from the deliveries that ended in this entry.
  void settle();
  // Does what is due, a bounded part of it.
  void advance();

 private:
  void begin_gather(const Send& command, MessageRef message);
  void begin_pipeline(const Send& command, MessageRef message);
  void begin_stage(const OutboxItem& item, MessageRef message);
  void wait_for(MessageRef message, Duration timeout, OnTimeout on_timeout, Seq pipeline);
  void stop_watching(Seq message);
  void end_wait(Seq message);

  void delivery_ended(MessageRef message);
  void on_due(PendingRequest& wait);
  void send_again(MessageRef message);
  void time_out(const PendingRequest& wait, MessageRef message);
  void report_roll_call(MessageRef message);
  void begin_receipt(const Envelope& envelope, MessageRef message);
  void report_receipt(const PendingRequest& wait, MessageRef message, bool in_time);

  void evaluate(Gather& gather);
  void give_up(Gather& gather);
  void end(Gather& gather, GatherState state);

  void stage_answered(Pipeline& pipeline, Seq answer, Status status);
  void hand_over(Pipeline& pipeline);
  void fail(Pipeline& pipeline, std::string why);
  void end(Pipeline& pipeline, PipelineState state);
  const Agent* busy_one(const Pipeline& pipeline) const;
  std::string receivers_of(MessageRef message) const;

  Tables& t_;
  Dispatch& dispatch_;
};

}  // namespace parley::core
