// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "core/handoffs/handoff_acts.h"
#include "core/machine/scenario_test.h"
#include "core/machine/tables.h"
#include "core/machine/testing.h"

// The words of scenarios about debates, handoffs and the sessions of agents: docs/scenarios.md.
namespace parley::core::testing {

// `challenges [M]`, `escalating [M]`, `acknowledging M`: the kind of the message, and what it is
// about. False: none of these.
inline bool debate_option(Words& words, Envelope& e) {
  const bool challenges = words.accept("challenging");
  const bool escalates = !challenges && words.accept("escalating");
  if (!challenges && !escalates && !words.accept("acknowledging")) {
    return false;
  }
  e.kind = challenges ? Kind::challenge : escalates ? Kind::escalation : Kind::acknowledgement;
  if (!words.accept("nothing")) {
    e.in_reply_to = id_of(words.next());
  }
  return true;
}

// `defending`, `revising`, `wanting-people`, `severity S`, `blocked-for D`, `about-it TEXT`.
inline bool stance_option(Words& words, Envelope& e, Time now) {
  if (words.accept("defending")) {
    e.stance = Stance::defend;
  } else if (words.accept("revising")) {
    e.stance = Stance::revise;
  } else if (words.accept("wanting-people")) {
    e.stance = Stance::escalate;
  } else if (words.accept("subject")) {
    e.subject = words.next();
  } else if (words.accept("severity")) {
    const std::string_view word = words.next();
    e.severity = word == "critical"   ? Severity::critical
                 : word == "moderate" ? Severity::moderate
                                      : Severity::minor;
  } else if (words.accept("blocked-for")) {
    const auto since = base::parse_duration(words.next());
    e.blocked_since = Time{now.us - since.value_or(Duration{}).us};
  } else {
    return false;
  }
  return true;
}

// `1 ana>bo open 0`: the id, who challenges whom, how it stands, after how many rounds.
inline std::string debate_words(const Tables& t) {
  std::vector<std::string> found;
  for (const auto& [id, debate] : t.debates.all()) {
    found.push_back(std::to_string(id) + " " + debate.challenger + ">" + debate.challenged + " " +
                    std::string(debate_state_words[debate.state]) + " " +
                    std::to_string(debate.rounds));
  }
  return join(found);
}

// Those that are open, or only those that are overdue.
inline std::vector<const Handoff*> handoffs_of(const Tables& t, bool only_overdue, Time now) {
  if (only_overdue) {
    return t.handoffs.overdue(now);
  }
  std::vector<const Handoff*> found;
  for (const auto& [key, handoff] : t.handoffs.all()) {
    found.push_back(&handoff);
  }
  return found;
}

inline std::string handoff_words(const Handoff& handoff) {
  return std::string(handoff.acked ? " acked" : "") + (handoff.blocked ? " blocked" : "") +
         (handoff.escalated ? " escalated" : "") + (handoff.announced ? " announced" : "");
}

}  // namespace parley::core::testing
