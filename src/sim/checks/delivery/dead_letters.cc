// SPDX-License-Identifier: Apache-2.0
#include "sim/checks/delivery/dead_letters.h"

#include <algorithm>
#include <array>
#include <ranges>
#include <utility>

#include "sim/checks/delivery/shares.h"
#include "sim/checks/groups/tasks.h"
#include "sim/checks/waiting/held.h"
#include "sim/text.h"

namespace parley::sim {

void DeadLetterChecks::begin() {
  pending_ = nullptr;
  alarms_due_ = 0;
  size_max_ = model_.rules.dead_letters_max;
}

void DeadLetterChecks::learn_rules(const core::SetRules& command) {
  size_max_ = std::min(size_max_, model_.rules_after(command).dead_letters_max);
}

void DeadLetterChecks::on_dead_lettered(const Step& step, const NamedEffect& effect) {
  model_.coverage.count("reason", core::reason_name(effect.reason));
  if (pending_ != nullptr || !model_.dead_letters.emplace(effect.letter, DeadLetter{}).second) {
    model_.fail(Check::letter, step, text("letter {} is told twice", effect.letter));
  }
  DeadLetter& letter = model_.dead_letters[effect.letter];
  letter = DeadLetter{effect.message, {}, effect.reason, std::string(step.entry.actor)};
  plan_inspection(letter);
  if (effect.reason != core::Reason::malformed) {
    const auto sent = model_.messages.find(effect.message);
    letter.sender = sent == model_.messages.end() ? std::string() : sent->second.sender;
    unreported_[letter.sender] += model_.was_sender(letter.sender, effect.message) ? 1 : 0;
    pending_ = &effect;
    return;
  }
  ++unreported_[letter.sender];
  const bool refused = std::holds_alternative<core::Send>(step.entry.command) && !step.outcome;
  if (effect.message != step.entry.seq || (!refused && done<core::Malformed>(step) == nullptr)) {
    model_.fail(Check::letter, step, text("{} is told malformed and is not", effect.message.n));
  }
}

void DeadLetterChecks::on_dropped(const Step& step, const NamedEffect& effect) {
  const auto at = model_.dead_letters.find(effect.letter);
  if (model_.dead_letters.size() <= size_max_ || at == model_.dead_letters.end()) {
    model_.fail(Check::letter, step, text("letter {} need not go", effect.letter));
    return;
  }
  Holdings holdings{.kept = {}, .gone = {{at->second.sender, 1}}};
  model_.dead_letters.erase(at);
  for (const auto& [id, letter] : model_.dead_letters) {
    ++holdings.kept[letter.sender];
  }
  check_fair(model_, step, "a dead letter", holdings);
}

void DeadLetterChecks::on_alarm(const Step& step) {
  model_.coverage.count("system", "alarm");
  if (--alarms_due_ < 0) {
    model_.fail(Check::care, step, "an alarm without cause");
  }
}

void DeadLetterChecks::settle_pending(const std::string& receiver) {
  if (const auto at = model_.dead_letters.find(pending_->letter); at != model_.dead_letters.end()) {
    at->second.receiver = receiver;
  }
  pending_ = nullptr;
}

// Says when the broker must have looked at a new dead letter, and whether an alarm is due.
void DeadLetterChecks::plan_inspection(DeadLetter& letter) {
  const int64_t distance = model_.rules.dead_letter_pass.us;
  letter.failed = model_.now;
  letter.inspected_by = Time{(model_.now.us / distance + 1) * distance};
  recent_.push_back(model_.now);
  while (recent_.size() > model_.rules.dead_letter_alert) {
    recent_.pop_front();
  }
  const Time begin{model_.now.us - model_.rules.dead_letter_alert_window.us};
  const bool many = model_.rules.dead_letter_alert > 0 &&
                    recent_.size() == model_.rules.dead_letter_alert && recent_.front() > begin;
  if (many && (!alarmed_ || *alarmed_ <= begin)) {
    alarmed_ = model_.now;
    ++alarms_due_;
  }
}

// Time passes before the command. So the dead letter may come with this entry, or the message may
// fail for another receiver first: both are among the effects, and must be learnt before.
bool DeadLetterChecks::learn_resolved(const Step& step, const core::ResolveDeadLetter& command,
                                      std::span<const NamedEffect> later) {
  const auto at = model_.dead_letters.find(command.id);
  const bool malformed =
      at != model_.dead_letters.end() && at->second.reason == core::Reason::malformed;
  if (at == model_.dead_letters.end() || (at->second.receiver.empty() && !malformed)) {
    return false;
  }
  if (command.resolution != core::Resolution::retried || malformed) {
    return true;
  }
  const bool is_early = std::ranges::any_of(later, [&](const NamedEffect& effect) {
    return effect.kind == NamedEffect::Kind::settled && effect.message == at->second.message &&
           effect.receiver != at->second.receiver;
  });
  if (is_early) {
    return false;
  }
  const auto sent = model_.messages.find(at->second.message);
  Delivery* const delivery = model_.find(at->second.message, at->second.receiver);
  if (delivery == nullptr || !core::is_final(delivery->state)) {
    model_.fail(Check::settle, step, "retried what was not settled");
    return true;
  }
  delivery->revivals = 0;
  model_.revive(step, sent->second, *delivery);
  return true;
}

void DeadLetterChecks::on_resolved(const Step& step, const NamedEffect& effect) {
  const auto at = model_.dead_letters.find(effect.letter);
  const auto sent = model_.messages.find(effect.message);
  Delivery* const delivery =
      at == model_.dead_letters.end() ? nullptr : model_.find(effect.message, at->second.receiver);
  constexpr std::array<std::string_view, 4> names = {"pending", "retried", "discarded",
                                                     "escalated"};
  model_.coverage.count("system", names[static_cast<size_t>(effect.resolution)]);
  if (at == model_.dead_letters.end() ||
      (at->second.reason != core::Reason::malformed && delivery == nullptr)) {
    model_.fail(Check::care, step, text("letter {} is resolved and not there", effect.letter));
    return;
  }
  const DeadLetter& letter = at->second;
  if (effect.resolution == core::Resolution::retried && delivery != nullptr) {
    const bool retryable = letter.reason == core::Reason::receiver_unavailable ||
                           letter.reason == core::Reason::queue_overflow;
    if (!retryable || ++delivery->revivals > model_.rules.dead_letter_tries_max) {
      model_.fail(Check::care, step, text("letter {} is tried again in vain", effect.letter));
    }
    model_.revive(step, sent->second, *delivery);
  } else if (effect.resolution == core::Resolution::escalated) {
    if (sent == model_.messages.end() || sent->second.priority != core::Priority::critical) {
      model_.fail(Check::care, step, text("letter {} is not critical", effect.letter));
    }
  } else {
    const core::Duration ttl =
        sent == model_.messages.end() ? model_.rules.flow_ttl_normal : sent->second.ttl;
    const Time begun = sent == model_.messages.end() ? letter.failed : sent->second.begun;
    const bool is_old = ttl.us != 0 && begun + ttl + ttl <= model_.now;
    const bool is_barred = sent != model_.messages.end() && is_withdrawn(sent->second);
    if (!is_old && !is_barred && !is_superseded(model_, step, effect.message, letter.receiver)) {
      model_.fail(Check::care, step, text("letter {} is not old", effect.letter));
    }
  }
}

void DeadLetterChecks::check_pending(const Step& step) {
  if (pending_ != nullptr) {
    model_.fail(Check::letter, step, text("letter {} settles nothing", pending_->letter));
  }
}

void DeadLetterChecks::check_care(const Step& step) {
  if (alarms_due_ != 0) {
    model_.fail(Check::care, step, text("{} alarms too few", alarms_due_));
  }
  if (!passes_time(step)) {
    return;
  }
  for (const auto& [id, letter] : step.after.tables().dead_letters.all()) {
    const auto at = model_.dead_letters.find(id);
    const bool waits = letter.resolution == core::Resolution::pending && !letter.inspected;
    if (at != model_.dead_letters.end() && waits && at->second.inspected_by <= model_.now) {
      model_.fail(Check::care, step, text("letter {} should have been looked at", id));
    }
  }
}

// The sender of each new dead letter is owed a notice, by itself or in a summary.
void DeadLetterChecks::check_notices(const Step& step) {
  if (const auto* gone = done<core::Unregister>(step)) {
    unreported_.erase(std::string(gone->name));  // There is no one to tell.
  }
  for (const auto& [sender, count] : std::exchange(unreported_, {})) {
    const int summed = model_.outbox.summed_up(sender, core::OutboxKind::delivery_failed) +
                       model_.outbox.summed_up(sender, core::OutboxKind::message_malformed);
    if (count != summed) {
      model_.fail(Check::notice, step, text("{} letters of {} are not owed to it", count, sender));
    }
  }
}

void DeadLetterChecks::check_kept(const Step& step) {
  const auto& all = step.after.tables().dead_letters.all();
  const bool same =
      std::ranges::equal(std::views::keys(all), std::views::keys(model_.dead_letters));
  if (!same) {
    model_.fail(
        Check::letter, step,
        text("{} dead letters are kept, told of {}", all.size(), model_.dead_letters.size()));
    return;
  }
  for (const auto& [id, letter] : all) {
    const DeadLetter& expected = model_.dead_letters.at(id);
    if (letter.message != expected.message || letter.reason != expected.reason ||
        letter.receiver != expected.receiver) {
      model_.fail(Check::letter, step, text("letter {} is not as it was told", id));
    }
  }
}

}  // namespace parley::sim
