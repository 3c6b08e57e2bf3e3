// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "sim/model/model.h"

namespace parley::sim {

// Checks locks: each has one owner, is passed on in turn when it is free, and an agent takes
// several of them in order only.
class LockChecks {
 public:
  explicit LockChecks(Model& model) : model_(model) {}

  void on_turn(const Step& step, const NamedEffect& effect);
  // After all effects, because time passes first and may free a lock: what the command took.
  void learn(const Step& step);
  void check(const Step& step);

 private:
  struct Lock {
    std::string owner;
    Seq fence;
    Time ends;
  };
  struct Waiter {
    std::string name;  // Of the lock.
    std::string agent;
    Time until;
    core::Duration lease;
    uint64_t origin = 0;  // The life of the node whose caller waits.
  };

  bool is_free(const Step& step, const std::string& name, const Lock& lock) const;
  void check_waiters(const Step& step);

  Model& model_;
  std::map<std::string, Lock> locks_;
  std::map<Seq, Waiter> waiters_;  // By the entry that asked.
};

}  // namespace parley::sim
