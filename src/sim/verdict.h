// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace parley::sim {

// What the simulator checks. Each has a canary: a planted bug that it must catch.
enum class Check : uint8_t {
  promise,    // What was told is in the journal, durable where that was promised, and stays there.
  answer,     // Each command is answered once, in the order of the journal, and none never.
  equal,      // Nodes agree at equal seq: outcomes, effects, digests.
  snapshot,   // A snapshot restores to itself, and with its tail equals a full replay.
  time,       // The journal's time never goes back.
  once,       // A command appended twice acts once.
  receivers,  // A message goes to those it was addressed to, and to no one else.
  settle,     // It settles once for each of them, as was asked, and in the end for all.
  letter,     // What fails has a dead letter with a true reason, until that is dropped and said so.
  notice,     // What the broker owes is said, once: to the sender of each dead letter, and so on.
  wait,       // What is waited for ends by an answer, a failure or the clock, and is told.
  visible,    // Nothing vanishes before it is settled and its time is over.
  order,      // Messages come in the order of the receiver's discipline.
  idle,       // Nothing waits beside a stream with room, or without a word to its receiver.
  holder,     // No two hold a message at once.
  lease,      // A lease is as long as the rules say, and ends.
  expiry,     // Nothing is handed out, or waits, after its time to live.
  window,     // A stream holds no more than its window.
  life,       // No stream outlives its node's life.
  duplicate,  // A repeated message is told from a new one.
  limit,      // No table grows above its limit.
  presence,   // Who is silent is offline, who is heard of is not.
  deadlock,   // No circle of those who wait closes unseen, and none is seen that is none.
  breaker,    // A failing receiver gets no more, one that does not fail does.
  guard,      // What has run away is stopped, and nothing else.
  pace,       // Rate limits hold up what exceeds them, nothing else, and say for how long.
  recount,    // Counters agree with what they count.
  care,       // The broker looks after dead letters as the rules say, and raises alarms.
  thread,     // A conversation is counted, limited, closed and announced as the rules say.
  session,    // Every accepted write is there, and no delivery comes out of a paused session.
  lock,       // A lock has one owner, is passed on in turn, and all are taken in order.
  task,       // A task is there until it is done with, and one agent has it.
  webhook,    // An agent's webhook, with its secrets, is the one it was given.
  resume,     // Who comes back gets what it did not see, and nothing that it did.
  body,       // The record of a live message can be read.
  advice,     // What is refused at the door would be refused inside, and leave nothing behind.
  share,      // Nobody fills a table that all share; what goes for room is of whoever holds most.
  flag,       // What is for moderators alone is there until one of them resolves it, and no other.
  approval,   // It is decided once, by one who may, for what was shown, and never by silence.
  debate,     // It goes before people once if its sides do not settle it, and never if they do.
  handoff,    // What nobody reacts to in time is announced once.
};
constexpr size_t check_count = static_cast<size_t>(Check::handoff) + 1;

std::string_view check_name(Check check);

struct Failure {
  Check check;
  std::string detail;
};

// Keeps the first failure: what comes after it may only follow from it.
class Verdict {
 public:
  void fail(Check check, std::string detail) {
    if (!failure_) {
      failure_ = Failure{check, std::move(detail)};
    }
  }
  bool failed() const { return failure_.has_value(); }
  const std::optional<Failure>& failure() const { return failure_; }

 private:
  std::optional<Failure> failure_;
};

}  // namespace parley::sim
