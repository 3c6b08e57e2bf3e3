// SPDX-License-Identifier: Apache-2.0
#include "core/conversation/tasks.h"

#include <algorithm>
#include <functional>

#include "core/model/wire.h"

namespace parley::core {

void Tasks::file(const Task& task) {
  by_message_[task.message] = task.began;
  if (task.is_open()) {
    held_[task.specialist].insert(task.began);
    given_.add(task.director);
  } else {
    ended_.emplace(task.changed, task.began);
    ended_of_.add(task.director, {task.changed, task.began});
  }
}

void Tasks::unfile(const Task& task) {
  by_message_.erase(task.message);
  ended_.erase({task.changed, task.began});
  ended_of_.remove(task.director, {task.changed, task.began});
  if (const auto at = held_.find(task.specialist); at != held_.end()) {
    at->second.erase(task.began);
    if (at->second.empty()) {
      held_.erase(at);
    }
  }
  if (task.is_open()) {
    given_.remove(task.director);
  }
}

Task& Tasks::add(Task task) {
  by_name_[{task.id, task.director, task.thread}] = task.began;
  Task& added = tasks_.emplace(task.began, std::move(task)).first->second;
  file(added);
  return added;
}

void Tasks::remove(Seq began) {
  const Task& task = tasks_.at(began);
  unfile(task);
  by_name_.erase({task.id, task.director, task.thread});
  tasks_.erase(began);
}

const Task* Tasks::find(std::string_view id, std::string_view director,
                        std::string_view thread) const {
  const auto at = by_name_.find({std::string(id), std::string(director), std::string(thread)});
  return at == by_name_.end() ? nullptr : &tasks_.at(at->second);
}

Task* Tasks::find(std::string_view id, std::string_view director, std::string_view thread) {
  return const_cast<Task*>(std::as_const(*this).find(id, director, thread));
}

const Task* Tasks::find(const TaskReport& report) const {
  std::vector<const Task*> held = named(report.task);
  const auto is_own = [&](const Task* task) { return task->specialist == report.specialist; };
  const auto is_told = [&](const Task* task) {
    return std::ranges::find(report.receivers, task->director) != report.receivers.end();
  };
  // A task of the same name from another director must not hide the one that the receivers of this
  // report gave.
  if (std::ranges::any_of(held, [&](const Task* task) { return is_own(task) && is_told(task); })) {
    std::erase_if(held, std::not_fn(is_told));
  }
  const bool is_there = std::ranges::find(held, report.thread, &Task::thread) != held.end();
  std::erase_if(held, std::not_fn(is_own));
  if (!report.thread.empty() && (is_there || held.size() > 1)) {
    std::erase_if(held, [&](const Task* task) { return task->thread != report.thread; });
  }
  const auto rank = [](const Task* task) {
    return std::pair(task->is_open(), task->state == TaskState::in_progress);
  };
  const auto best = std::ranges::max_element(held, {}, rank);  // the first of equals
  return best == held.end() ? nullptr : *best;
}

const Task* Tasks::find(Seq message) const {
  const auto at = by_message_.find(message);
  return at == by_message_.end() ? nullptr : &tasks_.at(at->second);
}

Task* Tasks::find(Seq message) { return const_cast<Task*>(std::as_const(*this).find(message)); }

std::vector<const Task*> Tasks::named(std::string_view id) const {
  std::vector<const Task*> found;
  for (auto at = by_name_.lower_bound({std::string(id), {}, {}});
       at != by_name_.end() && std::get<0>(at->first) == id; ++at) {
    found.push_back(&tasks_.at(at->second));
  }
  std::ranges::sort(found, {}, [](const Task* task) { return task->began; });
  return found;
}

void Tasks::set_state(Task& task, TaskState state, Time now) {
  unfile(task);
  task.state = state;
  task.changed = now;
  file(task);
}

void Tasks::give(Task& task, std::string_view specialist, Seq message, Time now) {
  unfile(task);
  task.specialist = specialist;
  task.message = message;
  task.state = TaskState::assigned;
  task.changed = now;
  task.heard = now;
  file(task);
}

const std::set<Seq>* Tasks::held_by(std::string_view specialist) const {
  const auto at = held_.find(specialist);
  return at == held_.end() ? nullptr : &at->second;
}

const Task* Tasks::first_ended() const {
  return ended_.empty() ? nullptr : &tasks_.at(ended_.begin()->second);
}

const Task* Tasks::first_ended_of_most() const {
  const auto* const first = ended_of_.first_of_most();
  return first == nullptr ? nullptr : &tasks_.at(first->second);
}

void Tasks::add_live(std::vector<Seq>& seqs) const {
  for (const auto& [began, task] : tasks_) {
    seqs.insert(seqs.end(), {task.message, task.report, task.outcome});
  }
}

void Tasks::encode(Writer& out) const { put_rows(tasks_, out); }

bool Tasks::decode(Reader& in) {
  get_rows<Task>(in, [this](Task task) {
    if (task.began.n == 0 || task.message < task.began || task.id.empty() ||
        tasks_.contains(task.began) || by_message_.contains(task.message) ||
        by_name_.contains({task.id, task.director, task.thread})) {
      return false;
    }
    add(std::move(task));
    return true;
  });
  return in.ok();
}

}  // namespace parley::core
