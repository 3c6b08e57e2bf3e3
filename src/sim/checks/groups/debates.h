// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>

#include "sim/model/model.h"

namespace parley::sim {

// Checks debates (SQ-06): each challenge of one agent to another is a part of one; rounds are
// counted as was said; one that its sides do not settle goes before people once, one that they
// settle never; and it ends by who may end it.
class DebateChecks {
 public:
  explicit DebateChecks(Model& model) : model_(model) {}

  // After all effects.
  void check(const Step& step);

 private:
  // What a message said, as its sender wrote it.
  struct Said {
    std::string sender;
    core::Kind kind = core::Kind::challenge;
    core::Stance stance = core::Stance::unset;
  };

  void learn(const Step& step);
  void count_escalations(const Step& step);
  void check_opened(const Step& step);
  void check_one(const Step& step, const core::Debate& debate);
  void check_rounds(const Step& step, const core::Debate& debate);
  void check_change(const Step& step, const core::Debate& debate, core::DebateState before);
  bool is_full(const core::Debate& debate) const;
  std::string listed(const core::Debate& debate) const;

  Model& model_;
  std::map<Seq, Said> said_;
  std::map<uint64_t, core::DebateState> known_;  // After the entry before.
  std::map<uint64_t, int> escalations_;          // By debate.
  uint64_t newest_ = 0;                          // Of the escalations that were counted.
};

}  // namespace parley::sim
