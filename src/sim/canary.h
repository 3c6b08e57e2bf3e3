// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/checks/named_effect.h"
#include "sim/verdict.h"

namespace parley::sim {

// Over 150 lines: all canaries, a line each.
//
// A planted bug. All are planted in the simulator's own layer: in what a journal hands to its
// readers (the checker sees what was written), in the effects of an entry, or in how the journal
// behaves. So the core has no hooks for tests.
enum class Canary : uint8_t {
  none,
  // In what every node reads, as if the command were done wrong.
  ack_dropped,
  nack_dropped,
  failure_invented,
  lease_too_long,
  ttl_ignored,
  priority_ignored,
  limits_ignored,
  forgets_early,
  window_ignored,
  window_shrunk,
  receiver_left_out,
  command_acts_twice,
  repeat_accepted,
  start_ignored,
  notice_unmarked,
  timeout_ignored,
  retry_ignored,
  roll_call_ignored,
  retry_forgotten,
  gather_ignored,
  stage_left_out,
  thread_unlimited,
  thread_left_open,
  thread_closed_early,
  tried_for_ever,
  pass_skipped,
  rates_ignored,
  breaker_ignored,
  budget_ignored,
  silence_ignored,
  circle_ignored,
  circle_invented,
  chain_forgotten,
  fan_out_ignored,
  ping_pong_ignored,
  session_write_lost,
  version_ignored,
  lock_lease_short,
  task_unrecorded,
  move_lost,
  share_ignored,
  fence_ignored,
  secret_mixed_up,
  resume_ignored,
  broadcast_kept,
  pattern_ignored,
  table_unshared,
  critical_unlimited,
  flag_lost,
  tries_ignored,
  hub_ignored,
  rounds_ignored,
  revision_ignored,
  people_not_asked,
  times_ignored,
  // In what one node reads.
  tie_by_node,
  entry_skipped,
  // In the effects.
  delivered_twice,
  order_swapped,
  letter_unrecorded,
  settled_twice,
  mail_forgotten,
  news_forgotten,
  wrong_first,
  delay_untold,
  told_twice,
  closing_untold,
  pressure_untold,
  alarm_silent,
  announced_twice,
  right_borrowed,
  approval_borrowed,
  approval_again,
  approval_for_another,
  approval_never_expires,
  held_passes,
  failure_passes,
  tries_hurried,
  extension_doubled,
  extension_unbounded,
  pause_ignored,
  lock_order_ignored,
  lock_given_twice,
  superseded_untold,
  seen_invented,
  receipt_untold,
  // In how the journal behaves, and in what the checker reads of the tables.
  promised_unsynced,
  synced_lost,
  stored_though_refused,
  append_forgotten,
  snapshot_altered,
  snapshot_unchecked,
  clock_back,
  body_lost,
  notice_forgotten,
  stage_strays,
  late_unmarked,
  duplicate_unmarked,
  miscounted,
  wrong_victim,
  timer_runs,
  door_too_narrow,
};

struct CanaryInfo {
  Canary canary;
  std::string_view name;
  Check caught_by;  // The check that it is for. Another may catch it first.
};

// All canaries but `none`.
std::span<const CanaryInfo> all_canaries();

// Who reads a record: a node by its number, or the checker's own replay.
struct ReadBy {
  int node = 0;
  core::Seq seq;
  bool repeated = false;  // The command is in the journal before.
};
constexpr int replay = -1;
// The record as the canary alters it; nullopt when it leaves it alone.
std::optional<std::string> planted_record(Canary canary, const ReadBy& by,
                                          std::string_view payload);

// Alters the outcome and the effects of an entry.
void plant_effects(Canary canary, const core::Entry& entry, core::Outcome& outcome,
                   std::vector<NamedEffect>& effects);
// A snapshot with one byte changed that can still be restored.
std::string altered_snapshot(const std::string& state);

}  // namespace parley::sim
