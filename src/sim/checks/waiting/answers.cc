// SPDX-License-Identifier: Apache-2.0
#include "sim/checks/waiting/answers.h"

#include <algorithm>

#include "sim/text.h"

namespace parley::sim {

namespace {

bool is_good(core::Status status) {
  return status != core::Status::error && status != core::Status::declined;
}

}  // namespace

bool AnswerChecks::answers_request(const core::Envelope& e) const {
  const auto question =
      std::find_if(model_.messages.rbegin(), model_.messages.rend(), [&](const auto& item) {
        return item.second.id == e.in_reply_to &&
               std::ranges::find(item.second.deliveries, e.sender, &Delivery::receiver) !=
                   item.second.deliveries.end();
      });
  return e.kind == core::Kind::response && question != model_.messages.rend() &&
         core::asks(question->second.kind) &&
         std::ranges::find(question->second.deliveries, e.sender, &Delivery::receiver)->state !=
             State::answered;
}

// Of several messages with one id, an answer is to the newest that its sender received.
void AnswerChecks::learn_question(const Step& step, const core::Send& command) {
  const core::Envelope& e = command.envelope;
  if (e.kind != core::Kind::response) {
    return;
  }
  for (auto at = model_.messages.rbegin(); at != model_.messages.rend(); ++at) {
    const Delivery* const delivery = find_delivery(at->second, std::string(step.entry.actor));
    if (at->second.id == e.in_reply_to && delivery != nullptr) {
      question_ = Question{.seq = at->first,
                           .answered = delivery->state == State::answered,
                           .by = std::string(step.entry.actor),
                           .answer = step.entry.seq};
      status_ = e.status;
      if (step.outcome) {
        follow_chain({e.receivers.begin(), e.receivers.end()});
      }
      return;
    }
  }
}

void AnswerChecks::pass_on(const SentMessage& answer, const std::string& by, core::Status status,
                           bool is_modified) {
  const Delivery* const delivery = model_.find(answer.question, by);
  question_ = Question{.seq = answer.question,
                       .answered = delivery != nullptr && delivery->state == State::answered,
                       .by = by,
                       .answer = answer.seq,
                       .is_allowed = true,
                       .is_modified = is_modified};
  status_ = status;
  std::set<std::string> receivers;
  for (const Delivery& each : answer.deliveries) {
    if (!core::is_final(each.state)) {
      receivers.insert(each.receiver);
    }
  }
  follow_chain(receivers);
}

// An answer may go past the agent that asked, to the one that asked it before. It answers both
// requests then, and so on along the chain.
void AnswerChecks::follow_chain(const std::set<std::string>& receivers) {
  const auto gets = [&](const std::string& name) { return receivers.contains(name); };
  size_t count = 0;
  auto& chain = question_->chain;
  for (auto at = model_.messages.find(question_->seq);
       at->second.cause.n != 0 && !gets(at->second.sender);) {
    const std::string by = at->second.sender;
    at = model_.messages.find(at->second.cause);
    if (at == model_.messages.end()) {
      break;
    }
    chain.emplace_back(at->first, by);
    count = gets(at->second.asker) ? chain.size() : count;
  }
  chain.resize(count);
}

bool AnswerChecks::is_in_chain(Seq message, const std::string& by) const {
  return question_ &&
         std::ranges::find(question_->chain, std::pair{message, by}) != question_->chain.end();
}

void AnswerChecks::note_answer(Seq message, const std::string& receiver) {
  const core::Status status = status_;
  if (model_.requests.erase(message) > 0) {
    const auto pipeline = std::ranges::find(model_.pipelines, message,
                                            [](const auto& item) { return item.second.message; });
    if (pipeline != model_.pipelines.end()) {
      pipeline->second.answer = is_good(status) ? Answer::good : Answer::bad;
    }
  }
  if (const auto at = model_.scatters.find(message); at != model_.scatters.end()) {
    Answer& answer = at->second.answers[receiver];
    // After a failure the broker may have tried again.
    const bool is_first = answer == Answer::none || answer == Answer::failed;
    answer = !is_first ? answer : is_good(status) ? Answer::good : Answer::bad;
  }
}

void AnswerChecks::note_failure(Seq message, const std::string& receiver) {
  if (const auto at = model_.scatters.find(message); at != model_.scatters.end()) {
    Answer& answer = at->second.answers[receiver];
    answer = answer != Answer::none ? answer : Answer::failed;
  }
  if (const auto at = model_.requests.find(message); at != model_.requests.end()) {
    at->second.failed = at->second.failed || model_.messages.at(message).has_failed();
  }
}

void AnswerChecks::forget_answer_to(Seq message) {
  if (question_ && (question_->seq == message ||
                    (!question_->chain.empty() && question_->chain.back().first == message))) {
    question_->has_known_mark = false;
  }
}

void AnswerChecks::check(const Step& step) {
  check_chain(step);
  check_mark(step);
}

// All requests of a chain that was answered are answered.
void AnswerChecks::check_chain(const Step& step) {
  if (!question_) {
    return;
  }
  for (const auto& [message, by] : question_->chain) {
    const Delivery* const delivery = model_.find(message, by);
    if (delivery != nullptr &&
        (!core::is_final(delivery->state) || delivery->state == State::acked)) {
      model_.fail(Check::wait, step, text("{} was passed on and answered, and is not", message.n));
    }
    model_.coverage.count("pattern", "chain");
  }
}

// An answer is marked when it comes too late or once more, and only then.
void AnswerChecks::check_mark(const Step& step) {
  const core::Messages& messages = step.after.tables().messages;
  const core::MessageRef answer =
      question_ ? messages.find(question_->answer) : core::MessageRef{core::none};
  if (answer == core::none || !question_->has_known_mark) {
    return;
  }
  const Seq first = question_->chain.empty() ? question_->seq : question_->chain.back().first;
  if (!model_.messages.contains(first)) {
    return;  // It was settled with this entry and is forgotten.
  }
  const core::Mark expected = question_->is_modified                ? core::Mark::modified
                              : question_->answered                 ? core::Mark::duplicate
                              : model_.messages.at(first).timed_out ? core::Mark::late
                                                                    : core::Mark::plain;
  const core::Mark mark = messages.message(answer).mark;
  if (expected != (mark == step.unseen ? core::Mark::plain : mark)) {
    model_.fail(Check::wait, step,
                text("the answer to {} is late or another, and not marked so, or is "
                     "marked and neither",
                     question_->seq.n));
  }
  if (expected != core::Mark::plain) {
    model_.coverage.count("mark", expected == core::Mark::late       ? "late"
                                  : expected == core::Mark::modified ? "modified"
                                                                     : "duplicate");
  }
}

}  // namespace parley::sim
