// SPDX-License-Identifier: Apache-2.0
// Tasks: what was given is there and one agent has it, until it is done with; then it is not handed
// out again. Leases and hand-outs are checked with those of all messages.

#include <algorithm>

#include "sim/checks/ledger.h"
#include "sim/text.h"

namespace parley::sim {

namespace {

// Whether a scatter, or a pipeline as its first stage, asks this of the agent.
bool is_asked(const core::Patterns& patterns, std::string_view agent, std::string_view task) {
  return std::ranges::any_of(patterns.gathers(),
                             [&](const auto& item) {
                               return item.second.task == task &&
                                      std::ranges::find(item.second.members, agent,
                                                        &core::Gather::Member::name) !=
                                          item.second.members.end();
                             }) ||
         std::ranges::any_of(patterns.pipelines(), [&](const auto& item) {
           return item.second.task == task && item.second.stages.front().agent == agent;
         });
}

}  // namespace

// A task that its director gave before, in the same conversation, is not delivered.
bool Ledger::is_given_again(const Step& step, const core::Envelope& e) const {
  const core::Task* const task = step.after.tables().tasks.find(step.outcome->message);
  return core::asks(e.kind) && task != nullptr && task->director == e.sender &&
         task->thread == e.thread && (e.task.empty() || task->id == e.task);
}

// The message goes to one more, or to one who had it before, with a new time to live.
void Ledger::learn_move(const Step& step, const core::ReassignTask& command) {
  const auto at = sent_.find(step.outcome->message);
  const std::string to(command.to);
  if (at == sent_.end() || !is_registered(to)) {
    fail(Check::task, step, text("{} is reassigned, and cannot be", command.task));
    return;
  }
  Pair* pair = find(at->second, to);
  if (pair != nullptr && !core::is_final(pair->state)) {
    fail(Check::task, step, text("{} is reassigned to {}, who has it", command.task, to));
    return;
  }
  coverage_.count("task", pair == nullptr ? "reassigned" : "reassigned back");
  const core::Session* const session = step.after.tables().sessions.find(at->second.session);
  const bool is_over = std::ranges::all_of(
      at->second.pairs, [](const Pair& each) { return core::is_final(each.state); });
  if (is_over && (session == nullptr || !session->open.contains(at->first))) {
    at->second.session.clear();  // it has left its session, and goes on outside of it
  }
  if (pair == nullptr) {
    Pair added;
    added.receiver = to;
    at->second.pairs.push_back(std::move(added));
    pair = &at->second.pairs.back();
  }
  // The time that passed with this entry may have ended it for the former just before.
  const bool was_open = std::ranges::any_of(at->second.pairs, [&](const Pair& each) {
    const bool is_held = core::is_held(each.state) && each.due > now_;
    return !core::is_final(each.state) && (is_held || at->second.expires > now_);
  });
  // But who acknowledged it may still answer: then it did not fail for all, and is waited for.
  const bool is_acked = std::ranges::any_of(
      at->second.pairs, [](const Pair& each) { return each.state == State::acked; });
  revive(step, at->second, *pair);
  if (!is_over && !was_open) {
    if (!is_acked) {
      asked_.erase(at->first);
    }
    at->second.asks = at->second.asks && asked_.contains(at->first);
  }
  blocked_.erase(at->first);  // whom its sender waits for is another now
}

// What the receiver has of the message is taken from it with this entry: its task went to another,
// or was given again in other words.
bool Ledger::is_superseded(const Step& step, Seq message, const std::string& receiver) const {
  const auto* const send = done<core::Send>(step);
  const core::Tasks& tasks = step.after.tables().tasks;
  const bool is_move = done<core::ReassignTask>(step) != nullptr;
  const core::Task* const task = is_move ? tasks.find(step.outcome->message)
                                         : (send == nullptr ? nullptr : tasks.find(step.entry.seq));
  if (task == nullptr) {
    return false;
  }
  const bool is_from =
      !task->moves.empty() && task->moves.back().from == receiver && task->moves.back().at == now_;
  const bool is_given_anew = send != nullptr && core::asks(send->envelope.kind) &&
                             message < step.entry.seq &&
                             sent_.at(message).sender == send->envelope.sender &&
                             sent_.at(message).thread == send->envelope.thread;
  if (is_move ? message == task->message && is_from
              : is_given_anew && (is_from || task->specialist == receiver)) {
    coverage_.count("task", is_move ? "taken away" : is_from ? "moved" : "superseded");
    return true;
  }
  return false;
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

// It is there, its giver has not more than its share, and what it was given by before is over.
void Ledger::check_given(const Step& step, const core::Send& command) {
  const core::Envelope& e = command.envelope;
  const core::Tables& t = step.after.tables();
  const auto at = sent_.find(step.entry.seq);
  const bool to_one = at != sent_.end() && at->second.pairs.size() == 1 &&
                      e.receivers.size() == 1 && at->second.topic.empty() &&
                      is_registered(at->second.pairs.front().receiver) &&
                      !core::is_final(at->second.pairs.front().state);  // its queue was full
  const core::Task* const task = t.tasks.find(e.task, e.sender, e.thread);
  if (!to_one) {
    return;
  }
  if (task == nullptr || task->message != step.entry.seq) {
    fail(Check::task, step, text("task {} is given and not there", e.task));
    return;
  }
  const std::string giver(e.sender);
  const uint64_t share = std::max<uint64_t>(1, rules_.tasks_max * rules_.task_giver_percent / 100);
  const auto open =
      static_cast<uint64_t>(std::ranges::count_if(t.tasks.all(), [&](const auto& item) {
        return item.second.director == giver && item.second.is_open();
      }));
  if (open > share && open > open_tasks_[giver]) {
    fail(Check::limit, step, text("{} has {} open tasks, and a share of {}", giver, open, share));
  }
  const auto before = given_.find({giver, std::string(e.task), std::string(e.thread)});
  if (before == given_.end()) {
    return;
  }
  const Pair* const former = find(before->second.message, before->second.specialist);
  if (former != nullptr && !core::is_final(former->state)) {
    fail(Check::task, step, text("{} has two messages of the task {}", former->receiver, e.task));
  }
}

// Who was named has it, and nobody else.
void Ledger::check_moved(const Step& step, const core::ReassignTask& command) {
  const core::Task* const task = step.after.tables().tasks.find(step.outcome->message);
  if (task == nullptr || task->id != command.task || task->specialist != command.to ||
      (!command.director.empty() && task->director != command.director) ||
      (!command.thread.empty() && task->thread != command.thread)) {
    fail(Check::task, step,
         text("{} is reassigned to {}, who has it not", command.task, command.to));
    return;
  }
  for (const Pair& pair : sent_.at(task->message).pairs) {
    if (pair.receiver != command.to && !core::is_final(pair.state)) {
      fail(Check::task, step, text("{} has the task {} still", pair.receiver, command.task));
    }
  }
}

// The tasks of its sender's that a report may be about, of those that a receiver gave if there are
// any: those of the conversation that it names, or the only one where no task of the name is there.
std::vector<Given> Ledger::meant_by(const Step& step, const core::Envelope& e) const {
  std::vector<Given> own;
  std::vector<Given> in_thread;
  bool is_there = false;
  const auto is_of_name = [&](const auto& item) {  // others are forgotten with this entry
    return std::get<1>(item.first) == e.task &&
           step.after.tables().tasks.find(item.second.message) != nullptr;
  };
  const auto is_told = [&](const auto& item) {
    return std::ranges::find(e.receivers, std::get<0>(item.first)) != e.receivers.end();
  };
  const bool is_any_told = std::ranges::any_of(given_, [&](const auto& item) {
    return is_of_name(item) && is_told(item) && item.second.specialist == step.entry.actor;
  });
  for (const auto& item : given_) {
    if (!is_of_name(item) || (is_any_told && !is_told(item))) {
      continue;
    }
    const bool is_in_thread = !e.thread.empty() && std::get<2>(item.first) == e.thread;
    is_there |= is_in_thread;
    if (item.second.specialist == step.entry.actor) {
      own.push_back(item.second);
      if (is_in_thread) {
        in_thread.push_back(item.second);
      }
    }
  }
  return is_there || (!e.thread.empty() && own.size() > 1) ? in_thread : own;
}

// What a specialist says of a task of its own is heard of one that it means, and of no other of the
// name; and who has none is told so.
void Ledger::check_report(const Step& step, const core::Envelope& e) {
  const std::vector<Given> meant = meant_by(step, e);
  size_t own = 0;
  size_t heard = 0;
  size_t astray = 0;
  bool is_plain = true;  // what is heard now was not heard at this time before
  bool is_giver = false;
  bool is_forgotten = false;  // a task of its own, with this entry: before the report or after it
  for (const auto& [name, given] : given_) {
    const core::Task* const task = step.after.tables().tasks.find(given.message);
    if (std::get<1>(name) != e.task) {
      continue;
    }
    if (task == nullptr) {
      is_forgotten |= std::get<0>(name) == step.entry.actor || given.specialist == step.entry.actor;
      continue;
    }
    is_giver |= std::get<0>(name) == step.entry.actor;
    own += given.specialist == step.entry.actor ? 1 : 0;
    is_plain &= given.heard != now_;
    const bool is_meant = std::ranges::find(meant, given.message, &Given::message) != meant.end();
    heard += task->heard == now_ && is_meant ? 1 : 0;
    astray += task->heard == now_ && !is_meant ? 1 : 0;
  }
  if (is_plain && (astray > 0 || heard != (meant.empty() ? 0 : 1))) {
    fail(Check::task, step, text("a report of {} is heard of another, or of none", e.task));
  }
  const bool asked = is_asked(step.after.tables().patterns, step.entry.actor, e.task);
  if (!is_forgotten && step.outcome->has_no_task != (meant.empty() && !is_giver && !asked)) {
    fail(Check::task, step,
         text("{} has {} task {}, and is told otherwise", step.entry.actor,
              meant.empty() ? "no" : "a", e.task));
  }
  if (own > 0) {
    coverage_.count("task", meant.empty() ? "told of elsewhere"
                            : own > 1     ? "told of one of several"
                                          : "told of");
  }
}

void Ledger::check_tasks(const Step& step) {
  const core::Tables& t = step.after.tables();
  if (const auto* send = done<core::Send>(step);
      send != nullptr && !step.outcome->duplicate && !send->envelope.task.empty() &&
      !core::asks(send->envelope.kind) && send->envelope.kind != core::Kind::response &&
      step.entry.actor != core::broker_name) {
    check_report(step, send->envelope);
  }
  if (const auto* send = done<core::Send>(step);
      send != nullptr && !step.outcome->duplicate && !send->envelope.task.empty() &&
      core::asks(send->envelope.kind) && step.entry.actor != core::broker_name) {
    check_given(step, *send);
  }
  if (const auto* send = done<core::Send>(step);
      send != nullptr && send->envelope.kind == core::Kind::query && send->envelope.task.empty() &&
      t.tasks.find(step.entry.seq) != nullptr) {
    fail(Check::task, step, "a question that names no task has become one");
  }
  if (const auto* move = done<core::ReassignTask>(step)) {
    check_moved(step, *move);
  }
  open_tasks_.clear();
  given_.clear();
  for (const auto& [began, task] : t.tasks.all()) {
    open_tasks_[task.director] += task.is_open() ? 1 : 0;
    given_[{task.director, task.id, task.thread}] = {task.message, task.specialist, task.heard};
    const auto at = sent_.find(task.message);
    if (!task.is_open()) {
      continue;
    }
    const auto pair = at == sent_.end() ? std::vector<Pair>::const_iterator{}
                                        : std::ranges::find(std::as_const(at->second.pairs),
                                                            task.specialist, &Pair::receiver);
    if (at == sent_.end() || pair == at->second.pairs.end() || core::is_final(pair->state)) {
      fail(Check::task, step, text("{} has no task {} that is open", task.specialist, task.id));
      return;
    }
  }
}

}  // namespace parley::sim
