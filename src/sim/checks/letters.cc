// SPDX-License-Identifier: Apache-2.0
// What the broker does with dead letters by itself: looks at each in time, tries again what may
// help and not too often, asks a human about what is critical, discards what is old, raises alarms.

#include <algorithm>

#include "sim/checks/ledger.h"
#include "sim/text.h"

namespace parley::sim {

// A letter that was just told: when it must have been looked at, and whether it is one too many.
void Ledger::plan_retry(Letter& letter) {
  const int64_t distance = rules_.dead_letter_pass.us;
  letter.failed = now_;
  letter.look_by = Time{(now_.us / distance + 1) * distance};
  recent_letters_.push_back(now_);
  while (recent_letters_.size() > rules_.dead_letter_alert) {
    recent_letters_.pop_front();
  }
  const Time begin{now_.us - rules_.dead_letter_alert_window.us};
  const bool many = rules_.dead_letter_alert > 0 &&
                    recent_letters_.size() == rules_.dead_letter_alert &&
                    recent_letters_.front() > begin;
  if (many && (!alarmed_ || *alarmed_ <= begin)) {
    alarmed_ = now_;
    ++alarms_wanted_;
  }
}

void Ledger::on_letter_resolved(const Step& step, const Fact& fact) {
  const auto at = letters_.find(fact.letter);
  const auto sent = sent_.find(fact.message);
  Pair* const pair = at == letters_.end() ? nullptr : find(fact.message, at->second.receiver);
  constexpr std::array<std::string_view, 4> names = {"pending", "retried", "discarded",
                                                     "escalated"};
  coverage_.count("system", names[static_cast<size_t>(fact.resolution)]);
  if (at == letters_.end() || (at->second.reason != core::Reason::malformed && pair == nullptr)) {
    fail(Check::care, step, text("letter {} is resolved and not there", fact.letter));
    return;
  }
  const Letter& letter = at->second;
  if (fact.resolution == core::Resolution::retried && pair != nullptr) {
    const bool retryable = letter.reason == core::Reason::receiver_unavailable ||
                           letter.reason == core::Reason::queue_overflow;
    if (!retryable || ++pair->revivals > rules_.dead_letter_tries_max) {
      fail(Check::care, step, text("letter {} is tried again in vain", fact.letter));
    }
    revive(step, sent->second, *pair);
  } else if (fact.resolution == core::Resolution::escalated) {
    if (sent == sent_.end() || sent->second.priority != core::Priority::critical) {
      fail(Check::care, step, text("letter {} is not critical", fact.letter));
    }
  } else {
    const core::Duration ttl = sent == sent_.end() ? rules_.flow_ttl_normal : sent->second.ttl;
    const Time begun = sent == sent_.end() ? letter.failed : sent->second.begun;
    const bool is_old = ttl.us != 0 && begun + ttl + ttl <= now_;
    if (!is_old && !is_superseded(step, fact.message, letter.receiver)) {
      fail(Check::care, step, text("letter {} is not old", fact.letter));
    }
  }
}

// A new time to live, from now on.
void Ledger::renew(const Step& step, Sent& sent) const {
  if (sent.renewed != step.entry.seq) {
    sent.expires_before = sent.expires;
  }
  sent.renewed = step.entry.seq;
  sent.expires = sent.ttl.us > 0 ? now_ + sent.ttl : base::time_max;
}

// Of a delivery that waits again.
void Ledger::revive(const Step& step, Sent& sent, Pair& pair) {
  const bool is_open =
      std::ranges::any_of(sent.pairs, [](const Pair& each) { return !core::is_final(each.state); });
  sent.asks = sent.asks && (sent.watched || is_open);  // its thread does not wait for it again
  pair.state = State::queued;
  pair.attempts = 0;
  pair.touched = step.entry.seq;
  renew(step, sent);
}

void Ledger::check_care(const Step& step) {
  if (alarms_wanted_ != 0) {
    fail(Check::care, step, text("{} alarms too few", alarms_wanted_));
  }
  if (std::holds_alternative<core::StartNode>(step.entry.command)) {
    return;
  }
  for (const auto& [id, letter] : step.after.tables().dead_letters.all()) {
    const auto at = letters_.find(id);
    const bool waits = letter.resolution == core::Resolution::pending && !letter.inspected;
    if (at != letters_.end() && waits && at->second.look_by <= now_) {
      fail(Check::care, step, text("letter {} should have been looked at", id));
    }
  }
}

}  // namespace parley::sim
