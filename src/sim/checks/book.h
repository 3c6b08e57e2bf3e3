// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/machine/workspace.h"
#include "sim/checks/facts.h"

// What the ledger writes down: plain values.
namespace parley::sim {

using base::Seq;
using base::Time;
using core::State;

// Over 150 lines: what the ledger keeps, a struct for each concern.

// One entry and what came of it in one workspace: as it was written, and as it was told.
struct Step {
  const core::Entry& entry;
  const core::Outcome& outcome;
  std::vector<Fact> facts;                // of this workspace
  const core::Workspace& after;           // the workspace as it is now
  bool is_here = false;                   // the command was for this workspace
  uint32_t miscount = 0;                  // a canary's
  core::Mark unseen = core::Mark::plain;  // a canary's: an answer with this mark looks plain
};

// One message on its way to one receiver.
struct Pair {
  std::string receiver;
  State state = State::queued;
  Time due;  // end of the lease or delay
  core::StreamId stream;
  core::ResumeMark mark{};    // by which its receiver may say that it saw it
  core::ResumeMark former{};  // or by this, as it did last
  uint32_t attempts = 0;
  uint32_t revivals = 0;  // by the broker itself
  Seq made;               // the entry that addressed it: the message's own, or a late subscriber's
  Seq touched;            // the entry that moved it last
  bool paced = false;     // rate limits may hold it up, and it has not got through them
  bool tried = false;     // its receiver could not take it: it is tried again
  uint32_t retries = 0;   // of those that were made
  bool seen = false;
  // As it was before the entry at hand.
  State state_before = State::queued;
  Time due_before;
  bool tried_before = false;
};

struct Sent {
  Seq seq;
  Time accepted;
  Time expires;
  Time expires_before;  // as it was before the entry: a retry gives a new time to live
  Seq renewed;          // the entry that gave it last
  core::Duration ttl;
  size_t bytes = 0;  // of its body
  core::MessageId id;
  core::Id128 key;
  core::Priority priority = core::Priority::normal;
  std::string sender;
  std::string topic;
  Time begun;
  Time since;  // the newest change of any pair
  std::string thread;
  std::string session;
  Seq meeting;        // where that began
  std::string asker;  // who gets the answers
  Seq cause;          // of a request: the one that its sender worked on, and had not answered
  core::Kind kind = core::Kind::notification;
  core::Dialect dialect = core::Dialect::flow;
  bool asks = false;         // a request in a thread that waits for its answer
  bool watched = false;      // until the answer, the failure or the clock ends that
  bool answered = false;     // by anyone, once
  bool timed_out = false;    // no one waits for its answer any more
  bool memory_only = false;  // a broadcast that ends with `life`, and leaves no dead letter
  uint64_t life = 0;         // of the node that accepted it
  std::vector<Pair> pairs;
};

// What was booked with one limit: from the oldest that is looked at to the newest.
struct Booked {
  Seq message;
  Time accepted;
  uint64_t halves = 0;  // of a token; 0: it has not got through, or by another way
};

struct Member {
  core::PrincipalKind kind = core::PrincipalKind::agent;
  core::Dialect dialect = core::Dialect::flow;
  std::set<std::string> topics;
  uint64_t sent = 0;    // on `day`
  uint64_t tokens = 0;  // the same
  int64_t day = 0;
  uint64_t nacks = 0;                // in a row
  size_t pressed = 0;                // the worst level it was told of since it recovered
  std::array<Time, 3> pressed_at{};  // by level, when it was told last
  std::vector<std::pair<Time, uint64_t>> caused{};  // deliveries, by when
  std::vector<std::string> capabilities;
  std::string role;
  core::Webhook webhook;
  std::string status;       // as it said
  Time heard;               // when it last asked for something
  Time since;               // from when on its silence counts; zero: it does not
  bool silent = false;      // for too long
  bool unanswered = false;  // what it was asked, and it was not heard of since
};

// A request whose sender goes on only with the answer.
struct Blocked {
  std::string from;
  std::string to;
  Time until;
  bool asks_back = false;
  bool is_watched = false;
  uint64_t origin = 0;  // of the node whose caller waits; 0: it waits by itself
  Seq carries{};        // the request that it passes on, for whose sender it is
};

// How a task was given last.
struct Given {
  Seq message;
  std::string specialist;
  Time heard;
};

struct Opened {
  std::string agent;
  uint32_t window = 0;
  core::ResumeMark after{};
  core::ResumeMark last{};  // handed out
};

// A conversation.
struct Talk {
  Seq root;
  Time created;
  uint32_t messages = 0;
  bool ages = false;
  bool closed = false;
  bool overdue = false;  // its day has come, whatever the rules say later
  std::vector<std::string> participants;
  size_t known = 0;  // those who took part before the entry at hand
};

// A session.
struct Meeting {
  struct Write {
    uint64_t version = 0;
    Seq seq;
    std::string by;
  };
  Seq began;
  Time started;
  Time ended;
  uint64_t version = 1;
  bool paused = false;
  bool was_paused = false;  // before the entry at hand
  bool over = false;
  std::string coordinator;
  std::set<std::string> participants;
  std::vector<Write> writes;
};

struct Locked {
  std::string owner;
  Seq fence;
  Time ends;
};

// One who waits for a lock.
struct InLine {
  std::string name;
  std::string agent;
  Time until;
  core::Duration lease;
  uint64_t origin = 0;
};

struct Letter {
  Seq message;
  std::string receiver;
  core::Reason reason = core::Reason::receiver_not_found;
  std::string sender;
  Time failed{};
  Time look_by{};  // a pass of the broker must have come by then
};

// A request that is waited for.
struct Asked {
  std::string sender;
  Time due;
  core::Duration timeout;
  core::OnTimeout on_timeout = core::OnTimeout::fail;
  uint32_t retries = 0;
  bool is_piped = false;
  bool failed = false;  // for all receivers, in the entry at hand
  bool pauses = false;  // before it is sent again
};

enum class Answer : uint8_t { none, good, bad, failed };

struct Scattered {
  core::Gathering terms;
  std::string owner;
  Time due;
  bool extended = false;
  std::map<std::string, Answer> answers;  // by member

