// SPDX-License-Identifier: Apache-2.0
// Tasks: what was given is there and one agent has it, until it is done with; then it is not handed
// out again. Leases and hand-outs are checked with those of all messages.

#include <algorithm>

#include "sim/ledger.h"
#include "sim/text.h"

namespace parley::sim {

// A task that its director gave before, in the same conversation, is not delivered.
bool Ledger::is_given_again(const Step& step, const core::Envelope& e) const {
  const core::Task* const task = step.after.tables().tasks.find(step.outcome->message);
  return core::asks(e.kind) && task != nullptr && task->director == e.sender &&
         task->thread == e.thread && (e.task.empty() || task->id == e.task);
}

// The task that the message gave has gone to another with this entry.
bool Ledger::is_moved(const Step& step, Seq message, const std::string& receiver) const {
  const auto* const send = done<core::Send>(step);
  const core::Task* const task =
      send == nullptr ? nullptr : step.after.tables().tasks.find(step.entry.seq);
  return task != nullptr && core::asks(send->envelope.kind) && message < step.entry.seq &&
         sent_.at(message).sender == send->envelope.sender && !task->moves.empty() &&
         task->moves.back().from == receiver && task->moves.back().at == now_;
}

// Its specialist has told of the task, or that it is there.
bool Ledger::is_renewed(const Step& step, const Sent& sent, const Pair& pair) const {
  const core::Task* const task = step.after.tables().tasks.find(sent.seq);
  const auto* const beat = done<core::Heartbeat>(step);
  const auto* const send = done<core::Send>(step);
  const bool told = send != nullptr && !send->envelope.task.empty() &&
                    !core::asks(send->envelope.kind) && task != nullptr && task->heard == now_;
  const bool beats = beat != nullptr && !beat->only_seen &&
                     members_.at(pair.receiver).dialect == core::Dialect::inbox;
  return task != nullptr && task->is_open() && task->specialist == pair.receiver &&
         step.entry.actor == pair.receiver && (told || beats);
}

void Ledger::check_tasks(const Step& step) {
  const core::Tables& t = step.after.tables();
  if (const auto* send = done<core::Send>(step);
      send != nullptr && !step.outcome->duplicate && !send->envelope.task.empty() &&
      core::asks(send->envelope.kind) && step.entry.actor != core::broker_name) {
    const auto at = sent_.find(step.entry.seq);
    const bool to_one = at != sent_.end() && at->second.pairs.size() == 1 &&
                        send->envelope.receivers.size() == 1 && at->second.topic.empty() &&
                        is_registered(at->second.pairs.front().receiver) &&
                        !core::is_final(at->second.pairs.front().state);  // its queue was full
    const core::Task* const task = t.tasks.find(send->envelope.task, send->envelope.sender);
    if (to_one && (task == nullptr || task->message != step.entry.seq)) {
      fail(Check::task, step, text("task {} is given and not there", send->envelope.task));
    }
  }
  if (const auto* send = done<core::Send>(step);
      send != nullptr && send->envelope.kind == core::Kind::query && send->envelope.task.empty() &&
      t.tasks.find(step.entry.seq) != nullptr) {
    fail(Check::task, step, "a question that names no task has become one");
  }
  for (const auto& [began, task] : t.tasks.all()) {
    const auto at = sent_.find(task.message);
    if (!task.is_open()) {
      continue;
    }
    const auto pair = at == sent_.end()
                          ? std::vector<Pair>::const_iterator{}
                          : std::ranges::find(std::as_const(at->second.pairs), task.specialist,
                                              &Pair::receiver);
    if (at == sent_.end() || pair == at->second.pairs.end() || core::is_final(pair->state)) {
      fail(Check::task, step, text("{} has no task {} that is open", task.specialist, task.id));
      return;
    }
  }
}

}  // namespace parley::sim
