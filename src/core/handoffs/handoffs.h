// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/model/envelope.h"
#include "core/state/shares.h"

namespace parley::core {

// What one agent waits for another to do: a handoff or a query that is not answered yet, of a
// dialect that says how soon it must be reacted to (`Policy::response_times`, SQ-04, SQ-05). Or a
// report of an agent that it is blocked by something else.
struct Handoff {
  Seq message;
  std::string to;    // who is to act
  std::string from;  // who waits for it
  std::string thread;
  std::string id;  // of the message, as its sender wrote it
  std::string subject;
  Kind kind = Kind::request;
  Priority priority = Priority::normal;
  Time since;
  Time due;                // when it is overdue
  Time heard;              // since then its receiver has said nothing of it, or is blocked
  bool announced = false;  // that it is overdue
  bool acked = false;      // its receiver is at work
  bool blocked = false;    // as its receiver says
  bool escalated = false;  // because of its silence, and people have not decided yet

  bool is_report() const { return kind != Kind::request && kind != Kind::query; }
  // Its receiver was to react to it, and has not.
  bool waits_for_reaction() const {
    return kind == Kind::query || (kind == Kind::request && !acked);
  }
  // How long its receiver has said nothing is looked at.
  bool is_silent() const { return !escalated && (blocked || (kind == Kind::request && acked)); }
  const std::string& owner() const { return is_report() ? to : from; }
  static void fields(auto& self, auto& field) {
    field("message", self.message);
    field("to", self.to);
    field("from", self.from);
    field("thread", self.thread);
    field("id", self.id);
    field("subject", self.subject);
    field("kind", self.kind, kind_last);
    field("priority", self.priority, priority_last);
    field("since", self.since);
    field("due", self.due);
    field("heard", self.heard);
    field("announced", self.announced);
    field("acked", self.acked);
    field("blocked", self.blocked);
    field("escalated", self.escalated);
  }
  bool operator==(const Handoff&) const = default;
};

// The session of work that an agent has, or had last.
struct AgentSession {
  std::string agent;
  Time started;
  Time ended;  // zero: it goes on

  bool is_over() const { return ended != Time{}; }
  static void fields(auto& self, auto& field) {
    field("agent", self.agent);
    field("started", self.started);
    field("ended", self.ended);
  }
  bool operator==(const AgentSession&) const = default;
};

// The handoffs of a workspace that are not over, by message and receiver; and the agents' sessions.
class Handoffs {
 public:
  using Key = std::pair<Seq, std::string>;

  void add(Handoff handoff);
  // Does nothing where there is none.
  void remove(const Key& key);
  // Calls `act(handoff)` for one that is there. Neither its names nor its place change.
  template <class Act>
  void change(const Key& key, Act&& act) {
    Handoff& handoff = handoffs_.at(key);
    unfile_times(handoff);
    act(handoff);
    file_times(handoff);
  }

  const Handoff* find(const Key& key) const;
  const std::map<Key, Handoff>& all() const { return handoffs_; }
  // Those that the principal gave or is to do, oldest first; nullptr: none.
  const std::set<Key>* of(std::string_view principal) const;
  // Those that it is to do in the thread, oldest first; nullptr: none.
  const std::set<Key>* in_thread(std::string_view to, std::string_view thread) const;
  size_t size() const { return handoffs_.size(); }
  size_t of_owner(std::string_view owner) const { return owned_.of(owner); }

  // The first that is overdue and was not announced, and the one that is silent for longest; with
  // the time that counts.
  const std::set<std::pair<Time, Key>>& unannounced() const { return unannounced_; }
  const std::set<std::pair<Time, Key>>& silent() const { return silent_; }
  // Those that are overdue.
  std::vector<const Handoff*> overdue(Time now) const;

  const AgentSession* session_of(std::string_view agent) const;
  void set_session(AgentSession session);
  void forget_session(std::string_view agent);

  // The records that it still needs: what is not named by any table is lost with its segment.
  void add_live(std::vector<Seq>& seqs) const;

  void encode(Writer& out) const;
  bool decode(Reader& in);

 private:
  void file_times(const Handoff& handoff);
  void unfile_times(const Handoff& handoff);

  std::map<Key, Handoff> handoffs_;
  std::map<std::string, std::set<Key>, std::less<>> of_;
  std::map<std::pair<std::string, std::string>, std::set<Key>> in_thread_;
  Shares owned_;
  std::set<std::pair<Time, Key>> unannounced_;  // by `due`
  std::set<std::pair<Time, Key>> due_;          // the same, and those that were
  std::set<std::pair<Time, Key>> silent_;       // by `heard`
  std::map<std::string, AgentSession, std::less<>> sessions_;
};

}  // namespace parley::core
