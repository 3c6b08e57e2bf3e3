// SPDX-License-Identifier: Apache-2.0
#include "sim/checks/groups/handoffs.h"

#include <algorithm>

#include "sim/text.h"

namespace parley::sim {

void HandoffChecks::on_announced(const Step& step, const NamedEffect& effect) {
  const core::OutboxItem* const item = step.after.tables().outbox.find(effect.outbox_item);
  if (item == nullptr) {
    return;
  }
  const auto to = std::ranges::find(item->facts, "to", &core::Fact::name);
  model_.coverage.count("handoff", "overdue");
  if (to == item->facts.end() ||
      !told_.emplace(item->about, std::get<std::string>(to->value), item->to).second) {
    model_.fail(Check::handoff, step,
                text("{} is told again that {} is overdue", item->to, item->about.n));
  }
}

void HandoffChecks::check(const Step& step) {
  std::map<core::Handoffs::Key, core::Handoff> known;
  for (const auto& [key, handoff] : step.after.tables().handoffs.all()) {
    const auto before = known_.find(key);
    const auto sent = model_.messages.find(key.first);
    known[key] = handoff;
    if (before == known_.end() && !handoff.is_report() && sent != model_.messages.end()) {
      const core::Duration within =
          core::response_time(model_.rules, sent->second.dialect, handoff.priority);
      if (handoff.due - handoff.since != within) {
        model_.fail(
            Check::handoff, step,
            text("{} has another time than {}", key.first.n, base::format_duration(within)));
      }
      continue;
    }
    if (before != known_.end() && before->second.announced && !handoff.announced) {
      model_.fail(Check::handoff, step, text("{} is announced no more", key.first.n));
    }
    if (handoff.waits_for_reaction() && handoff.due <= model_.now && !handoff.announced &&
        passes_time(step)) {
      model_.fail(Check::handoff, step, text("{} is overdue and not announced", key.first.n));
    }
    // What this entry has said of it counts from the next one on.
    const bool is_old = before != known_.end() && before->second.is_silent() &&
                        before->second.heard == handoff.heard;
    if (handoff.is_silent() && is_old && passes_time(step) &&
        done<core::SetRules>(step) == nullptr &&
        handoff.heard + model_.rules.squad_blocked_after <= model_.now) {
      model_.fail(Check::handoff, step, text("{} is silent for too long", key.first.n));
    }
  }
  known_ = std::move(known);
}

}  // namespace parley::sim
