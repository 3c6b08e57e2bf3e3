// SPDX-License-Identifier: Apache-2.0
#include "core/conversation/tasks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace parley::core {
namespace {

// One of a few names of agents and of conversations.
struct Draw {
  std::mt19937 random;
  std::string operator()(const char* prefix, uint32_t kinds) {
    return prefix + std::to_string(random() % kinds);
  }
};

Task a_task(std::string id, std::string director, std::string specialist, std::string thread,
            uint64_t began) {
  Task task{};
  task.id = std::move(id);
  task.director = std::move(director);
  task.specialist = std::move(specialist);
  task.thread = std::move(thread);
  task.began = Seq{began};
  task.message = Seq{began};
  return task;
}

// What a report means, by a look at each task.
const Task* meant(const Tasks& tasks, const TaskReport& report) {
  const auto is_told = [&](const Task* task) {
    return std::ranges::find(report.receivers, task->director) != report.receivers.end();
  };
  const auto is_own = [&](const Task* task) { return task->specialist == report.specialist; };
  std::vector<const Task*> held = tasks.named(report.task);
  if (std::ranges::any_of(held, [&](const Task* task) { return is_own(task) && is_told(task); })) {
    std::erase_if(held, [&](const Task* task) { return !is_told(task); });
  }
  const bool is_there = std::ranges::find(held, report.thread, &Task::thread) != held.end();
  std::erase_if(held, [&](const Task* task) { return !is_own(task); });
  if (!report.thread.empty() && (is_there || held.size() > 1)) {
    std::erase_if(held, [&](const Task* task) { return task->thread != report.thread; });
  }
  const auto best = std::ranges::max_element(held, {}, [](const Task* task) {
    return std::pair(task->is_open(), task->state == TaskState::in_progress);
  });
  return best == held.end() ? nullptr : *best;
}

TEST(Tasks, FindsWhatALookAtEachWouldFind) {
  Draw draw{std::mt19937(5)};
  for (int round = 0; round < 40; ++round) {
    Tasks tasks;
    for (uint64_t n = 1; n <= 30; ++n) {
      Task task = a_task(draw("t", 2), draw("d", 4), draw("s", 3), draw("c", 4), n);
      if (tasks.find(task.id, task.director, task.thread) == nullptr) {
        tasks.add(std::move(task));
      }
      Task& some = tasks.at(std::next(tasks.all().begin(),
                                      static_cast<ptrdiff_t>(draw.random() % tasks.size()))
                                ->first);
      switch (draw.random() % 4) {
        case 0:
          tasks.give(some, draw("s", 3), some.message, Time{});
          break;
        case 1:
          tasks.remove(some.began);
          break;
        default:
          tasks.set_state(some, static_cast<TaskState>(draw.random() % 7), Time{});
      }
    }
    for (int n = 0; n < 60; ++n) {
      const std::string id = draw("t", 2);
      const std::string specialist = draw("s", 3);
      const std::string thread = n % 3 == 0 ? std::string() : draw("c", 5);
      const std::string one = draw("d", 5);
      const std::string other = draw("d", 5);
      const std::vector<std::string_view> receivers = {one, other, one};
      const TaskReport report{id, specialist, thread, receivers};
      EXPECT_EQ(tasks.find(report), meant(tasks, report)) << "round " << round;
      const std::vector<const Task*> named = tasks.named(id);
      EXPECT_EQ(tasks.is_given_by(id, one),
                std::ranges::find(named, one, &Task::director) != named.end());
    }
  }
}

// What a message looks at does not grow with the tasks of its name.
TEST(Tasks, ThousandsOfOneNameAreNotWalkedThrough) {
  Tasks tasks;
  for (uint64_t n = 1; n <= 5'000; ++n) {
    tasks.add(a_task("t", "ana", "bo", "c" + std::to_string(n), n));
  }
  EXPECT_EQ(tasks.in_thread("t", "c7").size(), 1u);
  EXPECT_EQ(tasks.in_thread("t", "c7", "bo").size(), 1u);
  EXPECT_TRUE(tasks.in_thread("t", "c7", "ana").empty());
  for (const char* const name : {"ana", "bo"}) {
    const std::vector<const Task*> newest = tasks.involving("t", name);
    EXPECT_EQ(newest.size(), Tasks::involving_max);
    EXPECT_EQ(newest.back()->began, Seq{5'000});
  }
  EXPECT_TRUE(tasks.involving("t", "cy").empty());
  tasks.add_move(tasks.at(Seq{7}), {Time{}, "cy", "bo", "ana"}, 1);
  EXPECT_EQ(tasks.involving("t", "cy").size(), 1u);
  tasks.add_move(tasks.at(Seq{7}), {Time{}, "dee", "bo", "ana"}, 1);
  EXPECT_TRUE(tasks.involving("t", "cy").empty());
  const std::vector<std::string_view> receivers = {"ana"};
  EXPECT_EQ(tasks.find({"t", "bo", "c4000", receivers})->began, Seq{4'000});
  EXPECT_EQ(tasks.find({"t", "bo", {}, receivers})->began, Seq{1});
  EXPECT_EQ(tasks.find({"t", "bo", "elsewhere", receivers}), nullptr);
}

}  // namespace
}  // namespace parley::core
