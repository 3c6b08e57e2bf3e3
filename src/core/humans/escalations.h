// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/model/envelope.h"
#include "core/model/rules.h"
#include "core/state/cases.h"

namespace parley::core {

// Why a human is asked to look. Written into snapshots: never renumber.
enum class EscalationCause : uint8_t {
  request_timed_out = 0,
  pipeline_failed = 1,
  dead_letter = 2,     // a critical message failed, or a person passed a dead letter on
  task_failed = 3,     // the last of its tries, too
  review_wanted = 4,   // its sender says that people should look at the answer
  debate = 5,          // two agents do not agree (core/debates)
  critical = 6,        // a critical message, which was delivered all the same
  low_confidence = 7,  // of an answer
  requested = 8,       // an agent asked for it by a message
  blocked = 9,         // an agent is, or says nothing of what it was given
  expired = 10,        // nobody read the message while it lived
};
constexpr EscalationCause escalation_cause_last = EscalationCause::expired;

std::string_view cause_name(EscalationCause cause);

// Something that the agents could not settle among themselves.
struct Escalation {
  uint64_t id = 0;
  EscalationCause cause = EscalationCause::request_timed_out;
  Seq about;             // the message; its record is kept while the escalation is open
  std::string agent;     // who is waiting for a solution
  std::string receiver;  // who did not deliver; may be empty
  std::string why;
  Seq question{};  // of an answer that people should look at: what it answers
  Time since{};
  std::string resolution{};  // what was decided
  std::string resolved_by{};
  Time resolved_at{};
  uint64_t debate = 0;                   // that it is about; 0: none
  std::vector<std::string> people{};     // whom the agent's message named: they may decide, too
  std::vector<std::string> concerned{};  // who is told of the decision, besides `agent`

  bool is_open() const { return resolved_by.empty(); }
  const std::string& owner() const { return agent; }
  static void fields(auto& self, auto& field) {
    field("id", self.id);
    field("cause", self.cause, escalation_cause_last);
    field("about", self.about);
    field("agent", self.agent);
    field("receiver", self.receiver);
    field("why", self.why);
    field("question", self.question);
    field("since", self.since);
    field("resolution", self.resolution);
    field("resolved_by", self.resolved_by);
    field("resolved_at", self.resolved_at);
    field("debate", self.debate);
    field("people", self.people);
    field("concerned", self.concerned);
  }
  bool operator==(const Escalation&) const = default;
};

// The escalations of a workspace, by id: oldest first.
class Escalations {
 public:
  // Gives it its id, and returns that. Beyond `max` a resolved one goes.
  uint64_t add(Escalation escalation, uint64_t max);
  // Whether there may be another open one; or another one of the agent's, which has a share.
  bool has_room(const Rules& rules) const { return open() < rules.escalations_max; }
  bool has_room(const Rules& rules, std::string_view agent) const {
    return has_room(rules) && open_of(agent) < share_of(rules, rules.escalations_max);
  }
  size_t open_of(std::string_view agent) const { return cases_.open_of(agent); }
  // Whether people are to look at an answer of the agent's to this question.
  bool has_review(std::string_view agent, Seq question) const {
    return reviews_.contains({std::string(agent), question});
  }
  // There was no room for one.
  void count_dropped() { ++dropped_; }
  const Escalation* find(uint64_t id) const { return cases_.find(id); }
  void resolve(uint64_t id, std::string_view resolution, std::string_view by, Time at);
  // Whether one about this message is open.
  bool is_open_about(Seq message) const {
    const auto at = open_about_.lower_bound({message, 0});
    return at != open_about_.end() && at->first == message;
  }

  const std::map<uint64_t, Escalation>& all() const { return cases_.all(); }
  // The ids of those that the agent waits or waited for, oldest first; nullptr when there is none.
  const std::set<uint64_t>* of(std::string_view agent) const { return cases_.of(agent); }
  size_t size() const { return cases_.size(); }
  size_t open() const { return cases_.open(); }
  uint64_t dropped() const { return dropped_; }

  // The records that it still needs: what is not named by any table is lost with its segment.
  void add_live(std::vector<Seq>& seqs) const;

  void encode(Writer& out) const;
  bool decode(Reader& in);

 private:
  uint64_t dropped_ = 0;
  Cases<Escalation> cases_;  // by agent
  std::set<std::pair<Seq, uint64_t>> open_about_;
  std::set<std::pair<std::string, Seq>> reviews_;  // of open ones: agent and question
};

}  // namespace parley::core
