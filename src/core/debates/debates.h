// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/debates/debate.h"
#include "core/holds/holds.h"
#include "core/state/cases.h"

namespace parley::core {

// The debates of a workspace, by id, each way in which one is found, and which is due next. And the
// work under way in each thread, which a reviewer's critical challenge holds up.
class Debates {
 public:
  // Gives it its id, and returns that. Beyond `max` an ended one goes.
  uint64_t add(Debate debate, uint64_t max);
  void add_step(uint64_t id, DebateStep step);
  // The challenged one is to answer until then.
  void await(uint64_t id, Time due);
  // It has answered; or nobody waits for it any more.
  void note_answer(uint64_t id, bool is_defence);
  void note_severity(uint64_t id, Severity severity, bool holds);
  void escalate(uint64_t id, uint64_t escalation);
  struct End {
    DebateState state;
    std::string_view by;
    std::string_view outcome;
    Time at;
  };
  void end(uint64_t id, const End& how);

  const Debate* find(uint64_t id) const { return cases_.find(id); }
  // The open one to which the message belongs: a claim belongs to none. nullptr: none.
  const Debate* find_by_message(Seq message) const;
  // The newest open one of the challenger with the other in the thread; nullptr: none.
  const Debate* find_between(std::string_view thread, std::string_view challenger,
                             std::string_view challenged) const;
  // The newest open one in the thread that the judge wants; nullptr: none.
  template <class Judge>
  const Debate* find_in(std::string_view thread, Judge&& wants) const {
    const auto at = open_in_.find(thread);
    if (at != open_in_.end()) {
      for (auto id = at->second.rbegin(); id != at->second.rend(); ++id) {
        if (wants(*find(*id))) {
          return find(*id);
        }
      }
    }
    return nullptr;
  }
  const std::map<uint64_t, Debate>& all() const { return cases_.all(); }
  // The ids of those in which one takes part, oldest first; nullptr: none.
  const std::set<uint64_t>* of(std::string_view name) const;
  size_t open() const { return cases_.open(); }
  size_t open_of(std::string_view challenger) const { return cases_.open_of(challenger); }

  // When one is due that was not answered; time_max: none.
  Time next_due() const { return due_.empty() ? base::time_max : due_.begin()->first; }
  uint64_t first_due() const { return due_.begin()->second; }

  // Work under way in a thread, and what of it is held now.
  void note_work(std::string_view thread, Seq message);
  void done_with(Seq message);
  // Oldest first; nullptr: none.
  const std::set<Seq>* work_in(std::string_view thread) const;
  const std::map<std::string, std::set<Seq>, std::less<>>& work() const { return work_; }
  // What holds work in the thread: a reason for each debate.
  std::vector<Hold> holds_in(std::string_view thread) const;

  // The records that it still needs: what is not named by any table is lost with its segment.
  void add_live(std::vector<Seq>& seqs) const;

  void encode(Writer& out) const;
  bool decode(Reader& in);

 private:
  void file(const Debate& debate);
  void forget(const Debate& debate);
  void close(const Debate& debate);

  Cases<Debate> cases_;                                             // by challenger
  std::map<Seq, uint64_t> by_message_;                              // of open ones
  std::map<std::string, std::set<uint64_t>, std::less<>> open_in_;  // by thread
  std::map<std::string, std::set<uint64_t>, std::less<>> of_;       // by who takes part
  std::set<std::pair<Time, uint64_t>> due_;
  std::map<std::string, std::set<Seq>, std::less<>> work_;  // by thread
  std::map<Seq, std::string> thread_of_;                    // of the same
};

}  // namespace parley::core
