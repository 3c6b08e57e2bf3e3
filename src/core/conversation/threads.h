// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/messages/message.h"
#include "core/model/envelope.h"
#include "core/model/words.h"
#include "core/state/index.h"
#include "core/state/seq_line.h"
#include "core/state/shared_line.h"
#include "core/state/slots.h"

namespace parley::core {

constexpr size_t thread_name_bytes_max = 1'024;

// How a thread stands. Follows from its counts.
enum class ThreadState : uint8_t {
  created,   // begun, and nobody was asked anything
  active,    // a request waits for its response
  resolved,  // no request does any more
  closed,    // by its owner, or by itself when it was old
};
constexpr ThreadState thread_state_last = ThreadState::closed;
constexpr Words<thread_state_last> thread_state_words("created", "active", "resolved", "closed");

// A conversation: the messages with one name (flow conversation_id). The engine keeps its sums; the
// messages themselves are in the history. Principals are counted as uses of those.
struct Thread {
  std::string name;
  MessageId root_id;  // of its first message
  Seq root;
  Time created;
  Time changed;           // its newest message, or the end of its newest request
  Time closed;            // time_max while it is open
  std::string closed_by;  // empty: by itself
  uint32_t messages = 0;  // of principals; the broker's own notices do not count
  uint32_t requests = 0;
  uint32_t pending = 0;                   // requests that have not ended
  bool ages = false;                      // closed by itself some day: a flow sender began it
  bool overdue = false;                   // that day has come; it waits for its requests to end
  bool is_public = false;                 // a topic or everyone heard of it: anyone may join
  std::vector<AgentRef> participants;     // senders and direct receivers, in the order they came
  std::vector<std::string> correlations;  // in the order they came

  bool is_closed() const { return closed != base::time_max; }
  ThreadState state() const;
  // Whether a message in it has this correlation id, or it is the one that others name by it.
  bool is_about(std::string_view correlation) const;
  AgentRef owner() const { return participants.front(); }  // who began it

  std::string owner_name;  // of the owner, whose share it counts in; set before it is added

  uint32_t place = none;  // in the line of its standing
  // Its neighbours among those that age.
  uint32_t older = none;
  uint32_t younger = none;

  static void fields(auto& self, auto& field) {
    field("name", self.name);
    field("root", self.root);
    field("root_id", self.root_id);
    field("created", self.created);
    field("changed", self.changed);
    field("closed", self.closed);
    field("closed_by", self.closed_by);
    field("messages", self.messages);
    field("requests", self.requests);
    field("pending", self.pending);
    field("ages", self.ages);
    field("overdue", self.overdue);
    field("is_public", self.is_public);
    field("participants", self.participants, SlotOf::agent);
    field("correlations", self.correlations);
  }
};

// Where a message goes among the threads: into one of them; into one that begins with it, or none
// where it has no name; or nowhere, because the thread of its name is between others.
struct ThreadPlace {
  ThreadRef thread = none;
  bool is_apart = false;
};

// Over 150 lines: a thread, and each way in which a table finds one, belong together.
//
// The threads of a workspace that the engine remembers. Knows no rules; who uses it counts the
// principals. Three lines hold them by standing (closed, idle, active), each in the order in which
// they came there; a list holds those that age, oldest first; and each principal has a line of
// those in which it takes part, by when they began.
class Threads {
 public:
  enum class Standing : uint8_t { closed, idle, active };
  static constexpr size_t standing_count = 3;

  explicit Threads(uint64_t hash_seed);

  const Thread& operator[](ThreadRef ref) const { return threads_[ref]; }
  Thread& operator[](ThreadRef ref) { return threads_[ref]; }

  ThreadRef find(std::string_view name) const;
  // A new one, open; it must not be there yet.
  ThreadRef add(Thread thread);
  void remove(ThreadRef ref);
  // One who did not take part does from now on.
  void join(ThreadRef ref, AgentRef agent);

  // Calls `visit(thread)` for those in which the agent takes part, or for all where it is `none`,
  // that began before a place: the newest first, until it returns false.
  template <class Visit>
  void each_of(AgentRef agent, Seq before, Visit&& visit) const {
    if (const auto line = joined_.find(agent); line != joined_.end()) {
      line->second.each_before(before, visit);
    }
  }
  static constexpr Seq newest{std::numeric_limits<uint64_t>::max()};  // before it are all

  // Something was said in it at `now`: it is the newest of its standing.
  void touch(ThreadRef ref, Time now);
  void move_to_end(ThreadRef ref);  // the same, but for the time
  void open_request(ThreadRef ref);
  void end_request(ThreadRef ref, Time now);
  void close(ThreadRef ref, std::string_view by, Time now);
  // Its time is over, but not its requests.
  void set_overdue(ThreadRef ref);

  Standing standing_of(ThreadRef ref) const;
  // The one that came first to this standing; none when there is none.
  ThreadRef first(Standing standing) const;
  ThreadRef next(ThreadRef ref) const;
  size_t count(Standing standing) const { return line(standing).size(); }
  size_t active_of(std::string_view owner) const;
  // The one to forget for room: of the owner that holds most in which nothing is pending, its first
  // closed one, else its first idle one; none when there is none.
  ThreadRef first_of_most() const;
  uint64_t most_resting() const { return resting_.most_weight(); }  // how many those are
  // The oldest that ages and whose day has not come; none when there is none.
  ThreadRef oldest() const { return oldest_; }
  ThreadRef younger(ThreadRef ref) const { return threads_[ref].younger; }
  size_t size() const { return threads_.size(); }

 private:
  using Line = SharedLine<ThreadRef>;
  const Line& line(Standing standing) const { return lines_[static_cast<size_t>(standing)]; }
  Line& line(Standing standing) { return lines_[static_cast<size_t>(standing)]; }
  void link(ThreadRef ref);
  void unlink(ThreadRef ref);
  void stop_aging(ThreadRef ref);
  // Into the line of one who takes part, and out of it; `none`: into that of all.
  void file(AgentRef agent, ThreadRef ref);
  void unfile(AgentRef agent, ThreadRef ref);
  uint64_t hash(std::string_view name) const;

  uint64_t seed_;
  Slots<Thread> threads_;
  Index by_name_;
  std::array<Line, standing_count> lines_;
  Shares resting_;                      // closed and idle ones, by owner
  std::map<AgentRef, SeqLine> joined_;  // by who takes part; none is empty. `none`: all threads
  ThreadRef oldest_ = none;
  ThreadRef youngest_ = none;
};

}  // namespace parley::core
