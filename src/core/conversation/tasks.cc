// SPDX-License-Identifier: Apache-2.0
#include "core/conversation/tasks.h"

#include <algorithm>
#include <limits>

#include "core/model/wire.h"

namespace parley::core {

namespace {

uint8_t rank_of(const Task& task) {
  if (task.state == TaskState::in_progress) {
    return 0;
  }
  return task.is_open() ? 1 : 2;
}

bool is_before(const Task& one, const Task& other) {
  return std::pair(rank_of(one), one.began) < std::pair(rank_of(other), other.began);
}

// The tasks at these places, oldest first.
std::vector<const Task*> sorted(std::vector<const Task*> found) {
  std::ranges::sort(found, {}, [](const Task* task) { return task->began; });
  return found;
}

}  // namespace

Tasks::ByPrincipal Tasks::involved_in(const Task& task) {
  ByPrincipal involved;
  involved.emplace(task.id, task.director, task.began);
  involved.emplace(task.id, task.specialist, task.began);
  for (const TaskMove& move : task.moves) {
    involved.emplace(task.id, move.from, task.began);
  }
  return involved;
}

void Tasks::file(const Task& task) {
  by_message_[task.message] = task.began;
  by_pair_.emplace(task.id, task.specialist, task.director, rank_of(task), task.began);
  by_holder_.emplace(task.id, task.specialist, std::string(), rank_of(task), task.began);
  by_thread_.emplace(task.id, task.thread, task.specialist, rank_of(task), task.began);
  involved_.merge(involved_in(task));
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
  by_pair_.erase({task.id, task.specialist, task.director, rank_of(task), task.began});
  by_holder_.erase({task.id, task.specialist, std::string(), rank_of(task), task.began});
  by_thread_.erase({task.id, task.thread, task.specialist, rank_of(task), task.began});
  for (const auto& each : involved_in(task)) {
    involved_.erase(each);
  }
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

void Tasks::consider(const Task& task, Choice& choice) {
  if (choice.best == &task) {
    return;  // a receiver that is named twice
  }
  choice.has_several = choice.has_several || choice.best != nullptr;
  if (choice.best == nullptr || is_before(task, *choice.best)) {
    choice.best = &task;
  }
}

// The first two are enough to know the best, and whether it is the only one.
void Tasks::consider_first(const Ranked& index, std::string_view id, std::string_view second,
                           std::string_view third, Choice& choice) const {
  const std::tuple start(std::string(id), std::string(second), std::string(third), uint8_t{0},
                         Seq{});
  auto at = index.lower_bound(start);
  for (int n = 0; n < 2 && at != index.end(); ++n, ++at) {
    if (std::get<0>(*at) != id || std::get<1>(*at) != second || std::get<2>(*at) != third) {
      return;
    }
    consider(tasks_.at(std::get<4>(*at)), choice);
  }
}

// Of the sender's tasks those that its receivers gave.
Tasks::Choice Tasks::of_receivers(const TaskReport& report) const {
  Choice choice;
  const std::set<std::string_view> receivers(report.receivers.begin(), report.receivers.end());
  for (const std::string_view receiver : receivers) {
    consider_first(by_pair_, report.task, report.specialist, receiver, choice);
  }
  return choice;
}

const Task* Tasks::find(const TaskReport& report) const {
  // A task of the same name from another director must not hide the one that the receivers of this
  // report gave.
  Choice own = of_receivers(report);
  const bool is_told = own.best != nullptr;
  if (!is_told) {
    consider_first(by_holder_, report.task, report.specialist, {}, own);
  }
  if (own.best == nullptr || report.thread.empty()) {
    return own.best;
  }
  Choice there;
  bool is_there = false;  // with whomever
  if (is_told) {
    for (const std::string_view receiver : report.receivers) {
      const Task* const task = find(report.task, receiver, report.thread);
      is_there = is_there || task != nullptr;
      if (task != nullptr && task->specialist == report.specialist) {
        consider(*task, there);
      }
    }
  } else {
    const auto at = by_thread_.lower_bound(
        {std::string(report.task), std::string(report.thread), std::string(), uint8_t{0}, Seq{}});
    is_there = at != by_thread_.end() && std::get<0>(*at) == report.task &&
               std::get<1>(*at) == report.thread;
    consider_first(by_thread_, report.task, report.thread, report.specialist, there);
  }
  return is_there || own.has_several ? there.best : own.best;
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
  return sorted(std::move(found));
}

std::vector<const Task*> Tasks::involving(std::string_view id, std::string_view principal) const {
  std::vector<const Task*> found;
  const ByPrincipal::value_type end(std::string(id), std::string(principal),
                                    Seq{std::numeric_limits<uint64_t>::max()});
  for (auto at = involved_.upper_bound(end);
       at != involved_.begin() && found.size() < involving_max;) {
    --at;
    if (std::get<0>(*at) != id || std::get<1>(*at) != principal) {
      break;
    }
    found.push_back(&tasks_.at(std::get<2>(*at)));
  }
  std::ranges::reverse(found);
  return found;
}

std::vector<const Task*> Tasks::of_prefix(const Ranked& index, std::string_view id,
                                          std::string_view second,
                                          const std::string_view* third) const {
  std::vector<const Task*> found;
  const std::string from(third == nullptr ? std::string_view() : *third);
  for (auto at = index.lower_bound({std::string(id), std::string(second), from, uint8_t{0}, Seq{}});
       at != index.end() && std::get<0>(*at) == id && std::get<1>(*at) == second &&
       (third == nullptr || std::get<2>(*at) == *third);
       ++at) {
    found.push_back(&tasks_.at(std::get<4>(*at)));
  }
  return sorted(std::move(found));
}

std::vector<const Task*> Tasks::in_thread(std::string_view id, std::string_view thread) const {
  return of_prefix(by_thread_, id, thread, nullptr);
}

std::vector<const Task*> Tasks::in_thread(std::string_view id, std::string_view thread,
                                          std::string_view specialist) const {
  return of_prefix(by_thread_, id, thread, &specialist);
}

bool Tasks::is_given_by(std::string_view id, std::string_view director) const {
  const auto at = by_name_.lower_bound({std::string(id), std::string(director), std::string()});
  return at != by_name_.end() && std::get<0>(at->first) == id &&
         std::get<1>(at->first) == director;
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

void Tasks::add_move(Task& task, TaskMove move, size_t moves_max) {
  unfile(task);
  task.moves.push_back(std::move(move));
  if (task.moves.size() > moves_max) {
    task.moves.erase(task.moves.begin());
  }
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
