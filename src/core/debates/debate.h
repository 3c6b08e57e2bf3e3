// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/model/envelope.h"
#include "core/model/words.h"

namespace parley::core {

// What one message is to a debate. Written into snapshots: never renumber.
enum class DebateAct : uint8_t {
  claim = 0,      // what is challenged
  challenge = 1,  // it is wrong, or the defence does not hold
  defend = 2,     // it holds
  revise = 3,     // it was wrong, and this is right
  withdraw = 4,   // the challenge was wrong
  escalate = 5,   // people must decide
};
constexpr DebateAct debate_act_last = DebateAct::escalate;
constexpr Words<debate_act_last> debate_act_words("claim", "challenge", "defend", "revise",
                                                  "withdraw", "escalate");

// How a debate stands. Written into snapshots: never renumber.
enum class DebateState : uint8_t {
  open = 0,
  escalated = 1,  // people are to decide
  revised = 2,    // the challenged one gave in
  withdrawn = 3,  // the challenger did, or is gone
  resolved = 4,   // people have decided
};
constexpr DebateState debate_state_last = DebateState::resolved;
constexpr Words<debate_state_last> debate_state_words("open", "escalated", "revised", "withdrawn",
                                                      "resolved");

// One message of a debate. What it says stays in its record.
struct DebateStep {
  Seq message;
  std::string id;  // as its sender wrote it
  std::string agent;
  std::string subject;
  DebateAct act = DebateAct::claim;
  Time at;

  static void fields(auto& self, auto& field) {
    field("message", self.message);
    field("id", self.id);
    field("agent", self.agent);
    field("subject", self.subject);
    field("act", self.act, debate_act_last);
    field("at", self.at);
  }
  bool operator==(const DebateStep&) const = default;
};

// One agent disputes what another said (SQ-06). It ends when one of the two gives in, or people
// decide; until then each of them says what it has to say.
struct Debate {
  uint64_t id = 0;
  std::string challenger;
  std::string challenged;
  std::string thread;
  Seq opened;  // the first challenge
  Severity severity = Severity::unset;
  DebateState state = DebateState::open;
  uint64_t rounds = 0;      // defences
  bool unanswered = true;   // it is the challenged one's turn
  bool holds = false;       // a reviewer finds it critical: work in the thread waits
  uint64_t escalation = 0;  // 0: it was never put before people
  Time since{};
  Time due{};  // when the challenged one must have answered
  Time ended{};
  std::string ended_by{};
  std::string outcome{};
  std::vector<DebateStep> steps{};  // oldest first

  bool is_open() const { return state <= DebateState::escalated; }
  // Agents can still settle it among themselves.
  bool is_undecided() const { return state == DebateState::open; }
  const std::string& owner() const { return challenger; }
  bool is_side(std::string_view name) const { return name == challenger || name == challenged; }
  // Whether it is a side, or has said something in it.
  bool takes_part(std::string_view name) const {
    return is_side(name) || std::ranges::any_of(steps, [name](const DebateStep& step) {
             return step.act != DebateAct::claim && step.agent == name;
           });
  }
  static void fields(auto& self, auto& field) {
    field("id", self.id);
    field("challenger", self.challenger);
    field("challenged", self.challenged);
    field("thread", self.thread);
    field("opened", self.opened);
    field("severity", self.severity, severity_last);
    field("state", self.state, debate_state_last);
    field("rounds", self.rounds);
    field("unanswered", self.unanswered);
    field("holds", self.holds);
    field("escalation", self.escalation);
    field("since", self.since);
    field("due", self.due);
    field("ended", self.ended);
    field("ended_by", self.ended_by);
    field("outcome", self.outcome);
    field("steps", self.steps);
  }
  bool operator==(const Debate&) const = default;
};

}  // namespace parley::core
