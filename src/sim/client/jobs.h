// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sim/client/wire.h"
#include "sim/edge/run_state.h"

namespace parley::edge_sim {

class Agent;

// What an agent began and is to end: tasks, pipelines, scatters, sessions, locks. It asks for them
// by the public interface, and says at the end of a run what did not end, or lost what was written.
class Jobs {
 public:
  Jobs(RunState& run, Agent& agent) : run_(run), agent_(agent) {}

  // Begins one, or goes on with one.
  void act();
  // A task of this name was sent.
  void gave_task(std::string task, std::string marker);
  // Its agent is removed: what it held it holds no more.
  void leave();
  // While a run ends: ends what only its owner can end.
  void drain();
  // Asks how everything stands.
  void ask();
  // All of it is over, as far as was told.
  bool is_over() const;
  void judge() const;

 private:
  struct Job {
    std::string kind;
    std::string path;
    std::string name;
    unsigned life;  // Whose it is: how many had the agent's name before.
    std::string marker{};
    std::string state{};
    std::string answer{};                // The newest answer.
    std::vector<std::string> written{};  // Markers that were confirmed.
    uint64_t version = 0;
    bool is_private = false;  // The next of the name was told 404.
  };
  // A lock, as far as its holder knows: from when it was told until it may have ended.
  struct Hold {
    std::string name;
    uint64_t fence = 0;
    Time from;
    Time until;
    bool is_held = true;
  };

  void start_pipeline();
  void start_scatter();
  void start_pattern(const std::string& kind, std::string_view path, const std::string& body,
                     const std::string& marker);
  void start_session();
  void write_to_session();
  void reassign();
  void take_lock();
  void release_lock();
  std::string message(const std::string& marker, const std::string& thread) const;
  Job* any(std::string_view kind);
  bool is_done(const Job& job) const;
  bool has_ended(const Job& job) const;
  bool is_former(const Job& job) const;
  void ask_of_former(Job& job);
  void hear(const std::string& path, const Reply& reply);

  friend void judge_locks(RunState& run);

  RunState& run_;
  Agent& agent_;
  std::vector<Job> all_;
  std::vector<Hold> holds_;
};

// No two agents ever held one lock at a time, as each of them was told.
void judge_locks(RunState& run);

}  // namespace parley::edge_sim
