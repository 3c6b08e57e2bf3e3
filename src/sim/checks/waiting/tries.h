// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "sim/checks/waiting/answers.h"
#include "sim/checks/waiting/requests.h"
#include "sim/model/model.h"

namespace parley::sim {

// Checks failures that another try may mend: while there are tries left, nobody gets such an
// answer, and its sender gets the task again after the pause that is due. The last one passes on as
// any answer. RequestChecks holds the tries to their number and their pauses. Who has a task gets
// more time for it, in all no more than the rule says.
class TryChecks {
 public:
  TryChecks(Model& model, AnswerChecks& answers, RequestChecks& requests)
      : model_(model), answers_(answers), requests_(requests) {}

  // A new message, before its effects: it may be such an answer.
  void learn_message(const Step& step, const core::Send& command);
  // Before each effect, and after all: time passes first, which may have used a try.
  void before(const NamedEffect& effect);
  void finish(const Step& step);

 private:
  struct Failure {
    Seq question;
    Seq answer;
    bool is_wish = false;  // Its sender wants people to approve it.
    bool is_judged = false;
  };

  void judge();
  void extend(const Step& step, const core::Envelope& envelope);
  void check_refused(const Step& step) const;

  Model& model_;
  AnswerChecks& answers_;
  RequestChecks& requests_;
  std::optional<Failure> failure_;  // Of the entry at hand.
};

}  // namespace parley::sim
