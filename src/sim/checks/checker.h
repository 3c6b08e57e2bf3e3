// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/machine/machine.h"
#include "journal/journal.h"
#include "sim/checks/effect_checks.h"
#include "sim/checks/named_effect.h"
#include "sim/faulty_journal.h"
#include "sim/verdict.h"

namespace parley::sim {

// What one node reported of one entry or one command.
struct NodeReport {
  int node = 0;
  Seq seq;
  core::CommandId id;
  uint64_t digest = 0;    // Of the outcome and the effects.
  bool promises = false;  // The command must survive a power loss.
  bool nameless = false;  // An effect names a receiver that is not there
  std::optional<uint64_t> ticket;
};

// Holds the system to what its nodes reported. Replays the whole log on a machine of its own, which
// never crashes and never restores, checks the effects of that against a model, and compares all
// nodes with it.
class Checker {
 public:
  Checker(Setting& setting, const SharedLog& log, Verdict& verdict);

  // A node begins a life with this origin; its machine is where the log was read up to.
  void started(int node, uint64_t origin, const core::Machine& machine);
  void crashed(int node);
  void submitted(int node, uint64_t ticket);

  void add_report(const NodeReport& report) { reports_.push_back(report); }
  void refused(int node, uint64_t ticket, const Error& error);

  // After each step: replays what is new and holds it against what was reported.
  void catch_up();
  // The node's state is that of the replay at the same seq.
  void compare(int node, const core::Machine& machine, Check check);
  void saved(const journal::Snapshot& snapshot);
  // The log has lost its end; all nodes are down.
  void power_lost();
  // No node owes an answer any more.
  void check_answered(int node);

  const core::Machine& machine() const { return *machine_; }
  // Of all outcomes and effects, in order, and of the state at the end.
  uint64_t digest() const;
  uint64_t unsettled() const;
  // The outbox items that the broker has not sent.
  uint64_t unsent_items() const;

 private:
  struct Life {
    uint64_t origin = 0;
    Seq read_upto;                // It reported up to here, or read up to here when it started.
    std::set<uint64_t> owed;      // Tickets without an answer.
    std::set<uint64_t> answered;  // Also those of the node's own ticks.
  };
  // What the replay made of a record.
  struct Replayed {
    uint64_t digest = 0;
    bool ignored = false;  // A repeated command, or one of a life that is over.
  };

  void replay_one(Seq seq);
  void observe(const core::Entry& entry, const core::Outcome& outcome,
               const std::vector<NamedEffect>& effects);
  void count(const core::Entry& entry, const core::Outcome& outcome,
             const std::vector<NamedEffect>& effects);
  void note(const core::Entry& entry, const core::Outcome& outcome,
            const std::vector<NamedEffect>& effects);
  void judge(const NodeReport& report);
  void begin();
  void start_life(uint64_t origin);

  Setting& setting_;
  const SharedLog& log_;
  Verdict& verdict_;
  std::map<int, Life> lives_;
  std::map<uint64_t, int> node_of_;   // By origin.
  std::map<Seq, uint64_t> promised_;  // Hash of the record.
  std::set<core::CommandId> refused_;
  std::vector<NodeReport> reports_;

  // Of the replay.
  std::unique_ptr<core::Machine> machine_;
  std::map<core::WorkspaceId, EffectChecks> effect_checks_;
  std::vector<Replayed> replayed_;  // By seq.
  std::map<Seq, uint64_t> digests_;
  std::set<uint64_t> ended_;
  std::map<int, uint64_t> present_;  // The origin of each node's present life.
  Time stamp_;
  bool quiet_ = false;
};

}  // namespace parley::sim