  size_t needed() const;
  size_t count(Answer wanted) const;
};

// Which message an answer is to, as it stood before.
struct Question {
  Seq seq;
  bool answered = false;  // by the one who answers
  // What was passed on to come to it and is answered by the same; by whom; the newest first.
  std::vector<std::pair<Seq, std::string>> chain{};
};

// A message whose sender wants to know when it is acknowledged.
struct Wanted {
  std::string sender;
  Time due;
};

// A roll call that is not reported yet.
struct Called {
  std::string sender;
  Time due;
  bool gone = false;  // its sender was removed: there may be no one to tell
};

// How a pipeline's stages are asked: as in its first message.
struct Manner {
  std::string sender;
  std::string thread;
  std::string correlation;
  core::Priority priority = core::Priority::normal;
  core::Duration ttl;
  core::Id128 trace_id;

  static Manner of(const core::Envelope& e) {
    return {std::string(e.sender),
            std::string(e.thread),
            std::string(e.correlation),
            e.priority,
            e.ttl,
            e.trace_id};
  }
  bool operator==(const Manner&) const = default;
};

// An exchange of two agents in one conversation.
struct Exchange {
  std::vector<std::string> agents;  // each spoke to the next
  size_t turn = 0;                  // whose it is in the ring
  bool is_ring = false;
  uint64_t turns = 0;
  Time since;
};

struct Piped {
  core::MessageId id;
  Manner manner;
  std::vector<std::string> stages;
  core::Duration timeout;        // of each stage, by the rules that held when it began
  size_t asked = 1;              // stages, one after the other; 0: the first one is busy
  Seq message;                   // of the stage
  Answer answer = Answer::none;  // of the stage
  uint64_t owed = 0;             // the outbox item of the next one
  Seq errand_done;               // where it was run
};

// Sizes after the entry before: a limit that was lowered is only not to be exceeded further.
struct Sizes {
  std::map<std::string, uint64_t> queues;
  std::map<std::string, uint64_t> retained;
  std::map<std::string, uint64_t> subscriptions;
  std::map<std::string, uint64_t> throttled;
  std::map<std::string, uint64_t> tried;
  std::map<std::string, uint64_t> led;
  uint64_t letters = 0;
  uint64_t streams = 0;
  uint64_t topics = 0;
  uint64_t agents = 0;
  uint64_t threads = 0;
  uint64_t sessions = 0;
  uint64_t locks = 0;
};

}  // namespace parley::sim
