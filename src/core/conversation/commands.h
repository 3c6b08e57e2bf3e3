// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "core/model/envelope.h"
#include "core/model/fields.h"

namespace parley::core {

// What is asked about threads, sessions, locks and tasks.

// Nothing more is to be said in the thread.
struct CloseThread {
  std::string_view thread;

  static constexpr std::string_view verb = "close thread";
  static constexpr bool needs_sync() { return true; }
  static void fields(auto& self, auto& field) { field("thread", self.thread); }
  bool operator==(const CloseThread&) const = default;
};

// The actor, or for an admin another, coordinates a session with these participants.
struct StartSession {
  std::string_view id;
  std::string_view coordinator{};  // empty: the one who asks
  std::vector<std::string_view> participants{};
  std::string_view task{};  // JSON; opaque

  static constexpr std::string_view verb = "start session";
  static constexpr bool needs_sync() { return true; }
  static void fields(auto& self, auto& field) {
    field("id", self.id);
    field("coordinator", self.coordinator, Form::agent);
    field("participants", self.participants, Form::agent);
    field("task", self.task, Form::opaque);
  }
  bool operator==(const StartSession&) const = default;
};

// What can be done to a session. Written into journals: never renumber.
enum class SessionAct : uint8_t {
  add_participant = 0,
  remove_participant = 1,
  add_decision = 2,
  add_artifact = 3,
  add_finding = 4,
  pause = 5,
  resume = 6,
  complete = 7,
  fail = 8,
};
constexpr SessionAct session_act_last = SessionAct::fail;
// Whether the act adds to what the participants share.
constexpr bool is_entry(SessionAct act) {
  return act >= SessionAct::add_decision && act <= SessionAct::add_finding;
}

struct ChangeSession {
  std::string_view id;
  SessionAct act = SessionAct::add_decision;
  uint64_t version = 0;        // that the change is made to; 0: whichever it has
  std::string_view subject{};  // the participant; or how it ended
  std::string_view body{};     // of an entry: JSON; opaque

  static constexpr std::string_view verb = "change session";
  static constexpr bool needs_sync() { return true; }
  static void fields(auto& self, auto& field) {
    field("id", self.id);
    field("act", self.act, session_act_last);
    field("version", self.version);
    field("subject", self.subject, Form::agent);
    field("body", self.body, Form::opaque);
  }
  bool operator==(const ChangeSession&) const = default;
};

// Takes a lock, renews it, or waits in line for it.
struct TakeLock {
  std::string_view name;
  Duration lease{};  // zero: by the rules
  Duration wait{};   // zero: does not
  // Renews only what was got by this request; zero: renews nothing, not even the actor's own. For
  // several who act for one principal.
  std::optional<Seq> fence{};

  static constexpr std::string_view verb = "take lock";
  static constexpr bool needs_sync() { return true; }
  static void fields(auto& self, auto& field) {
    field("name", self.name);
    field("lease", self.lease);
    field("wait", self.wait);
    field("fence", self.fence);
  }
  bool operator==(const TakeLock&) const = default;
};

// Gives a lock back, or leaves its line.
struct ReleaseLock {
  std::string_view name;
  Seq fence{};  // only if it was got, or is waited for, by this request; 0: whichever

  static constexpr std::string_view verb = "release lock";
  static constexpr bool needs_sync() { return true; }
  static void fields(auto& self, auto& field) {
    field("name", self.name);
    field("fence", self.fence);
  }
  bool operator==(const ReleaseLock&) const = default;
};

// The task goes to another agent. By the one who gave it, or a maintainer. Where several have this
// name that are not completed, director and thread say which.
struct ReassignTask {
  std::string_view task;
  std::string_view to;
  std::string_view director{};
  std::string_view thread{};

  static constexpr std::string_view verb = "reassign task";
  static constexpr bool needs_sync() { return true; }
  static void fields(auto& self, auto& field) {
    field("task", self.task);
    field("to", self.to, Form::agent);
    field("director", self.director, Form::agent);
    field("thread", self.thread);
  }
  bool operator==(const ReassignTask&) const = default;
};

}  // namespace parley::core
