// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <span>
#include <string>

#include "sim/model/model.h"

namespace parley::sim {

// Checks dead letters: each one is for a delivery that failed, is reported to its sender and stays
// until it is dropped. The broker inspects each in time, retries what may help and not too often,
// escalates what is critical, discards what is old and raises alarms.
class DeadLetterChecks {
 public:
  explicit DeadLetterChecks(Model& model) : model_(model) {}

  void begin();
  // The rules change how many there may be.
  void learn_rules(const core::SetRules& command);
  // Someone resolved a dead letter, which may be of this very entry: `later` are the effects that
  // are still to come. False when the resolution cannot be followed yet.
  bool learn_resolved(const Step& step, const core::ResolveDeadLetter& command,
                      std::span<const NamedEffect> later);
  void on_dead_lettered(const Step& step, const NamedEffect& effect);
  void on_dropped(const Step& step, const NamedEffect& effect);
  void on_resolved(const Step& step, const NamedEffect& effect);
  void on_alarm(const Step& step);
  // The broker owes the sender a notice of one.
  void on_notice(const std::string& sender) { --unreported_[sender]; }

  // What expires as people look at it has a notice as well, and no dead letter.
  void on_expired(const std::string& sender, Seq message) {
    unreported_[sender] += model_.was_sender(sender, message) ? 1 : 0;
  }

  // The dead letter whose delivery is not settled yet; nullptr: there is none.
  const NamedEffect* pending() const { return pending_; }
  void settle_pending(const std::string& receiver);

  // After all effects.
  void check_pending(const Step& step);
  void check_care(const Step& step);
  void check_notices(const Step& step);
  void check_kept(const Step& step);

 private:
  void plan_inspection(DeadLetter& letter);

  Model& model_;
  std::deque<Time> recent_;  // When the newest ones failed.
  std::optional<Time> alarmed_;
  // What the entry at hand brought about.
  int alarms_due_ = 0;
  uint64_t size_max_ = 0;                  // The smaller limit, before or after the rules change.
  std::map<std::string, int> unreported_;  // By sender: dead letters less notices of them.
  const NamedEffect* pending_ = nullptr;
};

}  // namespace parley::sim
