// SPDX-License-Identifier: Apache-2.0
#include "sim/checks/waiting/tries.h"

#include "sim/text.h"

namespace parley::sim {

void TryChecks::learn_message(const Step& step, const core::Send& command) {
  const core::Envelope& e = command.envelope;
  if (answers_.question().n != 0 && e.status == core::Status::error && e.is_recoverable &&
      step.entry.actor != core::broker_name) {
    failure_ = Failure{.question = answers_.question(), .answer = step.entry.seq};
  }
}

void TryChecks::before(const NamedEffect& effect) {
  if (!failure_ || failure_->is_judged) {
    return;
  }
  const bool is_settled = effect.kind == NamedEffect::Kind::settled;
  const bool ends_question =
      is_settled && effect.message == failure_->question && effect.state == State::answered;
  const bool is_answer = (is_settled || effect.kind == NamedEffect::Kind::deliver) &&
                         effect.message == failure_->answer;
  if (ends_question || is_answer) {
    judge();
  }
}

void TryChecks::finish(const Step& step) {
  if (!failure_) {
    return;
  }
  if (!failure_->is_judged) {
    judge();
  }
  const SentMessage& answer = model_.messages.at(failure_->answer);
  if (answer.is_superseded && !answer.is_final()) {
    model_.fail(Check::wait, step,
                text("{} is to be tried again, and its failure passes on", failure_->question.n));
  }
  failure_.reset();
}

void TryChecks::judge() {
  failure_->is_judged = true;
  SentMessage& answer = model_.messages.at(failure_->answer);
  if (!requests_.try_again(failure_->question, answer.sender)) {
    return;
  }
  answer.is_superseded = true;
  answer.was_held = true;
  answer.passage = Passage::open;  // Nobody needs to decide on it.
  answers_.drop();
}

}  // namespace parley::sim
