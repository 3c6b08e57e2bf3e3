// SPDX-License-Identifier: Apache-2.0
#include "sim/checks/waiting/held.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "sim/text.h"

namespace parley::sim {

using core::ApprovalDecision;
using core::ApprovalState;

namespace {

constexpr int32_t all_answers = std::numeric_limits<int32_t>::max();

bool is_failure(core::Status status) {
  return status == core::Status::error || status == core::Status::declined;
}

const core::Approval* approval_of(const Step& step, Seq message) {
  for (const auto& [id, approval] : step.after.tables().approvals.all()) {
    if (approval.held == message) {
      return &approval;
    }
  }
  return nullptr;
}

ApprovalState state_after(ApprovalDecision decision) {
  switch (decision) {
    case ApprovalDecision::approve:
      return ApprovalState::approved;
    case ApprovalDecision::reject:
      return ApprovalState::rejected;
    case ApprovalDecision::modify:
      return ApprovalState::modified;
    case ApprovalDecision::withdraw:
      return ApprovalState::withdrawn;
  }
  return ApprovalState::pending;
}

}  // namespace

int32_t decided_below(const core::Envelope& e) {
  if (!core::asks(e.kind)) {
    return 0;
  }
  if (e.needs_approval == core::NeedsApproval::answer) {
    return all_answers;
  }
  // In squad who asks says how sure it is itself.
  return e.dialect == core::Dialect::squad ? 0 : std::max(e.confidence_ppm, 0);
}

bool is_withdrawn(const SentMessage& sent) {
  return sent.passage == Passage::barred && sent.passage_before == Passage::held;
}

void HeldChecks::learn(const Step& step) {
  decided_.clear();
  barred_.clear();
  modified_.clear();
  for (auto& [message, waiting] : waiting_) {
    const ApprovalState state = decided(step, message, waiting);
    // Those who get it hear of the change first. Only the tables know when they all have.
    const core::Approval* const row = approval_of(step, message);
    waiting.is_changed = state == ApprovalState::modified;
    const bool is_untold = waiting.is_changed && row != nullptr && row->is_open();
    if (state != ApprovalState::pending && !is_untold) {
      decided_.emplace(message, state);
    }
  }
}

// Time acts before the command of an entry does. Who is removed takes back what it asked.
ApprovalState HeldChecks::decided(const Step& step, Seq message, const Waiting& waiting) const {
  if (waiting.is_changed) {
    return ApprovalState::modified;
  }
  if (passes_time(step) && waiting.deadline <= model_.now) {
    return ApprovalState::expired;
  }
  const auto* const decide = done<core::DecideApproval>(step);
  if (decide != nullptr && step.outcome->message == message) {
    return state_after(decide->decision);
  }
  const auto* const gone = done<core::Unregister>(step);
  return gone != nullptr && gone->name == waiting.sender ? ApprovalState::withdrawn
                                                         : ApprovalState::pending;
}

// Only the sender's own wish holds an error up: it is no result.
void HeldChecks::learn_message(const Step& step, const core::Send& command) {
  learn_decision(step, command);
  const core::Envelope& e = command.envelope;
  SentMessage& sent = model_.messages.at(step.entry.seq);
  const auto question = model_.messages.find(answers_.question());
  const int32_t below = question == model_.messages.end() || is_failure(e.status)
                            ? 0
                            : question->second.approve_below;
  const bool is_unsure = below == all_answers || (below != 0 && e.confidence_ppm < below);
  const bool is_wish = e.needs_approval == core::NeedsApproval::message;
  if (step.entry.actor == core::broker_name || (!is_wish && !is_unsure)) {
    return;
  }
  model_.coverage.count("held", is_wish                ? "by its sender"
                                : below == all_answers ? "by who asked"
                                                       : "for its confidence");
  sent.passage = Passage::held;
  sent.was_held = true;
  sent.question = answers_.question();
  answers_.put_off();
}

// The broker says what people decided to one who gets the message with their change.
void HeldChecks::learn_decision(const Step& step, const core::Send& command) {
  const auto owed = changes_.find(command.outbox_item);
  if (command.outbox_item == 0 || owed == changes_.end()) {
    return;
  }
  const auto& [message, receiver] = owed->second;
  if (const auto sent = model_.messages.find(message); sent != model_.messages.end()) {
    sent->second.decisions[receiver] = step.entry.seq;
    model_.coverage.count("held", "change told");
  }
  changes_.erase(owed);
}

void HeldChecks::note_owed(const Step& step, const NamedEffect& effect) {
  const core::OutboxItem* const item = step.after.tables().outbox.find(effect.outbox_item);
  const int64_t id = item == nullptr ? 0 : fact_of<int64_t>(*item, "approval");
  const core::Approval* const row = step.after.tables().approvals.find(static_cast<uint64_t>(id));
  if (row != nullptr && row->state == ApprovalState::modified && row->held.n != 0 &&
      item->about == row->held) {
    changes_[effect.outbox_item] = {row->held, item->to};
  }
}

void HeldChecks::before(const Step& step, const NamedEffect& effect) {
  using Kind = NamedEffect::Kind;
  if (effect.kind == Kind::owed && effect.outbox_kind == core::OutboxKind::approval_decided) {
    note_owed(step, effect);
  }
  if (decided_.empty()) {
    return;
  }
  std::optional<Seq> acts;
  if (effect.kind == Kind::owed && effect.outbox_kind == core::OutboxKind::approval_decided) {
    const core::OutboxItem* const item = step.after.tables().outbox.find(effect.outbox_item);
    const auto id = item == nullptr ? 0 : fact_of<int64_t>(*item, "approval");
    const core::Approval* const row = step.after.tables().approvals.find(static_cast<uint64_t>(id));
    acts = row == nullptr ? std::nullopt : std::optional(row->held);
  } else if (effect.kind == Kind::deliver ||
             (effect.kind == Kind::settled && effect.state == State::dead) ||
             (effect.kind == Kind::letter_resolved &&
              effect.resolution == core::Resolution::discarded)) {
    acts = effect.message;
  } else if (effect.kind == Kind::timed_out ||
             (effect.kind == Kind::settled && effect.state == State::answered)) {
    const auto of = std::ranges::find_if(decided_, [&](const auto& item) {
      return waiting_.at(item.first).question == effect.message;
    });
    acts = of == decided_.end() ? std::nullopt : std::optional(of->first);
  }
  if (acts && decided_.contains(*acts)) {
    end(step, *acts);
  }
}

void HeldChecks::finish(const Step& step) {
  while (!decided_.empty()) {
    end(step, decided_.begin()->first);
  }
  const auto* const send = done<core::Send>(step);
  const auto sent = send == nullptr ? model_.messages.end() : model_.messages.find(step.entry.seq);
  if (sent != model_.messages.end() && sent->second.passage == Passage::held) {
    begin(step, send->envelope);
  }
}

// Whether its sender still had the request only the tables know: it may have lost that with this
// very entry, before it answered.
void HeldChecks::begin(const Step& step, const core::Envelope& e) {
  const Seq seq = step.entry.seq;
  SentMessage& sent = model_.messages.at(seq);
  const core::Approval* const row = approval_of(step, seq);
  if (row == nullptr || row->record != seq || row->asker != e.sender ||
      (row->question.n != 0 && row->question != sent.question)) {
    model_.fail(Check::approval, step, text("people are not asked about {}", seq.n));
    return;
  }
  const Delivery* const given = model_.find(sent.question, sent.sender);
  const bool is_asked = given != nullptr && given->is_acknowledged();
  if (sent.question.n != 0 && is_asked != (row->question.n != 0)) {
    model_.fail(Check::approval, step,
                text("the answer {} waits for people, and what it answers does not", seq.n));
  }
  if (is_asked && requests_.is_held_by(sent.question, sent.sender)) {
    model_.fail(Check::approval, step,
                text("{} has two answers that wait for people", sent.sender));
  }
  sent.question = row->question;
  const base::Duration time = model_.rules.approval_timeout;
  waiting_[seq] = {.sender = sent.sender,
                   .question = sent.question,
                   .status = e.status,
                   .deadline = model_.now + time};
  if (sent.question.n == 0) {
    requests_.stop_timer(seq, seq);
    return;
  }
  requests_.stop_timer(sent.question, seq);
  // An answer lives for as long as people have.
  if (sent.expires <= model_.now + time) {
    sent.expires = sent.expires_before = model_.now + time + base::hours(1);
  }
}

void HeldChecks::end(const Step& step, Seq message) {
  const ApprovalState state = decided_.at(message);
  const Waiting waiting = waiting_.at(message);
  decided_.erase(message);
  waiting_.erase(message);
  const auto sent = model_.messages.find(message);
  const bool is_there = sent != model_.messages.end();
  const bool is_modified = state == ApprovalState::modified;
  const bool is_allowed = state == ApprovalState::approved || is_modified;
  model_.coverage.count("held", core::approval_state_words[state]);
  if (is_there) {
    sent->second.passage = is_allowed ? Passage::open : Passage::barred;
  }
  // Who is removed with this entry gets it no more, though its delivery ends only behind this.
  const auto* const gone = done<core::Unregister>(step);
  const auto is_open = [gone](const Delivery& each) {
    return !each.is_final() && (gone == nullptr || each.receiver != gone->name);
  };
  if (is_allowed && is_there && std::ranges::any_of(sent->second.deliveries, is_open)) {
    pass_on(step, sent->second, waiting, is_modified);
    return;
  }
  if (!is_allowed) {
    barred_.insert(message);
  }
  // Who takes its answer back may answer in other words.
  const bool is_taken_back =
      state == ApprovalState::withdrawn && done<core::DecideApproval>(step) != nullptr;
  if (waiting.question.n != 0 && !is_taken_back && !is_allowed) {
    fail_question(message, waiting);
  }
  requests_.start_timer(waiting.question, message);
  requests_.start_timer(message, message);
}

void HeldChecks::pass_on(const Step& step, SentMessage& sent, const Waiting& waiting,
                         bool is_modified) {
  requests_.start_timer(waiting.question, sent.seq);  // An answer ends it.
  requests_.start_timer(sent.seq, sent.seq);
  if (is_modified) {
    modified_.insert(sent.seq);
  }
  if (model_.find(waiting.question, waiting.sender) != nullptr) {
    answers_.pass_on(sent, waiting.sender, waiting.status, is_modified);
    model_.renew_ttl(step, sent);
    model_.coverage.count("held", "answer passed");
  }
}

// Whoever waits for the answer gets none, unless others may still give one.
void HeldChecks::fail_question(Seq message, const Waiting& waiting) {
  const auto question = model_.messages.find(waiting.question);
  if (question == model_.messages.end()) {
    return;
  }
  const bool has_others =
      std::ranges::any_of(question->second.deliveries, [&](const Delivery& each) {
        return each.receiver != waiting.sender && model_.is_registered(each.receiver) &&
               (!each.is_final() || each.state == State::acked);
      });
  switch (requests_.waits_for(waiting.question, message)) {
    case RequestChecks::Waits::for_this:
      if (!has_others) {
        requests_.expect_failure(waiting.question);
        model_.coverage.count("held", "request failed");
      } else {
        model_.coverage.count("held", "others may answer");
      }
      return;
    case RequestChecks::Waits::for_others:
      model_.coverage.count("held", "others may answer");
      return;
    case RequestChecks::Waits::no_more:
      if (!question->second.timed_out && !question->second.answered) {
        requests_.expect_notice(question->second.sender, waiting.question);
        model_.coverage.count("held", "failure told");
      }
      return;
  }
}

void HeldChecks::check(const Step& step) {
  for (const Seq message : barred_) {
    if (const auto sent = model_.messages.find(message); sent != model_.messages.end()) {
      check_barred(step, sent->second);
    }
  }
  const core::Messages& messages = step.after.tables().messages;
  for (const Seq message : modified_) {
    const core::MessageRef ref = messages.find(message);
    if (ref != core::none && messages.message(ref).mark != core::Mark::modified) {
      model_.fail(Check::approval, step,
                  text("{} passes on with a change, and does not say so", message.n));
    }
  }
}

// What people do not allow waits for nobody any more, and no dead letter of it may be tried again.
void HeldChecks::check_barred(const Step& step, const SentMessage& sent) const {
  for (const Delivery& delivery : sent.deliveries) {
    if (!core::is_final(delivery.state)) {
      model_.fail(Check::approval, step,
                  named(sent.seq, delivery.receiver) + " is not allowed, and waits");
    }
  }
  for (const auto& [id, letter] : step.after.tables().dead_letters.all()) {
    if (letter.message == sent.seq && letter.is_open()) {
      model_.fail(Check::approval, step,
                  text("{} is not allowed, and its dead letter {} is open", sent.seq.n, id));
    }
  }
}

}  // namespace parley::sim
