// SPDX-License-Identifier: Apache-2.0
#include "sim/checks/waiting/requests.h"

#include <algorithm>
#include <utility>

#include "sim/text.h"

namespace parley::sim {

void RequestChecks::begin(const Step& step, const core::Send& command) {
  if (command.outbox_item != 0) {
    pipelines_.check_stage(step, command);
  }
  const core::Envelope& e = command.envelope;
  const Seq seq = step.entry.seq;
  const bool to_many = !model_.messages.at(seq).topic.empty();
  core::Duration timeout = e.response_timeout.us > 0
                               ? e.response_timeout
                               : core::default_timeout(model_.rules, e.dialect, e.kind, to_many);
  if (command.gathering) {
    scatters_.begin(step, command);
    return;
  }
  const auto stage = std::ranges::find(model_.pipelines, seq,
                                       [](const auto& item) { return item.second.sent_at; });
  if (!command.later_stages.empty()) {
    timeout = timeout.us > 0 ? timeout : model_.rules.flow_request_timeout;
    pipelines_.begin(step, command, timeout);
  } else if (stage != model_.pipelines.end()) {
    timeout = stage->second.timeout;
  } else if (e.requires_ack && !core::asks(e.kind) && command.outbox_item == 0 &&
             (to_many || e.kind == core::Kind::broadcast)) {
    receipts_.begin_roll_call(step, e);
  } else if (e.requires_ack && !core::asks(e.kind) && command.outbox_item == 0) {
    receipts_.begin_receipt(step, e);
  }
  const bool is_stage = !command.later_stages.empty() || stage != model_.pipelines.end();
  if (core::asks(e.kind) && timeout.us > 0 && !is_held_back(step, command)) {
    // Superprompt's tasks are tried again without a word of their sender's.
    const bool is_tried = e.dialect == core::Dialect::superprompt && !is_stage &&
                          e.on_timeout == core::OnTimeout::fail;
    model_.requests[seq] = {std::string(e.sender),
                            model_.now + timeout,
                            timeout,
                            is_tried ? core::OnTimeout::retry : e.on_timeout,
                            0,
                            is_stage};
    if (!is_stage) {
      model_.messages.at(seq).timeout = timeout;
      model_.messages.at(seq).on_timeout = model_.requests[seq].on_timeout;
    }
    model_.coverage.count("pattern", "request");
  }
}

void RequestChecks::remove(std::string_view name) {
  scatters_.remove_owner(name);
  pipelines_.remove_owner(name);
  receipts_.remove_sender(name);
}

void RequestChecks::on_owed(const Step& step, const NamedEffect& effect) {
  using enum core::OutboxKind;
  const core::OutboxItem* const item = step.after.tables().outbox.find(effect.outbox_item);
  if (item == nullptr) {
    return;  // It is gone from the outbox again.
  }
  if (effect.outbox_kind == gathered) {
    scatters_.on_gathered(step, *item);
  } else if (effect.outbox_kind == stage) {
    pipelines_.on_stage_owed(*item, effect);
  } else if (effect.outbox_kind == pipeline_ended) {
    pipelines_.on_ended(step, *item);
  } else if (effect.outbox_kind == roll_called) {
    receipts_.on_roll_called(step, *item);
  } else {
    receipts_.on_receipt(step, *item);
  }
}

// A request that failed for everyone ends, unless the broker retried it in the same entry. Only the
// tables know which came first.
void RequestChecks::end_failed(const Step& step) {
  for (auto at = model_.requests.begin(); at != model_.requests.end();) {
    const bool failed = std::exchange(at->second.failed, false);
    const bool is_over = failed && (model_.messages.at(at->first).has_failed() ||
                                    step.after.tables().pending.find_request(at->first) == nullptr);
    at = is_over ? model_.requests.erase(at) : std::next(at);
  }
}

// One that failed for all in this entry is over, and `end_failed` has not come to it yet.
std::map<Seq, Request>::iterator RequestChecks::find_waiting(Seq seq) const {
  const auto at = model_.requests.find(seq);
  const bool is_over =
      at != model_.requests.end() && at->second.failed && model_.messages.at(seq).has_failed();
  return is_over ? model_.requests.end() : at;
}

void RequestChecks::stop_timer(Seq seq, Seq held) {
  if (seq == held) {
    receipts_.stop_timer(seq);
  }
  const auto at = model_.requests.find(seq);
  if (at == model_.requests.end() || at->second.held.n != 0) {
    return;
  }
  begin_pause(seq, at->second);  // Time passes before an answer comes.
  at->second.held = held;
  at->second.left = at->second.due - model_.now;
  at->second.due = base::time_max;
  model_.coverage.count("timer", seq == held ? "of what waits itself" : "stopped");
}

void RequestChecks::start_timer(Seq seq, Seq held) {
  if (seq == held) {
    receipts_.start_timer(seq);
  }
  const auto at = model_.requests.find(seq);
  if (at != model_.requests.end() && at->second.held == held) {
    at->second.held = {};
    at->second.due = model_.now + at->second.left;
    model_.coverage.count("timer", "goes on");
  }
}

// What was waited for before is waited for again, and the answer of another stops no timer.
void RequestChecks::reassign(Seq seq, bool is_moved) {
  SentMessage& sent = model_.messages.at(seq);
  const auto at = model_.requests.find(seq);
  if (at == model_.requests.end() && sent.timeout.us > 0) {
    model_.requests[seq] = {
        sent.sender, model_.now + sent.timeout, sent.timeout, sent.on_timeout, 0, false};
    sent.timed_out = false;
    sent.answered = false;
    sent.asks = false;  // Its thread does not wait for it again.
    model_.coverage.count("timer", "of a task that failed");
  } else if (at != model_.requests.end() && at->second.held.n != 0 && at->second.held != seq &&
             is_moved) {
    Request& request = at->second;
    request.held = {};
    request.left = {};
    request.pauses = false;
    request.reported = false;
    request.due = model_.now + request.timeout;
    model_.coverage.count("timer", "of another");
  }
}

bool RequestChecks::try_again(Seq seq, const std::string& by, bool is_wish) {
  const auto at = find_waiting(seq);
  if (at == model_.requests.end()) {
    return false;
  }
  Request& request = at->second;
  const SentMessage& asked = model_.messages.at(seq);
  const bool is_tried = asked.dialect == core::Dialect::superprompt && request.held.n == 0 &&
                        model_.asked_alone(asked) == by;
  const auto pause = is_tried ? pause_of(seq, request, model_.rules) : std::nullopt;
  if (!pause) {
    const bool is_last = is_tried && !is_wish && request.on_timeout == core::OnTimeout::retry;
    model_.coverage.count("failure", is_last ? "of the last try" : "passed on");
    if (is_last) {
      expect_failure(seq);
    }
    return is_last;
  }
  model_.coverage.count("failure", text("of try {}", request.retries + 1));
  begin_pause(seq, request);
  model_.coverage.count("failure", request.pauses ? "in the pause" : "tried again");
  if (!request.pauses) {  // Else its time was over before, and the pause goes on.
    request.pauses = true;
    request.due = model_.now + *pause;
  }
  request.reported = true;
  return true;
}

void RequestChecks::extend(const Step& step, Seq seq, core::Duration more) {
  Request& request = model_.requests.at(seq);
  begin_pause(seq, request);
  request.extension.us += more.us;
  if (request.extension > model_.rules.superprompt_extension_max || more.us <= 0) {
    model_.fail(Check::wait, step,
                text("request {} is extended by {} us in all, at most {}", seq.n,
                     request.extension.us, model_.rules.superprompt_extension_max.us));
  }
  // Who asks in the pause before the next try is still at work.
  model_.coverage.count("extension", request.pauses ? "in the pause" : "given");
  request.due = (request.pauses ? model_.now : request.due) + more;
  request.pauses = false;
  request.extended_at = step.entry.seq;
}

bool RequestChecks::is_held_by(Seq request, const std::string& sender) const {
  const auto at = model_.requests.find(request);
  const auto answer =
      at == model_.requests.end() ? model_.messages.end() : model_.messages.find(at->second.held);
  return answer != model_.messages.end() && answer->second.sender == sender;
}

RequestChecks::Waits RequestChecks::waits_for(Seq request, Seq held) const {
  const auto at = find_waiting(request);
  if (at == model_.requests.end()) {
    return receipts_.is_awaited(request) ? Waits::for_others : Waits::no_more;
  }
  return at->second.held == held ? Waits::for_this : Waits::for_others;
}

void RequestChecks::expect_notice(const std::string& sender, Seq request) {
  unreported_[sender] += model_.was_sender(sender, request) ? 1 : 0;
}

// People do not allow the only answer that it could have.
void RequestChecks::on_failed(const NamedEffect& effect) {
  const auto at = model_.requests.find(effect.message);
  if (!at->second.is_stage) {
    expect_notice(at->second.sender, effect.message);
  }
  model_.messages.at(effect.message).timed_out = true;
  model_.requests.erase(at);
}

void RequestChecks::on_timed_out(const Step& step, const NamedEffect& effect) {
  const auto at = model_.requests.find(effect.message);
  if (at != model_.requests.end() && effect.is_final && failing_.erase(effect.message) > 0) {
    on_failed(effect);
    return;
  }
  if (at == model_.requests.end() || at->second.due > model_.now ||
      (at->second.failed && model_.messages.at(effect.message).has_failed())) {
    model_.fail(Check::wait, step, text("{} times out, and should not", effect.message.n));
    return;
  }
  Request& request = at->second;
  const std::optional<core::Duration> pause = pause_of(effect.message, request, model_.rules);
  const bool hurried = pause && pause->us > 0 && !request.pauses;
  if (hurried || pause.has_value() == effect.is_final) {
    model_.fail(Check::wait, step, text("{} is given up, or not, as it should", effect.message.n));
  }
  model_.coverage.count("timeout", effect.is_final ? "final" : "retried");
  if (!request.reported) {
    presence_.note_unanswered(step, effect.message, request);
  }
  if (effect.is_final) {
    unreported_[request.sender] +=
        !request.is_stage && model_.was_sender(request.sender, effect.message) ? 1 : 0;
    model_.messages.at(effect.message).timed_out = true;
    model_.requests.erase(at);
    return;
  }
  ++request.retries;
  request.pauses = false;
  request.reported = false;
  request.due = model_.now + request.timeout;
  ask_again(step, model_.messages.at(effect.message));
}

// Who acknowledged the request or holds it gets it again.
void RequestChecks::ask_again(const Step& step, SentMessage& sent) {
  const bool keeps_its_end = sent.dialect == core::Dialect::collab;
  const std::string alone = model_.asked_alone(sent);
  for (Delivery& delivery : sent.deliveries) {
    if (!alone.empty() && delivery.receiver != alone) {
      continue;  // Another agent has the task now.
    }
    if (delivery.state == State::acked && model_.is_registered(delivery.receiver) &&
        (!keeps_its_end || sent.expires > model_.now) &&
        // Time passes first: what this entry sends takes no room yet.
        model_.unsettled_of(delivery.receiver, step.entry.seq) <
            model_.places_for(sent, delivery.receiver)) {
      delivery.state = State::queued;
      delivery.attempts = 0;
      delivery.revivals = 0;
      delivery.touched = step.entry.seq;
      if (!keeps_its_end) {
        model_.renew_ttl(step, sent);
      }
    } else if (core::is_held(delivery.state)) {
      delivery.state = State::queued;
      delivery.stream = core::stream_none;
      delivery.mark = {};
      delivery.former = {};
      delivery.touched = step.entry.seq;
    }
  }
}

// How long the broker pauses before it asks once more. Nothing: it does not ask again.
std::optional<core::Duration> RequestChecks::pause_of(Seq message, const Request& request,
                                                      const core::Rules& rules) const {
  const SentMessage& sent = model_.messages.at(message);
  if (request.on_timeout != core::OnTimeout::retry) {
    return std::nullopt;
  }
  if (sent.dialect == core::Dialect::collab) {
    const core::Delays& delays = rules.collab_retry_delays;
    return sent.topic.empty() && request.retries < delays.count
               ? std::optional(delays.pauses[request.retries])
               : std::nullopt;
  }
  if (sent.dialect == core::Dialect::superprompt) {
    const core::Delays& delays = rules.superprompt_retry_delays;
    const uint64_t max = std::min(delays.count, rules.superprompt_retries_max);
    return sent.topic.empty() && request.retries < max
               ? std::optional(delays.pauses[request.retries])
               : std::nullopt;
  }
  return request.retries < rules.flow_request_retries ? std::optional(core::Duration{})
                                                      : std::nullopt;
}

void RequestChecks::check_notices(const Step& step) {
  if (const auto* gone = done<core::Unregister>(step)) {
    unreported_.erase(std::string(gone->name));  // There is no one to tell.
  }
  for (const auto& [sender, count] : std::exchange(unreported_, {})) {
    if (count != model_.outbox.summed_up(sender, core::OutboxKind::request_timed_out) +
                     model_.outbox.summed_up(sender, core::OutboxKind::task_failed)) {
      model_.fail(Check::wait, step, text("{} is not told of {} timeouts", sender, count));
    }
  }
}

void RequestChecks::check_overdue(const Step& step) {
  pipelines_.check(step);
  check_overdue_requests(step);
  check_timers(step);
  rules_ = model_.rules;
  receipts_.check(step);
  scatters_.check(step);
}

void RequestChecks::check_overdue_requests(const Step& step) {
  if (!passes_time(step)) {
    return;
  }
  for (auto& [seq, request] : model_.requests) {
    begin_pause(seq, request);
    if (request.due <= model_.now) {
      model_.fail(Check::wait, step, text("request {} is overdue", seq.n));
    }
  }
}

// Where its time is over, the broker may pause before it asks once more.
void RequestChecks::begin_pause(Seq seq, Request& request) {
  const auto pause = pause_of(seq, request, rules_);
  if (request.due <= model_.now && pause && pause->us > 0 && !request.pauses) {
    request.pauses = true;
    request.due = model_.now + *pause;
    model_.coverage.count("timeout", "paused");
  }
}

// What is waited for is due when the broker says.
void RequestChecks::check_timers(const Step& step) {
  for (const Seq seq : std::exchange(failing_, {})) {
    model_.fail(Check::wait, step, text("request {} has no answer to come, and goes on", seq.n));
  }
  for (const auto& [seq, request] : model_.requests) {
    const core::PendingRequest* const row = step.after.tables().pending.find_request(seq);
    if (row == nullptr) {
      model_.fail(Check::wait, step, text("request {} is waited for, and is over", seq.n));
      return;
    }
    if (row->retries != request.retries || row->pauses != request.pauses) {
      model_.fail(Check::wait, step,
                  text("request {} was tried {} times again{}, should be {}{}", seq.n, row->retries,
                       row->pauses ? " and pauses" : "", request.retries,
                       request.pauses ? " and pause" : ""));
    }
    if (row->extended != request.extension) {
      model_.fail(Check::wait, step,
                  text("request {} got {} us more, should be {}", seq.n, row->extended.us,
                       request.extension.us));
    }
    const Time due = step.stopped_runs && request.held.n != 0 ? model_.now + row->left : row->due;
    if (due != request.due) {
      model_.fail(Check::wait, step,
                  text("request {} is due at {}, should be at {}", seq.n, due.us, request.due.us));
    }
  }
}

}  // namespace parley::sim
