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

// What one means who names no more: what is open, then what may be done once more.
uint8_t wanted_of(const Task& task) {
  if (task.is_open()) {
    return 2;
  }
  return task.state == TaskState::completed ? 0 : 1;
}

bool is_before(const Task& one, const Task& other) {
  return std::pair(rank_of(one), one.began) < std::pair(rank_of(other), other.began);
}

void insert(std::map<std::string, std::set<Seq>, std::less<>>& sets, std::string_view name,
            Seq began) {
  sets.try_emplace(std::string(name)).first->second.insert(began);
}

// Does nothing when it is not there.
void erase(std::map<std::string, std::set<Seq>, std::less<>>& sets, std::string_view name,
           Seq began) {
  const auto at = sets.find(name);
  if (at != sets.end() && at->second.erase(began) > 0 && at->second.empty()) {
    sets.erase(at);
  }
}

// The tasks at these places, oldest first.
std::vector<const Task*> sorted(std::vector<const Task*> found) {
  std::ranges::sort(found, {}, [](const Task* task) { return task->began; });
  return found;
}

}  // namespace

std::set<std::string_view> Tasks::involved_in(const Task& task) {
  std::set<std::string_view> involved = {task.director, task.specialist};
  for (const TaskMove& move : task.moves) {
    involved.insert(move.from);
  }
  return involved;
}

void Tasks::file(const Task& task) {
  by_message_[task.message] = task.began;
  by_pair_.emplace(task.id, task.specialist, task.director, rank_of(task), task.began);
  by_holder_.emplace(task.id, task.specialist, std::string(), rank_of(task), task.began);
  by_thread_.emplace(task.id, task.thread, task.specialist, rank_of(task), task.began);
  for (const std::string_view name : involved_in(task)) {
    involved_.emplace(task.id, name, task.began);
    given_to_.emplace(task.id, name, task.director, wanted_of(task), task.began);
    insert(of_, name, task.began);
  }
  if (task.is_open()) {
    insert(held_, task.specialist, task.began);
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
  for (const std::string_view name : involved_in(task)) {
    involved_.erase({task.id, std::string(name), task.began});
    given_to_.erase({task.id, std::string(name), task.director, wanted_of(task), task.began});
    erase(of_, name, task.began);
  }
  ended_.erase({task.changed, task.began});
  ended_of_.remove(task.director, {task.changed, task.began});
  erase(held_, task.specialist, task.began);
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

std::vector<const Task*> Tasks::named(const TaskName& name) const {
  if (!name.thread.empty() && name.director.empty()) {
    return in_thread(name.id, name.thread, nullptr);
  }
  std::vector<const Task*> found;
  for (auto at = by_name_.lower_bound(
           {std::string(name.id), std::string(name.director), std::string(name.thread)});
       at != by_name_.end() && std::get<0>(at->first) == name.id &&
       (name.director.empty() || std::get<1>(at->first) == name.director) &&
       (name.thread.empty() || std::get<2>(at->first) == name.thread);
       ++at) {
    found.push_back(&tasks_.at(at->second));
  }
  return sorted(std::move(found));
}

// Of what the director gave and the principal had to do with, what is wanted first.
void Tasks::add_given(const TaskName& name, std::string_view principal, std::string_view director,
                      std::vector<const Task*>& found) const {
  const ByDirector::value_type end(std::string(name.id), std::string(principal),
                                   std::string(director), std::numeric_limits<uint8_t>::max(),
                                   Seq{});
  auto at = given_to_.lower_bound(end);
  for (size_t count = 0; at != given_to_.begin() && count < meant_max; ++count) {
    --at;
    if (std::get<0>(*at) != name.id || std::get<1>(*at) != principal ||
        std::get<2>(*at) != director) {
      return;
    }
    found.push_back(&tasks_.at(std::get<4>(*at)));
  }
}

// Of what others gave.
void Tasks::add_newest(const TaskName& name, std::string_view principal,
                       std::vector<const Task*>& found) const {
  const ByPrincipal::value_type end(std::string(name.id), std::string(principal),
                                    Seq{std::numeric_limits<uint64_t>::max()});
  auto at = involved_.lower_bound(end);
  for (size_t count = 0; at != involved_.begin() && count < meant_max; ++count) {
    --at;
    if (std::get<0>(*at) != name.id || std::get<1>(*at) != principal) {
      return;
    }
    const Task& task = tasks_.at(std::get<2>(*at));
    if (task.director != principal) {
      found.push_back(&task);
    }
  }
}

std::vector<const Task*> Tasks::meant(const TaskName& name, std::string_view principal) const {
  std::vector<const Task*> found;
  if (!name.thread.empty()) {
    found = named(name);
    std::erase_if(
        found, [principal](const Task* task) { return !involved_in(*task).contains(principal); });
    return found;
  }
  add_given(name, principal, name.director.empty() ? principal : name.director, found);
  if (name.director.empty()) {
    add_newest(name, principal, found);
  }
  return sorted(std::move(found));
}

std::vector<const Task*> Tasks::in_thread(std::string_view id, std::string_view thread,
                                          const std::string_view* specialist) const {
  std::vector<const Task*> found;
  const std::string from(specialist == nullptr ? std::string_view() : *specialist);
  for (auto at =
           by_thread_.lower_bound({std::string(id), std::string(thread), from, uint8_t{0}, Seq{}});
       at != by_thread_.end() && std::get<0>(*at) == id && std::get<1>(*at) == thread &&
       (specialist == nullptr || std::get<2>(*at) == *specialist);
       ++at) {
    found.push_back(&tasks_.at(std::get<4>(*at)));
  }
  return sorted(std::move(found));
}

std::vector<const Task*> Tasks::in_thread(std::string_view id, std::string_view thread,
                                          std::string_view specialist) const {
  return in_thread(id, thread, &specialist);
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

const std::set<Seq>* Tasks::of(std::string_view principal) const {
  const auto at = of_.find(principal);
  return at == of_.end() ? nullptr : &at->second;
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
