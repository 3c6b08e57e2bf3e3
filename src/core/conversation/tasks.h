// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "core/model/envelope.h"
#include "core/model/words.h"
#include "core/state/shared_set.h"

namespace parley::core {

// How a task stands. Written into snapshots: never renumber.
enum class TaskState : uint8_t {
  assigned = 0,      // its specialist has not read it
  in_progress = 1,   // it has, or tells how it goes on
  acknowledged = 2,  // it is done with it, and reported nothing
  partial = 3,
  blocked = 4,
  failed = 5,  // it reported an error; or it did not get the task
  completed = 6,
};
constexpr TaskState task_state_last = TaskState::completed;
constexpr Words<task_state_last> task_state_words("assigned", "in_progress", "acknowledged",
                                                  "partial", "blocked", "failed", "completed");

// The task went from one specialist to another.
struct TaskMove {
  Time at;
  std::string from;
  std::string to;
  std::string by;
  static void fields(auto& self, auto& field) {
    field("at", self.at);
    field("from", self.from);
    field("to", self.to);
    field("by", self.by);
  }
  bool operator==(const TaskMove&) const = default;
};

// Work that one agent gave to another, under a name that the giver chose (inbox taskId), and what
// came of it. It is the same task while giver, conversation and name are the same. What was said of
// it stays in the journal; here is only where.
struct Task {
  std::string id;
  std::string director;    // who gave it
  std::string specialist;  // who has it
  std::string thread;
  Seq began;             // of the message that gave it first
  Seq message;           // of the one that gives it now
  Seq report;            // the newest status of its specialist; 0: none
  Seq outcome;           // its newest result or error; 0: none
  uint64_t content = 0;  // a hash of what `message` says
  TaskState state = TaskState::assigned;
  Time created;
  Time changed;  // when `state` began
  Time heard;    // when its specialist was last heard of it, or got it
  Duration timeout{};  // how long who gave it waits for what comes of it; zero: it does not
  OnTimeout on_timeout = OnTimeout::fail;
  uint32_t reports = 0;
  uint32_t errors = 0;
  std::vector<TaskMove> moves{};  // newest last

  bool is_open() const { return state <= TaskState::in_progress; }
  static void fields(auto& self, auto& field) {
    field("began", self.began);
    field("id", self.id);
    field("director", self.director);
    field("specialist", self.specialist);
    field("thread", self.thread);
    field("message", self.message);
    field("report", self.report);
    field("outcome", self.outcome);
    field("content", self.content, Form::fixed);
    field("state", self.state, task_state_last);
    field("created", self.created);
    field("changed", self.changed);
    field("heard", self.heard);
    field("timeout", self.timeout);
    field("on_timeout", self.on_timeout, on_timeout_last);
    field("reports", self.reports);
    field("errors", self.errors);
    field("moves", self.moves);
  }
  bool operator==(const Task&) const = default;
};

// How one who asks names a task; what is empty may be any.
struct TaskName {
  std::string_view id;
  std::string_view director{};
  std::string_view thread{};
};

// What a specialist says of a task.
struct TaskReport {
  std::string_view task;
  std::string_view specialist;
  std::string_view thread;  // empty: it names none
  std::span<const std::string_view> receivers;
};

// Over 150 lines: a task, and each way in which a table finds one, belong together.
//
// The tasks of a workspace, each under the place where it began: oldest first. Directors may use
// the same name, and one director may in several conversations.
class Tasks {
 public:
  Task& add(Task task);
  void remove(Seq began);
  // nullptr when there is none.
  Task* find(std::string_view id, std::string_view director, std::string_view thread);
  const Task* find(std::string_view id, std::string_view director, std::string_view thread) const;
  // The one that this message gives.
  Task* find(Seq message);
  const Task* find(Seq message) const;
  // The one of its sender's that the report is about, of those that its receivers gave if there
  // are any: that of the conversation that it names, else, where that has none of the name, the
  // only one. Where it names none: one that is open, and one that its specialist has read, before
  // others; of equals the oldest, because it was handed out first. nullptr where that says nothing.
  const Task* find(const TaskReport& report) const;
  // Those of this name, oldest first. All of them: for who looks after the workspace.
  std::vector<const Task*> named(const TaskName& name) const;
  // Those of this name that the principal gave, has or had, oldest first. With the thread, all.
  // Without it at most `meant_max` of each: of those that the named director gave or, where none is
  // named, of its own, what is open, then what is not completed, then newer ones; and where no
  // director is named the newest of any director.
  static constexpr size_t meant_max = 256;
  std::vector<const Task*> meant(const TaskName& name, std::string_view principal) const;
  // Those of this name that the specialist has in the conversation, one of each director at most,
  // oldest first.
  std::vector<const Task*> in_thread(std::string_view id, std::string_view thread,
                                     std::string_view specialist) const;
  bool is_given_by(std::string_view id, std::string_view director) const;
  const std::map<Seq, Task>& all() const { return tasks_; }
  size_t size() const { return tasks_.size(); }

