// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "sim/checks/waiting/answers.h"
#include "sim/checks/waiting/requests.h"
#include "sim/model/model.h"

namespace parley::sim {

// Checks messages that wait for people: none is handed out before they have allowed it, none ever
// that they did not allow, and none that they changed before its receiver was handed what they
// decided. An answer ends its request when it passes on, and the timer of that
// request stands still until then. Who decides, and how, is checked with all approvals.
class HeldChecks {
 public:
  HeldChecks(Model& model, AnswerChecks& answers, RequestChecks& requests)
      : model_(model), answers_(answers), requests_(requests) {}

  // Before the effects: what is decided with this entry, or by nobody in time.
  void learn(const Step& step);
  // The same: a new message may have to wait.
  void learn_message(const Step& step, const core::Send& command);
  // Before each effect: what people decided acts among the effects of the entry, at its place.
  void before(const Step& step, const NamedEffect& effect);
  // After all effects: what has not acted yet does now, and what a new message holds up is held up.
  void finish(const Step& step);
  void check(const Step& step);

 private:
  // A message that people have not decided on. It may be forgotten before they do.
  struct Waiting {
    std::string sender;
    Seq question;  // That it answers; zero: none.
    core::Status status = core::Status::unset;
    Time deadline{};
    bool is_changed = false;  // People decided so, and its receivers are told that first.
  };

  core::ApprovalState decided(const Step& step, Seq message, const Waiting& waiting) const;
  void learn_decision(const Step& step, const core::Send& command);
  void note_owed(const Step& step, const NamedEffect& effect);
  void begin(const Step& step, const core::Envelope& envelope);
  void end(const Step& step, Seq message);
  void pass_on(const Step& step, SentMessage& sent, const Waiting& waiting, bool is_modified);
  void fail_question(Seq message, const Waiting& waiting);
  void check_barred(const Step& step, const SentMessage& sent) const;

  Model& model_;
  AnswerChecks& answers_;
  RequestChecks& requests_;
  std::map<Seq, Waiting> waiting_;  // By message.
  // Of the entry at hand: what is decided and has not acted yet.
  std::map<Seq, core::ApprovalState> decided_;
  std::set<Seq> barred_;  // Those that do not pass, decided with this entry.
  std::set<Seq> modified_;
  // What the broker has to say of a change, by outbox item: of which message, and to whom.
  std::map<uint64_t, std::pair<Seq, std::string>> changes_;
};

// What answers to the message must have of confidence, in parts per million, or people decide.
int32_t decided_below(const core::Envelope& envelope);

// True when this entry takes the message from all its receivers, because people do not allow it.
bool is_withdrawn(const SentMessage& sent);

}  // namespace parley::sim
