// SPDX-License-Identifier: Apache-2.0
#include "sim/roles/failures.h"

#include <algorithm>

namespace parley::edge_sim {

using sim::text;

namespace {

std::string story(const GivenTask& task) {
  std::string words = text("{} gave {} to {}, which is {}:", task.giver, task.id, task.worker,
                           task.state.empty() ? "not asked about" : task.state);
  for (const Ending& ending : task.endings) {
    words += text(" {} by {}{}{}{}{};", ending.id, ending.by_broker ? "the broker" : "its worker",
                  ending.error_type.empty() ? "" : " with ", ending.error_type,
                  ending.mark.empty() ? "" : ", ", ending.mark);
  }
  return words;
}

size_t failures(const GivenTask& task) {
  return static_cast<size_t>(std::ranges::count(task.endings, true, &Ending::by_broker));
}

// Answers that came in time. What was modified does not say whether it was late.
size_t answers(const GivenTask& task) {
  return static_cast<size_t>(std::ranges::count_if(
      task.endings, [](const Ending& each) { return !each.by_broker && each.mark.empty(); }));
}

}  // namespace

void check_failures(RunState& run, const GivenTask& task) {
  if (failures(task) > 1) {
    run.fail("failure", text("{} it failed more than once", story(task)));
  } else if (failures(task) == 1 && answers(task) > 0) {
    run.fail("failure", text("{} it was answered in time, and failed", story(task)));
  }
}

void judge_failures(RunState& run, const Ledger& ledger) {
  for (const auto& [id, task] : ledger.tasks) {
    if (task.fate == Fate::open) {
      run.fail("answer", text("{} is never told what became of {}", task.giver, id));
    } else if (task.fate == Fate::refused && !task.endings.empty()) {
      run.fail("failure", text("{} it was refused", story(task)));
    } else if (task.fate == Fate::accepted && !task.has_ended()) {
      run.fail("failure", text("{} it does not end", story(task)));
    } else if (task.fate == Fate::accepted && task.endings.empty()) {
      run.fail("failure", text("{} its giver never read how it ended", story(task)));
    } else if (task.fate == Fate::accepted && task.state != "answered" && failures(task) == 0) {
      run.fail("failure", text("{} that is not how it ended", story(task)));
    }
    check_failures(run, task);
    if (task.fate == Fate::accepted) {
      run.setting.coverage.count("task", task.state);
    }
  }
}

}  // namespace parley::edge_sim