  void set_state(Task& task, TaskState state, Time now);
  void give(Task& task, std::string_view specialist, Seq message, Time now);
  // Notes who had it. Of more than `moves_max` the oldest is forgotten.
  void add_move(Task& task, TaskMove move, size_t moves_max);
  size_t open_of(std::string_view director) const { return given_.of(director); }
  // Open ones of a specialist, oldest first; nullptr when there is none.
  const std::set<Seq>* held_by(std::string_view specialist) const;
  // Those that a principal gave, has or had, oldest first; nullptr when there is none.
  const std::set<Seq>* of(std::string_view principal) const;
  Task& at(Seq began) { return tasks_.at(began); }
  // The one that ended first: of all, and of the giver that holds most of them. Or nullptr.
  const Task* first_ended() const;
  const Task* first_ended_of_most() const;

  // The records that it still needs: what is not named by any table is lost with its segment.
  void add_live(std::vector<Seq>& seqs) const;
  void encode(Writer& out) const;
  bool decode(Reader& in);  // false when the bytes are not what `encode` writes

 private:
  // By three texts, then what a report means first (0: in progress, 1: open, 2: over), then oldest.
  using Ranked = std::set<std::tuple<std::string, std::string, std::string, uint8_t, Seq>>;
  using ByPrincipal = std::set<std::tuple<std::string, std::string, Seq>>;
  // By three texts, then what a caller means first (0: completed, 1: over, 2: open), then oldest.
  using ByDirector = std::set<std::tuple<std::string, std::string, std::string, uint8_t, Seq>>;
  using BySeq = std::map<std::string, std::set<Seq>, std::less<>>;
  // The one that is meant, of those that were looked for.
  struct Choice {
    const Task* best = nullptr;
    bool has_several = false;
  };

  void file(const Task& task);
  void unfile(const Task& task);
  static std::set<std::string_view> involved_in(const Task& task);
  static void consider(const Task& task, Choice& choice);
  void consider_first(const Ranked& index, std::string_view id, std::string_view second,
                      std::string_view third, Choice& choice) const;
  Choice of_receivers(const TaskReport& report) const;
  std::vector<const Task*> in_thread(std::string_view id, std::string_view thread,
                                     const std::string_view* specialist) const;
  void add_given(const TaskName& name, std::string_view principal, std::string_view director,
                 std::vector<const Task*>& found) const;
  void add_newest(const TaskName& name, std::string_view principal,
                  std::vector<const Task*>& found) const;

  std::map<Seq, Task> tasks_;
  std::map<std::tuple<std::string, std::string, std::string>, Seq> by_name_;  // director, thread
  std::map<Seq, Seq> by_message_;
  // How the tasks of one name are told apart, so that a report looks at no more than it means.
  Ranked by_pair_;        // name, specialist, director
  Ranked by_holder_;      // name, specialist, nothing
  Ranked by_thread_;      // name, thread, specialist
  ByPrincipal involved_;  // name, who gave it, has it or had it
  ByDirector given_to_;   // name, who gave it, has it or had it, who gave it
  BySeq of_;              // by who gave it, has it or had it
  BySeq held_;
  Shares given_;  // open ones, by director
  std::set<std::pair<Time, Seq>> ended_;
  SharedSet<std::pair<Time, Seq>> ended_of_;  // by director
};

}  // namespace parley::core
