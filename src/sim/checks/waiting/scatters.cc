// SPDX-License-Identifier: Apache-2.0
#include "sim/checks/waiting/scatters.h"

#include <utility>

#include "sim/text.h"

namespace parley::sim {

void ScatterChecks::begin(const Step& step, const core::Send& command) {
  Scatter scatter;
  scatter.terms = *command.gathering;
  if (scatter.terms.window.us == 0) {
    scatter.terms.window = model_.rules.flow_gather_window;
  }
  scatter.owner = command.envelope.sender;
  scatter.due = model_.now + scatter.terms.window;
  for (const Delivery& delivery : model_.messages.at(step.entry.seq).deliveries) {
    scatter.answers[delivery.receiver] = Answer::none;
  }
  model_.scatters[step.entry.seq] = std::move(scatter);
  model_.coverage.count("pattern", "scatter");
}

void ScatterChecks::on_gathered(const Step& step, const core::OutboxItem& item) {
  const auto at = model_.scatters.find(item.about);
  if (at == model_.scatters.end() || at->second.owner != item.to) {
    model_.fail(Check::wait, step, "something is gathered that was not scattered, or twice");
    return;
  }
  const Scatter& scatter = at->second;
  const size_t possible = scatter.count(Answer::good) + scatter.count(Answer::none);
  const bool enough = scatter.count(Answer::good) >= scatter.needed();
  if (!enough && possible >= scatter.needed() && scatter.due > model_.now) {
    model_.fail(Check::wait, step, text("scatter {} ends too early", at->first.n));
  }
  model_.coverage.count("gathered", enough ? "enough" : "not enough");
  model_.messages.at(at->first).timed_out = true;
  // The answer of this entry ended the scatter or came just after its end: both may be, so its mark
  // cannot be checked.
  answers_.forget_answer_to(at->first);
  model_.scatters.erase(at);
}

void ScatterChecks::remove_owner(std::string_view name) {
  std::erase_if(model_.scatters, [&](const auto& item) {
    const bool ends = item.second.owner == name;
    model_.messages.at(item.first).timed_out |= ends;
    return ends;
  });
}

void ScatterChecks::check(const Step& step) {
  if (!passes_time(step)) {
    return;
  }
  for (auto& [seq, scatter] : model_.scatters) {
    const bool extends = scatter.terms.on_partial == core::OnPartial::extend_timeout;
    if (scatter.due <= model_.now && extends && !scatter.extended) {
      scatter.extended = true;
      scatter.due = model_.now + scatter.terms.window;
    }
    const size_t good = scatter.count(Answer::good);
    const bool over = good >= scatter.needed() ||
                      good + scatter.count(Answer::none) < scatter.needed() ||
                      scatter.due <= model_.now;
    if (over && model_.was_sender(scatter.owner, seq)) {
      model_.fail(Check::wait, step, text("scatter {} should be over", seq.n));
    }
  }
}

}  // namespace parley::sim
