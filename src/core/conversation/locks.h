// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "core/model/envelope.h"

namespace parley::core {

// A name that one principal holds for a while, and who waits for it.
struct Lock {
  // One who waits in line, from the entry at `place` on.
  struct Waiter {
    Seq place;
    uint64_t life = 0;  // of the node by which it asked: see CommandId::origin
    Time until{};
    Duration lease;
    std::string agent;
    static void fields(auto& self, auto& field) {
      field("place", self.place);
      field("life", self.life, Form::fixed);
      field("until", self.until);
      field("lease", self.lease);
      field("agent", self.agent);
    }
    bool operator==(const Waiter&) const = default;
  };

  std::string name;
  std::string owner;
  Seq fence;  // where it was asked for: rises with each owner
  Time since{};
  Time ends{};
  std::deque<Waiter> line{};  // first come, first served

  static void fields(auto& self, auto& field) {
    field("name", self.name);
    field("owner", self.owner);
    field("fence", self.fence);
    field("since", self.since);
    field("ends", self.ends);
    field("line", self.line);
  }
  bool operator==(const Lock&) const = default;
};

// The locks of a workspace that someone holds, by name, and when a lease or a wait ends.
//
// Whoever holds locks can ask only for greater names, in byte order; whoever waits for one asks for
// no other. So all that a waiter holds is smaller than what it waits for, and no ring can form.
class Locks {
 public:
  // nullptr when nobody holds it.
  const Lock* find(std::string_view name) const;
  const std::map<std::string, Lock, std::less<>>& all() const { return locks_; }
  size_t size() const { return locks_.size(); }

  // The names that the agent holds; nullptr when it holds none.
  const std::set<std::string>* held_by(std::string_view agent) const;
  // The lock that the agent waits for; nullptr when it waits for none.
  const Lock* awaited_by(std::string_view agent) const;

  // Nobody may hold it.
  void take(std::string_view name, std::string_view owner, Seq fence, Time now, Time ends);
  void renew(std::string_view name, Time ends);
  // Another holds it, and the agent waits for none.
  void wait(std::string_view name, Lock::Waiter waiter);
  // False when no one waits at this place.
  bool stop_waiting(std::string_view name, Seq place);
  // The first in line has it now; nobody is in line: it is gone. The place of the new owner, or
  // none.
  Seq pass_on(std::string_view name, Time now);

  // When a lease or a wait ends: a lease where `place` is none.
  struct Due {
    Time at;
    std::string name;
    Seq place{};
    auto operator<=>(const Due&) const = default;
  };
  // The first of them; time_max when there is none.
  Time next_due() const { return dues_.empty() ? base::time_max : dues_.begin()->at; }
  const Due& first_due() const { return *dues_.begin(); }

  // Calls `visit(waiting agent, owner, name)` for each that waits: the edges of a wait-for graph.
  template <class Visit>
  void each_wait(Visit&& visit) const {
    for (const auto& [name, lock] : locks_) {
      for (const Lock::Waiter& waiter : lock.line) {
        visit(waiter.agent, lock.owner, name);
      }
    }
  }

  void encode(Writer& out) const;
  bool decode(Reader& in);  // false when the bytes are not what `encode` writes

 private:
  std::map<std::string, Lock, std::less<>> locks_;
  std::map<std::string, std::set<std::string>, std::less<>> held_;  // by agent
  std::map<std::string, std::string, std::less<>> awaited_;         // by agent
  std::set<Due> dues_;
};

}  // namespace parley::core
