// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "sim/model/model.h"

namespace parley::sim {

// Checks answers: what they answer, along chains of requests that were passed on, and how they are
// marked when they come too late or twice. Tells the model's requests, scatters and pipelines of
// them.
class AnswerChecks {
 public:
  explicit AnswerChecks(Model& model) : model_(model) {}

  void begin() {
    question_.reset();
    put_off_.reset();
    status_ = core::Status::unset;
  }
  // The answer of this entry waits for people: it ends nothing yet.
  void put_off() { put_off_ = std::exchange(question_, {}); }
  // The answer of this entry reaches nobody.
  void drop() {
    question_.reset();
    put_off_.reset();
  }
  // People have allowed the answer, which its sender gave before. It ends now what it would have
  // ended then.
  void pass_on(const SentMessage& answer, const std::string& by, core::Status status,
               bool is_modified);
  // A message, before it is accepted: whether it is an answer that is waited for.
  void learn(const core::Send& command) { is_waited_for_ = answers_request(command.envelope); }
  // The accepted message, before its effects: what it is the answer to.
  void learn_question(const Step& step, const core::Send& command);
  // The receiver answered the message, or the message failed for it.
  void note_answer(Seq message, const std::string& receiver);
  void note_failure(Seq message, const std::string& receiver);
  // The mark of an answer to this message cannot be checked with this entry.
  void forget_answer_to(Seq message);
  // After all effects.
  void check(const Step& step);

  // True when it is the first answer to a request that its sender got.
  bool answers_request(const core::Envelope& envelope) const;
  // The same of the newest message, as it was before the entry.
  bool is_waited_for() const { return is_waited_for_; }
  // True when the answer of this entry answers `message` for `by`, who passed it on.
  bool is_in_chain(Seq message, const std::string& by) const;
  // What the answer of this entry is to; zero: it is none.
  Seq question() const { return question_ ? question_->seq : Seq{}; }
  // True when people decide first on the answer of this entry, which `by` gives to `message`.
  bool waits_for_people(Seq message, const std::string& by) const {
    return put_off_ && put_off_->seq == message && put_off_->by == by;
  }
  // True when the answer that people allow with this entry is one of `by` to `message`.
  bool passes_on(Seq message, const std::string& by) const {
    return question_ && question_->is_allowed && question_->seq == message && question_->by == by;
  }

 private:
  // The message that an answer is to, as it stood before.
  struct Question {
    Seq seq;
    bool answered = false;  // By the one who answers.
    std::string by{};       // Who answers.
    Seq answer{};
    bool is_allowed = false;  // The answer waited for people, who allow it now.
    bool is_modified = false;
    bool has_known_mark = true;  // Else it came just before the end of what it answers, or after.
    // The requests that were passed on to come to it and by whom, the newest first. The same answer
    // answers them.
    std::vector<std::pair<Seq, std::string>> chain{};
  };

  void follow_chain(const std::set<std::string>& receivers);
  void check_chain(const Step& step);
  void check_mark(const Step& step);

  Model& model_;
  bool is_waited_for_ = false;
  core::Status status_ = core::Status::unset;  // Of the answer of the entry at hand.
  std::optional<Question> question_;           // Of the entry at hand.
  std::optional<Question> put_off_;            // Until people have decided on the answer.
};

}  // namespace parley::sim
