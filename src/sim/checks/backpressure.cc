// SPDX-License-Identifier: Apache-2.0
// Backpressure: who is held up or refused for its rate has been told so, not too often, and that it
// is over.

#include <algorithm>
#include <array>
#include <variant>

#include "core/limits/backpressure.h"
#include "sim/checks/ledger.h"
#include "sim/text.h"

namespace parley::sim {

namespace {

constexpr core::Duration pause = base::seconds(1);  // between two of one level
constexpr size_t throttled = static_cast<size_t>(core::BackpressureLevel::throttled);
constexpr size_t overloaded = static_cast<size_t>(core::BackpressureLevel::overloaded);

}  // namespace

void Ledger::on_signal(const Step& step, const std::string& sender, const core::OutboxItem& item) {
  constexpr std::array<std::string_view, 3> levels = {"recovering", "throttled", "overloaded"};
  const auto* const status = std::get_if<std::string>(&item.facts.front().value);
  const size_t level = static_cast<size_t>(
      std::ranges::find(levels, status == nullptr ? "" : *status) - levels.begin());
  Member& member = members_[sender];
  if (level == levels.size() || member.pressed_at[level] + pause > now_) {
    fail(Check::pace, step, text("{} is told its pressure twice within a second", sender));
    return;
  }
  if (level == 0 && member.pressed == 0) {
    fail(Check::pace, step, text("{} recovers from nothing", sender));
  }
  member.pressed_at[level] = now_;
  member.pressed = level == 0 ? 0 : std::max(member.pressed, level);
  coverage_.count("pressure", levels[level]);
}

void Ledger::check_pressure(const Step& step) {
  for (const Fact& fact : step.facts) {
    const core::OutboxItem* const item = step.after.tables().outbox.find(fact.outbox_item);
    if (fact.kind == Fact::Kind::owed && fact.outbox_kind == core::OutboxKind::backpressure &&
        item != nullptr && is_registered(fact.receiver)) {
      on_signal(step, fact.receiver, *item);
    }
  }
  const auto sender = members_.find(std::string(step.entry.actor));
  const auto* send = step.is_here ? std::get_if<core::Send>(&step.entry.command) : nullptr;
  if (send == nullptr || sender == members_.end()) {
    return;
  }
  const Member& member = sender->second;
  const auto knows = [&](size_t level) {
    return member.pressed >= level || member.pressed_at[level] + pause > now_;
  };
  const auto sent = sent_.find(step.entry.seq);
  const bool held_up =
      sent != sent_.end() && std::ranges::any_of(sent->second.pairs, [](const Pair& pair) {
        return pair.state == State::delayed && !pair.tried;
      });
  if (held_up && !knows(throttled) && !knows(overloaded)) {
    fail(Check::pace, step, text("{} is held up and was not told", step.entry.actor));
  }
  if (!step.outcome && step.outcome.error().code == base::Code::overloaded && !knows(overloaded)) {
    fail(Check::pace, step, text("{} is overloaded and was not told", step.entry.actor));
  }
}

}  // namespace parley::sim
