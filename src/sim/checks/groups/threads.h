// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "sim/checks/waiting/answers.h"
#include "sim/model/model.h"

namespace parley::sim {

// Checks threads: a conversation is counted, limited, closed and announced as the rules say.
class ThreadChecks {
 public:
  ThreadChecks(Model& model, const AnswerChecks& answers) : model_(model), answers_(answers) {}

  // A message, before its effects: whether it may be in its thread, and that it is.
  void learn(const Step& step, const core::Send& command);
  // After all effects, by the rules that held when the entry came.
  void check(const Step& step);
  // Drops what the tables have forgotten, where they may.
  void forget(const Step& step);

 private:
  struct Thread {
    Seq root;
    Time created;
    uint32_t messages = 0;
    bool ages = false;
    bool closed = false;
    bool overdue = false;    // Its end has come, whatever the rules say later.
    bool is_public = false;  // A topic or everyone heard of it.
    std::vector<std::string> participants;
    size_t known = 0;  // How many took part before the entry at hand.
  };
  // By participant: how many closed threads it must be told of, and how many more it may be.
  struct Notices {
    std::map<std::string, int> due;
    std::map<std::string, int> possible;
  };

  bool joins(const Step& step, const core::Envelope& envelope, const Thread& thread) const;
  static bool takes_part(const Thread& thread, const std::string& name);
  bool stands_in(const core::Envelope& envelope, const Thread& thread) const;
  bool is_direct(const core::Envelope& envelope) const;
  void add_message(const Step& step, const core::Envelope& envelope, bool ages);
  std::string reached_by(const Step& step, const std::string& named) const;
  void check_thread(const Step& step, const std::string& name, Thread& thread,
                    const std::set<Seq>& pending_before, Notices& notices);
  void on_closed(const Step& step, Thread& thread, bool by_command, Notices& notices);
  void check_notices(const Step& step, Notices& notices);
  bool may_close_by_age(const Step& step, const core::Thread& actual, const Thread& thread) const;
  void end_requests();
  bool is_replaced(const Step& step, Seq former) const;
  bool is_over(const Thread& thread) const;
  std::set<Seq> pending_in(const std::string& thread) const;

  Model& model_;
  const AnswerChecks& answers_;
  std::map<std::string, Thread> threads_;
  std::set<Seq> apart_;  // Messages of strangers under the name of a thread, which are not in it.
};

}  // namespace parley::sim
