// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace parley::sim {

// What the simulator checks. Each has a canary: a planted bug that it must catch.
enum class Check : uint8_t {
  promise,    // what was told is in the journal, durable where that was promised, and stays there
  answer,     // each command is answered once, in the order of the journal, and none never
  equal,      // nodes agree at equal seq: outcomes, effects, digests
  snapshot,   // a snapshot restores to itself, and with its tail equals a full replay
  time,       // the journal's time never goes back
  once,       // a command appended twice acts once
  receivers,  // a message goes to those it was addressed to, and to no one else
  settle,     // it settles once for each of them, as was asked, and in the end for all
  letter,     // what fails has a dead letter with a true reason, until that is dropped and said so
  notice,     // what the broker owes is said, once: to the sender of each dead letter, and so on
  wait,       // what is waited for ends by an answer, a failure or the clock, and is told
  visible,    // nothing vanishes before it is settled and its time is over
  order,      // as the receiver's discipline says
  idle,       // nothing waits beside a stream with room, or without a word to its receiver
  holder,     // no two hold a message at once
  lease,      // a lease is as long as the rules say, and ends
  expiry,     // nothing is handed out, or waits, after its time to live
  window,     // a stream holds no more than its window
  life,       // no stream outlives its node's life
  duplicate,  // a repeated message is told from a new one
  limit,      // no table grows above its limit
  presence,   // who is silent is offline, who is heard of is not
  deadlock,   // no circle of those who wait closes unseen, and none is seen that is none
  breaker,    // a failing receiver gets no more, one that does not fail does
  guard,      // what has run away is stopped, and nothing else
  pace,       // rate limits hold up what exceeds them, nothing else, and say for how long
  recount,    // counters agree with what they count
  care,       // the broker looks after dead letters as the rules say, and raises alarms
  thread,     // a conversation is counted, limited, closed and announced as the rules say
  session,    // every accepted write is there, and no delivery comes out of a paused session
  lock,       // a lock has one owner, is passed on in turn, and all are taken in order
  task,       // a task is there until it is done with, and one agent has it
  webhook,    // an agent's webhook, with its secrets, is the one it was given
  resume,     // who comes back gets what it did not see, and nothing that it did
  body,       // the record of a live message can be read
  advice,     // what is refused at the door would be refused inside, and leave nothing behind
};

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
