// SPDX-License-Identifier: Apache-2.0
#include "sim/checks/groups/tasks.h"

#include <algorithm>

#include "sim/checks/delivery/shares.h"
#include "sim/text.h"

namespace parley::sim {

namespace {

// True when a scatter asks the agent for this task, or a pipeline as its first stage.
bool is_asked(const core::PendingWork& pending, std::string_view agent, std::string_view task) {
  return std::ranges::any_of(pending.gathers(),
                             [&](const auto& item) {
                               return item.second.task == task &&
                                      std::ranges::find(item.second.members, agent,
                                                        &core::Gather::Member::name) !=
                                          item.second.members.end();
                             }) ||
         std::ranges::any_of(pending.pipelines(), [&](const auto& item) {
           return item.second.task == task && item.second.stages.front().agent == agent;
         });
}

}  // namespace

// The message goes to one more agent, or to one that had it before, with a new time to live.
void TaskChecks::learn_move(const Step& step, const core::ReassignTask& command) {
  const auto at = model_.messages.find(step.outcome->message);
  const std::string to(command.to);
  if (at == model_.messages.end() || !model_.is_registered(to)) {
    model_.fail(Check::task, step, text("{} is reassigned, and cannot be", command.task));
    return;
  }
  Delivery* delivery = find_delivery(at->second, to);
  if (delivery != nullptr && !core::is_final(delivery->state)) {
    model_.fail(Check::task, step, text("{} is reassigned to {}, who has it", command.task, to));
    return;
  }
  model_.coverage.count("task", delivery == nullptr ? "reassigned" : "reassigned back");
  const core::Session* const session = step.after.tables().sessions.find(at->second.session);
  const bool is_over = at->second.is_final();
  if (is_over && (session == nullptr || !session->open.contains(at->first))) {
    at->second.session.clear();  // It has left its session and goes on outside of it.
  }
  if (delivery == nullptr) {
    Delivery added;
    added.receiver = to;
    at->second.deliveries.push_back(std::move(added));
    delivery = &at->second.deliveries.back();
  }
  // The time that passed with this entry may have ended it for the former agent just before.
  const bool was_open = std::ranges::any_of(at->second.deliveries, [&](const Delivery& each) {
    const bool is_held = core::is_held(each.state) && each.due > model_.now;
    return !core::is_final(each.state) && (is_held || at->second.expires > model_.now);
  });
  // An agent that acknowledged it may still answer: then it did not fail for all and is waited for.
  const bool is_acked = std::ranges::any_of(
      at->second.deliveries, [](const Delivery& each) { return each.state == State::acked; });
  if (at->second.passage == Passage::barred) {
    model_.fail(Check::approval, step,
                text("{} is moved, and people did not allow it", at->first.n));
  }
  model_.revive(step, at->second, *delivery);
  if (!is_over && !was_open) {
    if (!is_acked) {
      model_.requests.erase(at->first);
    }
    at->second.asks = at->second.asks && model_.requests.contains(at->first);
  }
  deadlocks_.forget(at->first);
}

bool TaskChecks::was_of_another(const Step& step, const core::ReassignTask& command) const {
  const auto given = std::ranges::find(model_.tasks, step.outcome->message,
                                       [](const auto& item) { return item.second.message; });
  return given != model_.tasks.end() && given->second.specialist != command.to;
}

void TaskChecks::check(const Step& step) {
  if (const auto* send = done<core::Send>(step)) {
    check_message(step, *send);
  }
  if (const auto* move = done<core::ReassignTask>(step)) {
    check_moved(step, *move);
  }
  learn(step);
}

void TaskChecks::check_message(const Step& step, const core::Send& command) {
  const core::Envelope& e = command.envelope;
  const bool is_about_task =
      !step.outcome->duplicate && !e.task.empty() && step.entry.actor != core::broker_name;
  if (is_about_task && core::asks(e.kind)) {
    check_given(step, command);
  } else if (is_about_task && e.kind != core::Kind::response) {
    check_report(step, e);
  }
  if (e.kind == core::Kind::query && e.task.empty() &&
      step.after.tables().tasks.find(step.entry.seq) != nullptr) {
    model_.fail(Check::task, step, "a question that names no task has become one");
  }
}

// Takes the tasks as they are now into the model. Each open one is with its specialist.
void TaskChecks::learn(const Step& step) {
  check_forgotten(step);
  open_tasks_.clear();
  model_.tasks.clear();
  for (const auto& [began, task] : step.after.tables().tasks.all()) {
    open_tasks_[task.director] += task.is_open() ? 1 : 0;
    model_.tasks[{task.director, task.id, task.thread}] = {task.message, task.specialist,
                                                           task.heard, task.changed};
    if (!task.is_open()) {
      continue;
    }
    const Delivery* const delivery = model_.find(task.message, task.specialist);
    if (delivery == nullptr || delivery->is_final()) {
      model_.fail(Check::task, step,
                  text("{} has no task {} that is open", task.specialist, task.id));
      return;
    }
  }
}

// Of the tasks that have ended those go for room whose giver has most of them.
void TaskChecks::check_forgotten(const Step& step) {
  const core::Tasks& tasks = step.after.tables().tasks;
  Holdings holdings;
  for (const auto& [began, task] : tasks.all()) {
    // One that ends as it is given, for a full inbox, was open when another went for it.
    const bool had_ended = !task.is_open() && task.message != step.entry.seq;
    holdings.kept[task.director] += had_ended ? 1 : 0;
  }
  for (const auto& [name, given] : model_.tasks) {
    const auto& [director, id, thread] = name;
    if (tasks.find(id, director, thread) == nullptr &&
        given.changed + model_.rules.task_retention > model_.now) {
      ++holdings.gone[director];
    }
  }
  check_fair(model_, step, "a task", holdings);
}

// The task is there, its director has no more than its share, and what gave it before is over.
void TaskChecks::check_given(const Step& step, const core::Send& command) {
  const core::Envelope& e = command.envelope;
  const core::Tables& t = step.after.tables();
  const auto at = model_.messages.find(step.entry.seq);
  const bool to_one = at != model_.messages.end() && at->second.deliveries.size() == 1 &&
                      e.receivers.size() == 1 && at->second.topic.empty() &&
                      model_.is_registered(at->second.deliveries.front().receiver) &&
                      !at->second.deliveries.front().is_final();  // Final: the queue was full.
  const core::Task* const task = t.tasks.find(e.task, e.sender, e.thread);
  if (!to_one) {
    return;
  }
  if (task == nullptr || task->message != step.entry.seq) {
    model_.fail(Check::task, step, text("task {} is given and not there", e.task));
    return;
  }
  const std::string director(e.sender);
  const uint64_t share =
      std::max<uint64_t>(1, model_.rules.tasks_max * model_.rules.task_giver_percent / 100);
  const auto open =
      static_cast<uint64_t>(std::ranges::count_if(t.tasks.all(), [&](const auto& item) {
        return item.second.director == director && item.second.is_open();
      }));
  if (open > share && open > open_tasks_[director]) {
    model_.fail(Check::limit, step,
                text("{} has {} open tasks, and a share of {}", director, open, share));
  }
  const auto before = model_.tasks.find({director, std::string(e.task), std::string(e.thread)});
  if (before == model_.tasks.end()) {
    return;
  }
  const Delivery* const former = model_.find(before->second.message, before->second.specialist);
  if (former != nullptr && !core::is_final(former->state)) {
    model_.fail(Check::task, step,
                text("{} has two messages of the task {}", former->receiver, e.task));
  }
}

// The agent that was named has the task, and nobody else.
void TaskChecks::check_moved(const Step& step, const core::ReassignTask& command) {
  const core::Task* const task = step.after.tables().tasks.find(step.outcome->message);
  if (task == nullptr || task->id != command.task || task->specialist != command.to ||
      (!command.director.empty() && task->director != command.director) ||
      (!command.thread.empty() && task->thread != command.thread)) {
    model_.fail(Check::task, step,
                text("{} is reassigned to {}, who has it not", command.task, command.to));
    return;
  }
  for (const Delivery& delivery : model_.messages.at(task->message).deliveries) {
    if (delivery.receiver != command.to && !core::is_final(delivery.state)) {
      model_.fail(Check::task, step,
                  text("{} has the task {} still", delivery.receiver, command.task));
    }
  }
}

// A report of a specialist counts for the task that it means and for no other of the name. An agent
// that has no such task is told so.
void TaskChecks::check_report(const Step& step, const core::Envelope& e) {
  const std::vector<GivenTask> meant = meant_by(step, e);
  size_t own = 0;
  size_t heard = 0;
  size_t astray = 0;
  bool is_plain = true;  // No task was heard of at this very time before.
  bool is_director = false;
  // A task of its own was forgotten with this entry, before the report or after it.
  bool is_forgotten = false;
  for (const auto& [name, given] : model_.tasks) {
    const core::Task* const task = step.after.tables().tasks.find(given.message);
    if (std::get<1>(name) != e.task) {
      continue;
    }
    if (task == nullptr) {
      is_forgotten |= std::get<0>(name) == step.entry.actor || given.specialist == step.entry.actor;
      continue;
    }
    is_director |= std::get<0>(name) == step.entry.actor;
    own += given.specialist == step.entry.actor ? 1 : 0;
    is_plain &= given.heard != model_.now;
    const bool is_meant =
        std::ranges::find(meant, given.message, &GivenTask::message) != meant.end();
    heard += task->heard == model_.now && is_meant ? 1 : 0;
    astray += task->heard == model_.now && !is_meant ? 1 : 0;
  }
  if (is_plain && (astray > 0 || heard != (meant.empty() ? 0 : 1))) {
    model_.fail(Check::task, step, text("a report of {} is heard of another, or of none", e.task));
  }
  const bool is_in_pattern = is_asked(step.after.tables().pending, step.entry.actor, e.task);
  if (!is_forgotten &&
      step.outcome->has_no_task != (meant.empty() && !is_director && !is_in_pattern)) {
    model_.fail(Check::task, step,
                text("{} has {} task {}, and is told otherwise", step.entry.actor,
                     meant.empty() ? "no" : "a", e.task));
  }
  if (own > 0) {
    model_.coverage.count("task", meant.empty() ? "told of elsewhere"
                                  : own > 1     ? "told of one of several"
                                                : "told of");
  }
}

// The tasks that a report may be about: those of its sender in the conversation that it names, or
// its only one when no task of the name is in that conversation. Tasks that a receiver of the
// report gave go before others.
std::vector<GivenTask> TaskChecks::meant_by(const Step& step, const core::Envelope& e) const {
  std::vector<GivenTask> own;
  std::vector<GivenTask> in_thread;
  bool is_there = false;
  const auto is_of_name = [&](const auto& item) {  // And it is not forgotten with this entry.
    return std::get<1>(item.first) == e.task &&
           step.after.tables().tasks.find(item.second.message) != nullptr;
  };
  const auto is_told = [&](const auto& item) {
    return std::ranges::find(e.receivers, std::get<0>(item.first)) != e.receivers.end();
  };
  const bool is_any_told = std::ranges::any_of(model_.tasks, [&](const auto& item) {
    return is_of_name(item) && is_told(item) && item.second.specialist == step.entry.actor;
  });
  for (const auto& item : model_.tasks) {
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

bool is_given_again(const Step& step, const core::Envelope& e) {
  const core::Task* const task = step.after.tables().tasks.find(step.outcome->message);
  return core::asks(e.kind) && task != nullptr && task->director == e.sender &&
         task->thread == e.thread && (e.task.empty() || task->id == e.task);
}

bool is_superseded(Model& model, const Step& step, Seq message, const std::string& receiver) {
  const auto* const send = done<core::Send>(step);
  const core::Tasks& tasks = step.after.tables().tasks;
  const bool is_move = done<core::ReassignTask>(step) != nullptr;
  const core::Task* const task = is_move ? tasks.find(step.outcome->message)
                                         : (send == nullptr ? nullptr : tasks.find(step.entry.seq));
  if (task == nullptr) {
    return false;
  }
  const bool is_from = !task->moves.empty() && task->moves.back().from == receiver &&
                       task->moves.back().at == model.now;
  const bool is_given_anew = send != nullptr && core::asks(send->envelope.kind) &&
                             message < step.entry.seq &&
                             model.messages.at(message).sender == send->envelope.sender &&
                             model.messages.at(message).thread == send->envelope.thread;
  if (is_move ? message == task->message && is_from
              : is_given_anew && (is_from || task->specialist == receiver)) {
    model.coverage.count("task", is_move ? "taken away" : is_from ? "moved" : "superseded");
    return true;
  }
  return false;
}

bool is_renewed(const Model& model, const Step& step, const SentMessage& sent,
                const Delivery& delivery) {
  const core::Task* const task = step.after.tables().tasks.find(sent.seq);
  const auto* const beat = done<core::Heartbeat>(step);
  const auto* const send = done<core::Send>(step);
  const bool reports = send != nullptr && !send->envelope.task.empty() &&
                       !core::asks(send->envelope.kind) && task != nullptr &&
                       task->heard == model.now;
  const bool beats = beat != nullptr && !beat->only_seen &&
                     model.principals.at(delivery.receiver).dialect == core::Dialect::inbox;
  // A task that failed by its time may still be with its specialist, who writes of it.
  return task != nullptr && task->specialist == delivery.receiver &&
         step.entry.actor == delivery.receiver && (reports || (beats && task->is_open()));
}

}  // namespace parley::sim
