// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/model/command.h"
#include "core/model/words.h"
#include "core/state/shares.h"

namespace parley::core {

// Over 150 lines: what a session is made of, and the one table that holds them.

// How a session stands. Written into snapshots: never renumber.
enum class SessionStatus : uint8_t { active = 0, paused = 1, completed = 2, failed = 3 };
constexpr SessionStatus session_status_last = SessionStatus::failed;
constexpr Words<session_status_last> session_status_words("active", "paused", "completed",
                                                          "failed");
// `add_decision`, `pause`, …: the word for it in answers.
std::string_view session_act_name(SessionAct act);

// One change of a session: who made it, when, and which version came of it.
struct SessionChange {
  uint64_t version = 0;
  Seq seq;  // of its record, which has what was written; 0: the broker's own, by the clock
  Time at;
  SessionAct act = SessionAct::add_decision;
  std::string by;
  std::string subject{};  // the participant; or what was said when it ended
  static void fields(auto& self, auto& field) {
    field("version", self.version);
    field("seq", self.seq);
    field("at", self.at);
    field("act", self.act, session_act_last);
    field("by", self.by);
    field("subject", self.subject);
  }
  bool operator==(const SessionChange&) const = default;
};

// What the session's log says of a message.
struct SessionMessage {
  Seq seq;
  MessageId id;
  Time at;
  uint32_t receivers = 0;
  std::string from;
  std::string to;      // the first of them
  std::string type{};  // the dialect's own word
  std::string action{};
  static void fields(auto& self, auto& field) {
    field("seq", self.seq);
    field("id", self.id);
    field("at", self.at);
    field("receivers", self.receivers);
    field("from", self.from);
    field("to", self.to);
    field("type", self.type);
    field("action", self.action);
  }
  bool operator==(const SessionMessage&) const = default;
};

// Agents that work on one task: who they are, what they have found out and decided, what they said.
// What they wrote stays in the journal; here is only where.
struct Session {
  std::string id;
  Seq began;  // of the record with the task
  std::string coordinator;
  std::vector<std::string> participants{};  // the coordinator first, then as they joined
  SessionStatus status = SessionStatus::active;
  bool warned = false;  // that it ends soon
  uint64_t version = 1;
  Time started{};
  Time last_activity{};
  Time ended{};
  std::vector<SessionChange> entries{};  // decisions, artifacts, findings
  std::deque<SessionChange> changes{};   // of participants and of the status, newest last
  std::deque<SessionMessage> log{};      // newest last
  uint64_t messages = 0;                 // in all
  std::set<Seq> open{};                  // messages in it that are not done with

  bool is_over() const { return status >= SessionStatus::completed; }
  bool has(std::string_view name) const;
  static void fields(auto& self, auto& field) {
    field("id", self.id);
    field("began", self.began);
    field("coordinator", self.coordinator);
    field("participants", self.participants);
    field("status", self.status, session_status_last);
    field("warned", self.warned);
    field("version", self.version);
    field("started", self.started);
    field("last_activity", self.last_activity);
    field("ended", self.ended);
    field("entries", self.entries);
    field("changes", self.changes);
    field("messages", self.messages);
    field("log", self.log);
    field("open", self.open);
  }
  bool operator==(const Session&) const = default;
};

// The sessions of a workspace, each under the place where it began: oldest first.
class Sessions {
 public:
  Session& add(Session session);
  // nullptr when there is none.
  Session* find(std::string_view id);
  const Session* find(std::string_view id) const;
  const std::map<Seq, Session>& all() const { return sessions_; }
  size_t size() const { return sessions_.size(); }

  // A message in the session was accepted: it is open there.
  void enter(Session& session, Seq message);
  // Nothing more can become of the message. Does nothing when it is in no session.
  void done_with(Seq message) {
    if (!messages_.empty()) {
      leave(message);
    }
  }

  // Keeps the look-ups in step with the session's status.
  void set_status(Session& session, SessionStatus status, Time now);
  void set_warned(Session& session);

  // One takes part from now on, or no more.
  void join(Session& session, std::string_view name);
  void leave(Session& session, std::string_view name);
  // Those in which one takes part, also those that are over, oldest first; nullptr: none.
  const std::set<Seq>* of(std::string_view name) const;

  Session& at(Seq began) { return sessions_.at(began); }
  // The first that began after this one and is not over; 0 when there is none.
  Seq next_live(Seq after) const {
    const auto next = live_.upper_bound(after);
    return next == live_.end() ? Seq{} : *next;
  }
  // In the order in which their time comes; nullptr when there is none.
  const Session* first_unwarned() const {
    return unwarned_.empty() ? nullptr : &sessions_.at(*unwarned_.begin());
  }
  const Session* first_live() const {
    return live_.empty() ? nullptr : &sessions_.at(*live_.begin());
  }
  // The one that ended first, of those that are kept.
  const Session* first_ended() const {
    return ended_.empty() ? nullptr : &sessions_.at(ended_.begin()->second);
  }
  size_t live() const { return live_.size(); }
  // Of those, how many this one coordinates.
  size_t led_by(std::string_view coordinator) const { return led_.of(coordinator); }
  void remove(Seq began);

  // The records that it still needs: what is not named by any table is lost with its segment.
  void add_live(std::vector<Seq>& seqs) const;

  void encode(Writer& out) const;
  bool decode(Reader& in);  // false when the bytes are not what `encode` writes

 private:
  void leave(Seq message);
  void file(Session& session);
  void unjoin(Seq began, std::string_view name);

  std::map<Seq, Session> sessions_;
  std::map<std::string, Seq, std::less<>> by_id_;
  std::map<std::string, std::set<Seq>, std::less<>> joined_;  // by who takes part; none is empty
  std::map<Seq, Seq> messages_;  // open ones, to their session
  std::set<Seq> live_;           // not over
  Shares led_;                   // of those, by coordinator
  std::set<Seq> unwarned_;       // of those
  std::set<std::pair<Time, Seq>> ended_;
};

}  // namespace parley::core
