// SPDX-License-Identifier: Apache-2.0
#include "sim/checks/agents/backpressure.h"

#include <algorithm>
#include <array>
#include <variant>

#include "core/limits/backpressure.h"
#include "sim/text.h"

namespace parley::sim {

namespace {

constexpr core::Duration pause = base::seconds(1);  // Between two signals of one level.
constexpr size_t throttled = static_cast<size_t>(core::BackpressureLevel::throttled);
constexpr size_t overloaded = static_cast<size_t>(core::BackpressureLevel::overloaded);

}  // namespace

void BackpressureChecks::check(const Step& step) {
  for (const NamedEffect& effect : step.effects) {
    const core::OutboxItem* const item = step.after.tables().outbox.find(effect.outbox_item);
    if (effect.kind == NamedEffect::Kind::owed &&
        effect.outbox_kind == core::OutboxKind::backpressure && item != nullptr &&
        model_.is_registered(effect.receiver)) {
      on_signal(step, effect.receiver, *item);
    }
  }
  const auto sender = model_.principals.find(std::string(step.entry.actor));
  const auto* send = asked<core::Send>(step);
  if (send == nullptr || sender == model_.principals.end()) {
    return;
  }
  const Principal& principal = sender->second;
  const auto knows = [&](size_t level) {
    return principal.pressure >= level || principal.pressure_told[level] + pause > model_.now;
  };
  const auto sent = model_.messages.find(step.entry.seq);
  const bool held_up = sent != model_.messages.end() &&
                       std::ranges::any_of(sent->second.deliveries, [](const Delivery& delivery) {
                         return delivery.state == State::delayed && !delivery.tried;
                       });
  if (held_up && !knows(throttled) && !knows(overloaded)) {
    model_.fail(Check::pace, step, text("{} is held up and was not told", step.entry.actor));
  }
  if (!step.outcome && step.outcome.error().code == base::Code::overloaded && !knows(overloaded)) {
    model_.fail(Check::pace, step, text("{} is overloaded and was not told", step.entry.actor));
  }
}

// The broker tells the sender a level: not twice within the pause, and a recovery only after a
// worse one.
void BackpressureChecks::on_signal(const Step& step, const std::string& sender,
                                   const core::OutboxItem& item) {
  constexpr std::array<std::string_view, 3> levels = {"recovering", "throttled", "overloaded"};
  const auto* const status = std::get_if<std::string>(&item.facts.front().value);
  const size_t level = static_cast<size_t>(
      std::ranges::find(levels, status == nullptr ? "" : *status) - levels.begin());
  Principal& principal = model_.principals[sender];
  if (level == levels.size() || principal.pressure_told[level] + pause > model_.now) {
    model_.fail(Check::pace, step, text("{} is told its pressure twice within a second", sender));
    return;
  }
  if (level == 0 && principal.pressure == 0) {
    model_.fail(Check::pace, step, text("{} recovers from nothing", sender));
  }
  principal.pressure_told[level] = model_.now;
  principal.pressure = level == 0 ? 0 : std::max(principal.pressure, level);
  model_.coverage.count("pressure", levels[level]);
}

}  // namespace parley::sim
