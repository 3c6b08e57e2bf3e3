// SPDX-License-Identifier: Apache-2.0
// What is waited for: requests, scatters and pipelines end as they were asked to, and in time.

#include <algorithm>
#include <utility>

#include "sim/checks/ledger.h"
#include "sim/text.h"

namespace parley::sim {

namespace {

bool is_good(core::Status status) {
  return status != core::Status::error && status != core::Status::declined;
}

}  // namespace

size_t Scattered::needed() const {
  switch (terms.strategy) {
    case core::Strategy::all:
      return answers.size();
    case core::Strategy::any:
      return 1;
    case core::Strategy::majority:
      return answers.size() / 2 + 1;
    case core::Strategy::quorum:
      return std::min<size_t>(terms.quorum, answers.size());
  }
  return 0;
}

size_t Scattered::count(Answer wanted) const {
  return static_cast<size_t>(
      std::ranges::count_if(answers, [wanted](const auto& item) { return item.second == wanted; }));
}

// After its pairs are known.
void Ledger::begin_waiting(const Step& step, const core::Send& command) {
  const core::Envelope& e = command.envelope;
  const Seq seq = step.entry.seq;
  const bool to_many = !sent_.at(seq).topic.empty();
  core::Duration timeout = e.response_timeout.us > 0
                               ? e.response_timeout
                               : core::default_timeout(rules_, e.dialect, e.kind, to_many);
  if (command.gathering) {
    Scattered scattered;
    scattered.terms = *command.gathering;
    if (scattered.terms.window.us == 0) {
      scattered.terms.window = rules_.flow_gather_window;
    }
    scattered.owner = e.sender;
    scattered.due = now_ + scattered.terms.window;
    for (const Pair& pair : sent_.at(seq).pairs) {
      scattered.answers[pair.receiver] = Answer::none;
    }
    scattered_[seq] = std::move(scattered);
    coverage_.count("pattern", "scatter");
    return;
  }
  const auto stage =
      std::ranges::find(piped_, seq, [](const auto& item) { return item.second.errand_done; });
  if (!command.later_stages.empty()) {
    timeout = timeout.us > 0 ? timeout : rules_.flow_request_timeout;
    begin_pipeline(step, command, timeout);
  } else if (stage != piped_.end()) {
    timeout = stage->second.timeout;
  } else if (e.requires_ack && !core::asks(e.kind) && command.outbox_item == 0 &&
             (to_many || e.kind == core::Kind::broadcast)) {
    begin_roll_call(step, e);
  } else if (e.requires_ack && !core::asks(e.kind) && command.outbox_item == 0) {
    const core::Duration patience =
        e.response_timeout.us > 0 ? e.response_timeout : sent_.at(seq).ttl;
    wanted_[seq] = {std::string(e.sender), patience.us > 0 ? now_ + patience : base::time_max};
    coverage_.count("pattern", "receipt");
  }
  const bool is_piped = !command.later_stages.empty() || stage != piped_.end();
  if (core::asks(e.kind) && timeout.us > 0 && !is_held_back(step, command)) {
    asked_[seq] = {std::string(e.sender), now_ + timeout, timeout, e.on_timeout, 0, is_piped};
    coverage_.count("pattern", "request");
  }
}

// The answer to `message` by `receiver`.
void Ledger::note_answer(const Step& step, Seq message, const std::string& receiver) {
  const auto* send = done<core::Send>(step);
  const core::Status status = send == nullptr ? core::Status::unset : send->envelope.status;
  if (asked_.erase(message) > 0) {
    note_stage_answer(message, is_good(status) ? Answer::good : Answer::bad);
  }
  if (const auto at = scattered_.find(message); at != scattered_.end()) {
    Answer& answer = at->second.answers[receiver];
    const bool is_first = answer == Answer::none || answer == Answer::failed;  // or tried again
    answer = !is_first ? answer : is_good(status) ? Answer::good : Answer::bad;
  }
}

void Ledger::note_failure(Seq message, const std::string& receiver) {
  if (const auto at = scattered_.find(message); at != scattered_.end()) {
    Answer& answer = at->second.answers[receiver];
    answer = answer != Answer::none ? answer : Answer::failed;
  }
  if (const auto at = asked_.find(message); at != asked_.end()) {
    at->second.failed = at->second.failed || has_failed(message);
  }
}

bool Ledger::has_failed(Seq message) const {
  return std::ranges::all_of(sent_.at(message).pairs,
                             [](const Pair& pair) { return pair.state >= State::expired; });
}

// After all is told. What failed for everyone ends; unless the broker tried it again in the same
// entry, where only the tables know which came first.
void Ledger::end_failed(const Step& step) {
  for (auto at = asked_.begin(); at != asked_.end();) {
    const bool failed = std::exchange(at->second.failed, false);
    const bool is_over = failed && (has_failed(at->first) ||
                                    step.after.tables().patterns.find_wait(at->first) == nullptr);
    at = is_over ? asked_.erase(at) : std::next(at);
  }
}

void Ledger::on_timed_out(const Step& step, const Fact& fact) {
  const auto at = asked_.find(fact.message);
  if (at == asked_.end() || at->second.due > now_ ||
      (at->second.failed && has_failed(fact.message))) {
    fail(Check::wait, step, text("{} times out, and should not", fact.message.n));
    return;
  }
  Asked& asked = at->second;
  const std::optional<core::Duration> pause = pause_of(fact.message, asked);
  const bool hurried = pause && pause->us > 0 && !asked.pauses;
  if (hurried || pause.has_value() == fact.is_final) {
    fail(Check::wait, step, text("{} is given up, or not, as it should", fact.message.n));
  }
  coverage_.count("timeout", fact.is_final ? "final" : "retried");
  note_unanswered(step, fact.message);
  if (fact.is_final) {
    timeouts_untold_[asked.sender] += !asked.is_piped && is_registered(asked.sender) ? 1 : 0;
    sent_.at(fact.message).timed_out = true;
    asked_.erase(at);
    return;
  }
  ++asked.retries;
  asked.pauses = false;
  asked.due = now_ + asked.timeout;
  Sent& sent = sent_.at(fact.message);
  const bool keeps_its_end = sent.dialect == core::Dialect::collab;
  const std::string alone = asked_alone(sent);
  for (Pair& pair : sent.pairs) {
    if (!alone.empty() && pair.receiver != alone) {
      continue;  // its task is another's
    }
    if (pair.state == State::acked && is_registered(pair.receiver) &&
        (!keeps_its_end || sent.expires > now_) &&
        // What this entry sends comes after what was due.
        unsettled_of(pair.receiver, step.entry.seq) < rules_.queue_max) {
      pair.state = State::queued;
      pair.attempts = 0;
      pair.revivals = 0;
      pair.touched = step.entry.seq;
      if (!keeps_its_end) {
        renew(step, sent);
      }
    } else if (core::is_held(pair.state)) {
      pair.state = State::queued;
      pair.stream = core::stream_none;
      pair.mark = {};
      pair.former = {};
      pair.touched = step.entry.seq;
    }
  }
}

// How long the broker waits before it asks once more; nothing when it does not.
std::optional<core::Duration> Ledger::pause_of(Seq message, const Asked& asked) const {
  const Sent& sent = sent_.at(message);
  if (asked.on_timeout != core::OnTimeout::retry) {
    return std::nullopt;
  }
  if (sent.dialect == core::Dialect::collab) {
    const core::Delays& delays = rules_.collab_retry_delays;
    return sent.topic.empty() && asked.retries < delays.count
               ? std::optional(delays.pauses[asked.retries])
               : std::nullopt;
  }
  return asked.retries < rules_.flow_request_retries ? std::optional(core::Duration{})
                                                     : std::nullopt;
}

uint64_t Ledger::unsettled_of(const std::string& receiver, Seq except) const {
  uint64_t count = 0;
  for (const auto& [seq, sent] : sent_) {
    for (const Pair& pair : sent.pairs) {
      // What is tried again waits outside, until it is handed out.
      const bool is_outside = pair.tried && !core::is_held(pair.state);
      const bool takes_room = !core::is_final(pair.state) && !is_outside && pair.made != except;
      count += pair.receiver == receiver && takes_room ? 1 : 0;
    }
  }
  return count;
}

void Ledger::note_owed(const Step& step, const Fact& fact) {
  const core::OutboxItem* const item = step.after.tables().outbox.find(fact.outbox_item);
  if (fact.outbox_kind == core::OutboxKind::request_timed_out) {
    --timeouts_untold_[fact.receiver];
  } else if (fact.outbox_kind == core::OutboxKind::deadlock_warned) {
    warned_ = true;
  } else if (fact.outbox_kind == core::OutboxKind::gathered && item != nullptr) {
    const auto at = scattered_.find(item->about);
    if (at == scattered_.end() || at->second.owner != fact.receiver) {
      fail(Check::wait, step, "something is gathered that was not scattered, or twice");
      return;
    }
    const Scattered& scattered = at->second;
    const size_t possible = scattered.count(Answer::good) + scattered.count(Answer::none);
    const bool enough = scattered.count(Answer::good) >= scattered.needed();
    if (!enough && possible >= scattered.needed() && scattered.due > now_) {
      fail(Check::wait, step, text("scatter {} ends too early", at->first.n));
    }
    coverage_.count("gathered", enough ? "enough" : "not enough");
    sent_.at(at->first).timed_out = true;
    const bool ends_chain =
        question_ && !question_->chain.empty() && question_->chain.back().first == at->first;
    if (ends_chain || (question_ && question_->seq == at->first)) {
      question_.reset();  // by this answer or just before it: both may be
    }
    scattered_.erase(at);
  } else if (fact.outbox_kind == core::OutboxKind::stage && item != nullptr) {
    piped_[core::pipeline_of(*item)].owed = fact.outbox_item;
    coverage_.count("pattern", "stage");
  } else if (fact.outbox_kind == core::OutboxKind::roll_called && item != nullptr) {
    on_roll_called(step, *item);
  } else if ((fact.outbox_kind == core::OutboxKind::acknowledged ||
              fact.outbox_kind == core::OutboxKind::not_acknowledged) &&
             item != nullptr) {
    on_receipt(step, *item);
  } else if (fact.outbox_kind == core::OutboxKind::pipeline_ended && item != nullptr) {
    on_pipeline_ended(step, *item);
  }
}

void Ledger::check_waiting(const Step& step) {
  if (const auto* gone = done<core::Unregister>(step)) {
    timeouts_untold_.erase(std::string(gone->name));  // there is no one to tell
  }
  for (const auto& [sender, count] : std::exchange(timeouts_untold_, {})) {
    if (count != summed_up(sender, core::OutboxKind::request_timed_out)) {
      fail(Check::wait, step, text("{} is not told of {} timeouts", sender, count));
    }
  }
  check_chain(step);
  check_mark(step);
  check_pipelines(step);
  if (std::holds_alternative<core::StartNode>(step.entry.command)) {
    return;  // lets no time pass
  }
  for (auto& [seq, asked] : asked_) {
    const auto pause = pause_of(seq, asked);
    if (asked.due <= now_ && pause && pause->us > 0 && !asked.pauses) {
      asked.pauses = true;
      asked.due = now_ + *pause;
      coverage_.count("timeout", "paused");
    }
    if (asked.due <= now_) {
      fail(Check::wait, step, text("request {} is overdue", seq.n));
    }
  }
  check_roll_calls(step);
  check_receipts(step);
  check_gathers(step);
}

void Ledger::check_gathers(const Step& step) {
  for (auto& [seq, scattered] : scattered_) {
    const bool extends = scattered.terms.on_partial == core::OnPartial::extend_timeout;
    if (scattered.due <= now_ && extends && !scattered.extended) {
      scattered.extended = true;
      scattered.due = now_ + scattered.terms.window;
    }
    const size_t good = scattered.count(Answer::good);
    const bool over = good >= scattered.needed() ||
                      good + scattered.count(Answer::none) < scattered.needed() ||
                      scattered.due <= now_;
    if (over && is_registered(scattered.owner)) {
      fail(Check::wait, step, text("scatter {} should be over", seq.n));
    }
  }
}

}  // namespace parley::sim
