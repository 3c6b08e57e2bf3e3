// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <expected>
#include <string_view>

#include "core/delivery/dispatch.h"
#include "core/machine/tables.h"

namespace parley::core {

// Follows the messages that someone waits for. Each ends by an answer, by a failure or by the
// clock, and whoever waits is told. Does so itself for requests that wait for an answer; what is
// about a roll call, a scatter-gather or a pipeline goes to acknowledgements.h, gather_acts.h and
// pipeline_acts.h. Made anew for each entry, beside Dispatch, which moves the deliveries.
class Requests {
 public:
  Requests(Tables& tables, Dispatch& dispatch) : t_(tables), dispatch_(dispatch) {}

  // Whether the message, which is about to be accepted, will be watched. To many: to a topic or to
  // everyone.
  static bool wants(const Tables& tables, const Send& command, bool to_many);
  // Why it cannot be.
  static std::expected<void, Error> check(const Tables& tables, const Send& command);
  // The same of one more request that this one waits for.
  static std::expected<void, Error> check_room(const Tables& tables, std::string_view owner);
  // It was accepted: begins what it starts. `item` is what it was sent for, if anything.
  void begin(const Send& command, MessageRef message, const OutboxItem* item);

  // `answer` is the reply of `by` to `question`.
  void answered(MessageRef question, AgentRef by, MessageRef answer, Status status);
  // No one has this name any more.
  void left(std::string_view name);

  // Draws the conclusions from the deliveries that ended in this entry.
  void settle();
  // Does what is due, at most `due_max`.
  void advance();

 private:
  void delivery_ended(MessageRef message);
  void request_due(PendingRequest& request);
  void send_again(MessageRef message);
  void time_out(const PendingRequest& request, MessageRef message);
  void task_timed_out(const PendingRequest& request, MessageRef message, AgentRef asked,
                      const std::string& why);

  Tables& t_;
  Dispatch& dispatch_;
};

}  // namespace parley::core
