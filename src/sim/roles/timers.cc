// SPDX-License-Identifier: Apache-2.0
#include "sim/roles/timers.h"

#include <algorithm>

#include "sim/client/messages.h"

namespace parley::edge_sim {

using lib::Json;
using sim::text;

namespace {

// More than the longest pause before another try.
constexpr Duration pause_max = base::seconds(20);

// It was accepted before the step, and nobody has asked for anything that ends its waiting.
bool surely_waits(const GivenAnswer& answer, uint64_t step) {
  return answer.needs_people && answer.told_at != 0 && answer.told_at < step &&
         !answer.may_be_decided;
}

void note_held(RunState& run, const Ledger& ledger, GivenTask& task, Json request) {
  task.stood_still = true;
  run.setting.coverage.count("timer", "stands still");
  if (request.find("due")) {
    run.fail("timer", text("{} waits for people, and has a time: {}", task.id, request.raw()));
  }
  bool is_caused = false;
  for (const auto& [id, answer] : ledger.answers) {
    if (answer.task != task.id || !answer.needs_people) {
      continue;
    }
    is_caused |= answer.fate != Fate::refused;
    if (answer.told_at != 0 && run.now() - answer.told > task.timeout) {
      run.setting.coverage.count("timer", "stands still for longer than its time");
    }
  }
  if (!is_caused) {
    run.fail("timer", text("{} waits for people, and no answer to it does", task.id));
  }
}

}  // namespace

void note_state(RunState& run, const Ledger& ledger, GivenTask& task, uint64_t asked_at,
                Json request) {
  task.state = string_of(request, "state");
  if (task.state != "waiting") {
    return;
  }
  if (string_of(request, "held") == "approval") {
    note_held(run, ledger, task, request);
    return;
  }
  for (const auto& [id, answer] : ledger.answers) {
    if (answer.task == task.id && surely_waits(answer, asked_at)) {
      run.fail("timer", text("{} waits for people since step {}, and the time of {} goes on: {}",
                             id, answer.told_at, task.id, request.raw()));
    }
  }
  if (task.stood_still) {
    run.setting.coverage.count("timer", "goes on");
  }
  // A clock that is set may be ahead of what it was.
  const std::string latest = base::format_time(run.now() + task.timeout + task.more + pause_max);
  if (string_of(request, "due") > latest && !run.clock_was_set) {
    run.fail("timer", text("{} has more time than {} and {} that was asked for: {}", task.id,
                           base::format_duration(task.timeout), base::format_duration(task.more),
                           request.raw()));
  }
}

// Only who takes an answer back lets the time go on that stood still.
void check_timer(RunState& run, const Ledger& ledger, const GivenTask& task, const Ending& ending) {
  const bool was_withdrawn = std::ranges::any_of(ledger.answers, [&task](const auto& each) {
    return each.second.task == task.id && each.second.may_be_withdrawn;
  });
  if (ending.by_broker && ending.error_type == "timeout" && task.stood_still && !was_withdrawn) {
    run.fail("timer", text("{} ran out of time, which stood still for its answer", task.id));
  }
}

}  // namespace parley::edge_sim
