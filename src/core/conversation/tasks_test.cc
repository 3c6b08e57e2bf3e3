// SPDX-License-Identifier: Apache-2.0
#include "core/conversation/tasks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
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
  std::vector<const Task*> held = tasks.named({.id = report.task});
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
      const std::vector<const Task*> named = tasks.named({.id = id});
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
  EXPECT_EQ(tasks.named({.id = "t", .thread = "c7"}).size(), 1u);
  EXPECT_EQ(tasks.in_thread("t", "c7", "bo").size(), 1u);
  EXPECT_TRUE(tasks.in_thread("t", "c7", "ana").empty());
  for (const char* const name : {"ana", "bo"}) {
    const std::vector<const Task*> newest = tasks.meant({.id = "t"}, name);
    EXPECT_EQ(newest.size(), Tasks::meant_max);
    EXPECT_EQ(newest.back()->began, Seq{5'000});
  }
  EXPECT_TRUE(tasks.meant({.id = "t"}, "cy").empty());
  tasks.add_move(tasks.at(Seq{7}), {Time{}, "cy", "bo", "ana"}, 1);
  EXPECT_EQ(tasks.meant({.id = "t"}, "cy").size(), 1u);
  tasks.add_move(tasks.at(Seq{7}), {Time{}, "dee", "bo", "ana"}, 1);
  EXPECT_TRUE(tasks.meant({.id = "t"}, "cy").empty());
  const std::vector<std::string_view> receivers = {"ana"};
  EXPECT_EQ(tasks.find({"t", "bo", "c4000", receivers})->began, Seq{4'000});
  EXPECT_EQ(tasks.find({"t", "bo", {}, receivers})->began, Seq{1});
  EXPECT_EQ(tasks.find({"t", "bo", "elsewhere", receivers}), nullptr);
}

std::vector<Seq> places(const std::vector<const Task*>& tasks) {
  std::vector<Seq> seqs;
  std::ranges::transform(tasks, std::back_inserter(seqs), &Task::began);
  return seqs;
}

// IN-06: hundreds of one name hide none: what is open is found before what is over, and who names
// the director or the thread finds the oldest.
TEST(Tasks, NoneOfManyOfOneNameIsOutOfReach) {
  Tasks tasks;
  const uint64_t many = 2 * Tasks::meant_max;
  for (uint64_t n = 1; n <= many; ++n) {
    tasks.add(a_task("t", "ana", "bo", "c" + std::to_string(n), n));
  }
  tasks.add(a_task("t", "cy", "bo", "old", many + 1));
  for (uint64_t n = 1; n <= many; ++n) {
    tasks.add(a_task("t", "dee", "bo", "d" + std::to_string(n), many + 1 + n));
  }
  const auto is_found = [&tasks](const TaskName& name, std::string_view principal, uint64_t began) {
    return std::ranges::count(places(tasks.meant(name, principal)), Seq{began}) == 1;
  };
  EXPECT_FALSE(is_found({.id = "t"}, "bo", many + 1));
  EXPECT_TRUE(is_found({.id = "t", .director = "cy"}, "bo", many + 1));
  EXPECT_FALSE(is_found({.id = "t"}, "ana", 1));
  EXPECT_TRUE(is_found({.id = "t", .thread = "c1"}, "ana", 1));
  EXPECT_TRUE(is_found({.id = "t", .thread = "c1"}, "bo", 1));
  EXPECT_TRUE(is_found({.id = "t", .director = "ana", .thread = "c1"}, "bo", 1));
  EXPECT_FALSE(is_found({.id = "t", .director = "dee", .thread = "c1"}, "bo", 1));
  EXPECT_FALSE(is_found({.id = "t", .thread = "c1"}, "dee", 1));
  // The only one that failed, and then the only one that is open.
  for (uint64_t n = 2; n <= many; ++n) {
    tasks.set_state(tasks.at(Seq{n}), TaskState::completed, Time{});
  }
  tasks.set_state(tasks.at(Seq{1}), TaskState::failed, Time{});
  EXPECT_TRUE(is_found({.id = "t"}, "ana", 1));
  tasks.set_state(tasks.at(Seq{1}), TaskState::completed, Time{});
  EXPECT_FALSE(is_found({.id = "t"}, "ana", 1));
  tasks.set_state(tasks.at(Seq{1}), TaskState::in_progress, Time{});
  EXPECT_TRUE(is_found({.id = "t"}, "ana", 1));
  EXPECT_TRUE(is_found({.id = "t", .director = "ana"}, "bo", 1));
}

// Against a look at each: what a principal gave, has or had.
TEST(Tasks, EachPrincipalFindsItsOwn) {
  Draw draw{std::mt19937(7)};
  Tasks tasks;
  for (uint64_t n = 1; n <= 600; ++n) {
    Task given = a_task(draw("t", 3), draw("a", 6), draw("a", 6), draw("c", 8), n);
    if (tasks.find(given.id, given.director, given.thread) == nullptr) {
      tasks.add(std::move(given));
    }
    Task& some = tasks.at(
        std::next(tasks.all().begin(), static_cast<ptrdiff_t>(draw.random() % tasks.size()))
            ->first);
    switch (draw.random() % 5) {
      case 0:
        tasks.add_move(some, {Time{}, some.specialist, {}, {}}, 2);
        tasks.give(some, draw("a", 6), some.message, Time{});
        break;
      case 1:
        tasks.remove(some.began);
        break;
      default:
        tasks.set_state(some, static_cast<TaskState>(draw.random() % 7), Time{});
    }
    const std::string who = draw("a", 7);
    const std::string id = draw("t", 3);
    const std::string director = draw("a", 6);
    const std::string thread = draw("c", 8);
    std::vector<Seq> own;
    std::vector<Seq> named;
    std::vector<Seq> of_director;
    std::vector<Seq> of_thread;
    for (const auto& [began, task] : tasks.all()) {
      if (task.director != who && task.specialist != who &&
          std::ranges::find(task.moves, who, &TaskMove::from) == task.moves.end()) {
        continue;
      }
      own.push_back(began);
      if (task.id == id) {
        named.push_back(began);
        if (task.director == director) {
          of_director.push_back(began);
        }
        if (task.thread == thread) {
          of_thread.push_back(began);
        }
      }
    }
    const std::set<Seq>* const found = tasks.of(who);
    ASSERT_EQ(
        found == nullptr ? std::vector<Seq>{} : std::vector<Seq>(found->begin(), found->end()), own)
        << "step " << n;
    ASSERT_EQ(places(tasks.meant({.id = id}, who)), named) << "step " << n;
    ASSERT_EQ(places(tasks.meant({.id = id, .director = director}, who)), of_director)
        << "step " << n;
    ASSERT_EQ(places(tasks.meant({.id = id, .thread = thread}, who)), of_thread) << "step " << n;
  }
}

}  // namespace
}  // namespace parley::core
