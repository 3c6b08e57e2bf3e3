// SPDX-License-Identifier: Apache-2.0
#include "sim/checks/waiting/tries.h"

#include <algorithm>

#include "sim/text.h"

namespace parley::sim {

namespace {

bool is_extension(const core::Envelope& e) {
  return e.type == "timeout_extension_request" && e.kind == core::Kind::notification &&
         e.sender != core::broker_sender;
}

}  // namespace

void TryChecks::learn_message(const Step& step, const core::Send& command) {
  const core::Envelope& e = command.envelope;
  if (answers_.question().n != 0 && e.status == core::Status::error && e.is_recoverable &&
      step.entry.actor != core::broker_name) {
    failure_ = Failure{.question = answers_.question(),
                       .answer = step.entry.seq,
                       .is_wish = e.needs_approval == core::NeedsApproval::message};
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
  check_refused(step);
  if (const auto* const send = done<core::Send>(step);
      send != nullptr && !step.outcome->duplicate && is_extension(send->envelope)) {
    extend(step, send->envelope);
  }
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
  if (!requests_.try_again(failure_->question, answer.sender, failure_->is_wish)) {
    return;
  }
  answer.is_superseded = true;
  answer.was_held = true;
  answer.passage = Passage::open;  // Nobody needs to decide on it.
  answers_.drop();
}

// After all effects: a request whose time was over before is not extended.
void TryChecks::extend(const Step& step, const core::Envelope& e) {
  const auto asked =
      std::find_if(model_.messages.rbegin(), model_.messages.rend(), [&](const auto& item) {
        return item.second.id == e.in_reply_to && find_delivery(item.second, e.sender) != nullptr;
      });
  const auto request =
      asked == model_.messages.rend() ? model_.requests.end() : model_.requests.find(asked->first);
  if (request == model_.requests.end() || request->second.held.n != 0 ||
      model_.asked_alone(asked->second) != e.sender) {
    model_.fail(Check::wait, step, text("{} gets more time, and has no such task", e.sender));
    return;
  }
  requests_.extend(step, request->first, e.response_timeout);
}

// A refusal says the truth. Time passes first, and may end what it is about: then it is another.
void TryChecks::check_refused(const Step& step) const {
  const auto* const send = asked<core::Send>(step);
  if (send == nullptr || step.outcome || !is_extension(send->envelope) ||
      step.outcome.error().code != base::Code::limit_reached ||
      !step.outcome.error().detail.starts_with("a task is extended")) {
    return;
  }
  const core::Envelope& e = send->envelope;
  model_.coverage.count("extension", "beyond the rule");
  const auto fits = [&](const auto& item) {
    const auto at = model_.messages.find(item.first);
    return at != model_.messages.end() && at->second.id == e.in_reply_to &&
           find_delivery(at->second, e.sender) != nullptr &&
           item.second.extension.us + e.response_timeout.us <=
               model_.rules.superprompt_extension_max.us;
  };
  if (std::ranges::any_of(model_.requests, fits)) {
    model_.fail(Check::wait, step, text("{} may have more time, and is refused", e.sender));
  }
}

}  // namespace parley::sim
