// SPDX-License-Identifier: Apache-2.0
#include "sim/canary.h"

#include <algorithm>
#include <array>
#include <variant>

#include "base/time.h"
#include "core/topics/wildcards.h"

namespace parley::sim {

namespace {

using core::Entry;

constexpr auto table = std::to_array<CanaryInfo>({
    {Canary::ack_dropped, "ack_dropped", Check::settle},
    {Canary::nack_dropped, "nack_dropped", Check::settle},
    {Canary::failure_invented, "failure_invented", Check::letter},
    {Canary::lease_too_long, "lease_too_long", Check::lease},
    {Canary::ttl_ignored, "ttl_ignored", Check::expiry},
    {Canary::priority_ignored, "priority_ignored", Check::order},
    {Canary::limits_ignored, "limits_ignored", Check::limit},
    {Canary::forgets_early, "forgets_early", Check::visible},
    {Canary::window_ignored, "window_ignored", Check::window},
    {Canary::window_shrunk, "window_shrunk", Check::idle},
    {Canary::receiver_left_out, "receiver_left_out", Check::receivers},
    {Canary::command_acts_twice, "command_acts_twice", Check::once},
    {Canary::repeat_accepted, "repeat_accepted", Check::duplicate},
    {Canary::start_ignored, "start_ignored", Check::life},
    {Canary::notice_unmarked, "notice_unmarked", Check::notice},
    {Canary::timeout_ignored, "timeout_ignored", Check::wait},
    {Canary::retry_ignored, "retry_ignored", Check::wait},
    {Canary::roll_call_ignored, "roll_call_ignored", Check::wait},
    {Canary::retry_forgotten, "retry_forgotten", Check::wait},
    {Canary::gather_ignored, "gather_ignored", Check::wait},
    {Canary::stage_left_out, "stage_left_out", Check::wait},
    {Canary::thread_unlimited, "thread_unlimited", Check::thread},
    {Canary::thread_left_open, "thread_left_open", Check::thread},
    {Canary::thread_closed_early, "thread_closed_early", Check::thread},
    {Canary::tried_for_ever, "tried_for_ever", Check::care},
    {Canary::pass_skipped, "pass_skipped", Check::care},
    {Canary::rates_ignored, "rates_ignored", Check::pace},
    {Canary::breaker_ignored, "breaker_ignored", Check::breaker},
    {Canary::budget_ignored, "budget_ignored", Check::guard},
    {Canary::silence_ignored, "silence_ignored", Check::presence},
    {Canary::circle_ignored, "circle_ignored", Check::deadlock},
    {Canary::circle_invented, "circle_invented", Check::deadlock},
    {Canary::chain_forgotten, "chain_forgotten", Check::wait},
    {Canary::fan_out_ignored, "fan_out_ignored", Check::guard},
    {Canary::ping_pong_ignored, "ping_pong_ignored", Check::guard},
    {Canary::session_write_lost, "session_write_lost", Check::session},
    {Canary::version_ignored, "version_ignored", Check::session},
    {Canary::lock_lease_short, "lock_lease_short", Check::lock},
    {Canary::task_unrecorded, "task_unrecorded", Check::task},
    {Canary::move_lost, "move_lost", Check::task},
    {Canary::share_ignored, "share_ignored", Check::limit},
    {Canary::fence_ignored, "fence_ignored", Check::lock},
    {Canary::secret_mixed_up, "secret_mixed_up", Check::webhook},
    {Canary::resume_ignored, "resume_ignored", Check::resume},
    {Canary::broadcast_kept, "broadcast_kept", Check::letter},
    {Canary::pattern_ignored, "pattern_ignored", Check::receivers},
    {Canary::table_unshared, "table_unshared", Check::share},
    {Canary::critical_unlimited, "critical_unlimited", Check::guard},
    {Canary::flag_lost, "flag_lost", Check::flag},
    {Canary::tries_ignored, "tries_ignored", Check::wait},
    {Canary::hub_ignored, "hub_ignored", Check::receivers},
    {Canary::rounds_ignored, "rounds_ignored", Check::debate},
    {Canary::revision_ignored, "revision_ignored", Check::debate},
    {Canary::people_not_asked, "people_not_asked", Check::debate},
    {Canary::times_ignored, "times_ignored", Check::handoff},
    {Canary::announced_twice, "announced_twice", Check::handoff},
    {Canary::right_borrowed, "right_borrowed", Check::flag},
    {Canary::approval_borrowed, "approval_borrowed", Check::approval},
    {Canary::approval_again, "approval_again", Check::approval},
    {Canary::approval_for_another, "approval_for_another", Check::approval},
    {Canary::approval_never_expires, "approval_never_expires", Check::approval},
    {Canary::held_passes, "held_passes", Check::approval},
    {Canary::failure_passes, "failure_passes", Check::wait},
    {Canary::tries_hurried, "tries_hurried", Check::wait},
    {Canary::extension_doubled, "extension_doubled", Check::wait},
    {Canary::extension_unbounded, "extension_unbounded", Check::wait},
    {Canary::tie_by_node, "tie_by_node", Check::equal},
    {Canary::entry_skipped, "entry_skipped", Check::equal},
    {Canary::delivered_twice, "delivered_twice", Check::holder},
    {Canary::order_swapped, "order_swapped", Check::order},
    {Canary::letter_unrecorded, "letter_unrecorded", Check::letter},
    {Canary::settled_twice, "settled_twice", Check::settle},
    {Canary::mail_forgotten, "mail_forgotten", Check::idle},
    {Canary::news_forgotten, "news_forgotten", Check::notice},
    {Canary::wrong_first, "wrong_first", Check::duplicate},
    {Canary::delay_untold, "delay_untold", Check::pace},
    {Canary::told_twice, "told_twice", Check::answer},
    {Canary::closing_untold, "closing_untold", Check::thread},
    {Canary::pressure_untold, "pressure_untold", Check::pace},
    {Canary::alarm_silent, "alarm_silent", Check::care},
    {Canary::pause_ignored, "pause_ignored", Check::session},
    {Canary::lock_order_ignored, "lock_order_ignored", Check::lock},
    {Canary::lock_given_twice, "lock_given_twice", Check::lock},
    {Canary::superseded_untold, "superseded_untold", Check::settle},
    {Canary::seen_invented, "seen_invented", Check::resume},
    {Canary::receipt_untold, "receipt_untold", Check::wait},
    {Canary::promised_unsynced, "promised_unsynced", Check::promise},
    {Canary::synced_lost, "synced_lost", Check::promise},
    {Canary::stored_though_refused, "stored_though_refused", Check::promise},
    {Canary::append_forgotten, "append_forgotten", Check::answer},
    {Canary::snapshot_altered, "snapshot_altered", Check::snapshot},
    {Canary::snapshot_unchecked, "snapshot_unchecked", Check::snapshot},
    {Canary::clock_back, "clock_back", Check::time},
    {Canary::body_lost, "body_lost", Check::body},
    {Canary::notice_forgotten, "notice_forgotten", Check::notice},
    {Canary::stage_strays, "stage_strays", Check::wait},
    {Canary::late_unmarked, "late_unmarked", Check::wait},
    {Canary::duplicate_unmarked, "duplicate_unmarked", Check::wait},
    {Canary::miscounted, "miscounted", Check::recount},
    {Canary::wrong_victim, "wrong_victim", Check::share},
    {Canary::timer_runs, "timer_runs", Check::wait},
    {Canary::door_too_narrow, "door_too_narrow", Check::advice},
});

bool is_table_limit(std::string_view rule) {
  constexpr std::array<std::string_view, 5> limits = {
      "queue_max", "dead_letters_max", "topic.retained_max", "streams_max", "topics_max"};
  return std::ranges::find(limits, rule) != limits.end();
}

bool alter_envelope(Canary canary, const ReadBy& by, core::Envelope& e) {
  if (canary == Canary::ttl_ignored && e.ttl.us > 0) {
    e.ttl = base::milliseconds(e.ttl.us);
  } else if (canary == Canary::retry_forgotten && e.dialect == core::Dialect::collab) {
    e.on_timeout = core::OnTimeout::fail;
  } else if (canary == Canary::priority_ignored) {
    e.priority = core::Priority::normal;
  } else if (canary == Canary::receiver_left_out && e.receivers.size() > 2) {
    e.receivers.pop_back();
  } else if (canary == Canary::repeat_accepted && by.seq.n % 2 == 0) {
    e.id.bytes[0] = static_cast<uint8_t>(e.id.bytes[0] ^ 0x80);
    e.idempotency_key = {};
  } else if (canary == Canary::circle_invented && e.dialect == core::Dialect::collab &&
             core::asks(e.kind) && e.receivers.size() == 1 && by.seq.n % 8 == 0) {
    e.receivers = {e.sender};  // As if it waited for itself.
  } else if (canary == Canary::timeout_ignored && e.response_timeout.us > 0) {
    e.response_timeout.us *= 1'000;
  } else if (canary == Canary::retry_ignored && e.on_timeout == core::OnTimeout::retry) {
    e.on_timeout = core::OnTimeout::fail;
  } else if (canary == Canary::roll_call_ignored && e.kind == core::Kind::broadcast) {
    e.requires_ack = false;
  } else if (canary == Canary::broadcast_kept && e.durability == core::Durability::memory &&
             !core::asks(e.kind) && e.receivers.front() == "*") {
    e.kind = core::Kind::broadcast;  // A roll call leaves dead letters.
    e.requires_ack = true;
  } else if (canary == Canary::extension_doubled && e.type == "timeout_extension_request") {
    e.response_timeout.us *= 2;
  } else if (canary == Canary::failure_passes && e.is_recoverable) {
    e.is_recoverable = false;
  } else if (canary == Canary::held_passes && e.needs_approval == core::NeedsApproval::message) {
    e.needs_approval = core::NeedsApproval::nothing;
    e.confidence_ppm = 1'000'000;
  } else if (canary == Canary::rounds_ignored && e.stance == core::Stance::defend) {
    e.stance = core::Stance::revise;
  } else if (canary == Canary::revision_ignored && e.stance == core::Stance::revise) {
    e.stance = core::Stance::defend;
  } else if (canary == Canary::people_not_asked && e.stance == core::Stance::escalate) {
    e.stance = core::Stance::unset;
  } else if (canary == Canary::tie_by_node && by.node == 0) {
    std::ranges::reverse(e.receivers);
  } else {
    return false;
  }
  return true;
}

// Canaries that add one rule behind those of the command.
struct AddedRule {
  Canary canary;
  std::string_view name;
  std::string_view value;
};
constexpr auto added_rules = std::to_array<AddedRule>({
    {Canary::silence_ignored, "collab.heartbeats_missed", "0"},
    {Canary::circle_ignored, "collab.deadlock", "warn"},
    {Canary::thread_unlimited, "thread_messages_max", "1000000"},
    {Canary::share_ignored, "task.giver_percent", "100"},
    {Canary::times_ignored, "squad.response_time.p2", "1h"},
    {Canary::table_unshared, "share_percent", "100"},
    {Canary::tried_for_ever, "dead_letter_tries_max", "30"},
    {Canary::tries_ignored, "superprompt.retries_max", "7"},
    {Canary::tries_hurried, "superprompt.retry_delays", "1ms,1ms,1ms,1ms,1ms"},
    {Canary::extension_unbounded, "superprompt.extension_max", "24h"},
    {Canary::pass_skipped, "dead_letter_pass", "8760h"},
    {Canary::thread_closed_early, "thread_duration_max", "100ms"},
    {Canary::forgets_early, "settled_max", "0"},
});

// Canaries that take the rules whose names begin so for off.
struct IgnoredRules {
  Canary canary;
  std::string_view prefix;
};
constexpr auto ignored_rules = std::to_array<IgnoredRules>({
    {Canary::rates_ignored, "flow.rate."},
    {Canary::breaker_ignored, "breaker.failures_max"},
    {Canary::budget_ignored, "guard.messages_per_day"},
    {Canary::fan_out_ignored, "guard.fan_out_per_min"},
    {Canary::ping_pong_ignored, "guard.ping_pong_max"},
    {Canary::critical_unlimited, "guard.critical_per_min"},
});

bool alter_rules(Canary canary, core::SetRules& rules) {
  if (canary == Canary::limits_ignored) {
    std::erase_if(rules.values, [](const auto& value) { return is_table_limit(value.first); });
    return true;
  }
  const auto added = std::ranges::find(added_rules, canary, &AddedRule::canary);
  if (added != added_rules.end()) {
    rules.values.emplace_back(added->name, added->value);
    return true;
  }
  const auto ignored = std::ranges::find(ignored_rules, canary, &IgnoredRules::canary);
  if (ignored == ignored_rules.end()) {
    return false;
  }
  for (auto& [name, value] : rules.values) {
    const bool can_be_off = !name.starts_with("flow.rate.") || name.ends_with("_per_min");
    value = name.starts_with(ignored->prefix) && can_be_off ? "0" : value;
  }
  return true;
}

// Puts another command in the place of this one; false when the canary has none.
bool replace(Canary canary, const ReadBy& by, core::Command& command) {
  const auto* const ack = std::get_if<core::Ack>(&command);
  const auto* const nack = std::get_if<core::Nack>(&command);
  if (canary == Canary::ack_dropped && ack != nullptr) {
    command = core::Read{core::Target(ack->target), {}};
  } else if (canary == Canary::nack_dropped && nack != nullptr) {
    command = core::Extend{core::Target(nack->target), {}};
  } else if (canary == Canary::failure_invented && nack != nullptr && !nack->failed) {
    command = core::Nack{core::Target(nack->target), nack->delay, nack->reason};
  } else if (canary == Canary::start_ignored && std::holds_alternative<core::StartNode>(command)) {
    command = core::Tick{};
  } else if (canary == Canary::thread_left_open &&
             std::holds_alternative<core::CloseThread>(command)) {
    command = core::Tick{};
  } else if (const auto* change = std::get_if<core::ChangeSession>(&command);
             change != nullptr && canary == Canary::session_write_lost && is_entry(change->act)) {
    command = core::Tick{};
  } else if (const auto* listen = std::get_if<core::Subscribe>(&command);
             listen != nullptr && canary == Canary::pattern_ignored &&
             core::is_pattern(listen->topic)) {
    command = core::Subscribe{"no.such", listen->agent};
  } else if (canary == Canary::flag_lost && std::holds_alternative<core::RaiseFlag>(command)) {
    command = core::Tick{};
  } else if (canary == Canary::move_lost && std::holds_alternative<core::ReassignTask>(command)) {
    command = core::Tick{};
  } else if (canary == Canary::entry_skipped && by.node == 1 && by.seq.n % 37 == 0) {
    command = core::Tick{};
  } else {
    return false;
  }
  return true;
}

// Each `alter` changes a command as the canary does; false when the canary leaves it alone.
template <class C>
bool alter(Canary, const ReadBy&, C&) {
  return false;
}

bool alter(Canary canary, const ReadBy&, core::Extend& extend) {
  if (canary == Canary::lease_too_long) {
    extend.lease.us *= 2;
    return true;
  }
  return false;
}

bool alter(Canary canary, const ReadBy&, core::ChangeSession& change) {
  if (canary == Canary::version_ignored && change.version != 0) {
    change.version = 0;
    return true;
  }
  return false;
}

bool alter(Canary canary, const ReadBy&, core::AskApproval& ask) {
  if (canary == Canary::approval_never_expires) {
    ask.timeout = base::hours(24 * 7);
    return true;
  }
  return false;
}

bool alter(Canary canary, const ReadBy&, core::DecideApproval& decide) {
  if (canary == Canary::approval_for_another) {
    decide.digest[0] ^= 1;
    return true;
  }
  return false;
}

bool alter(Canary canary, const ReadBy&, core::TakeLock& take) {
  if (canary == Canary::fence_ignored && take.fence) {
    take.fence.reset();
    return true;
  }
  if (canary == Canary::lock_lease_short) {
    take.lease = base::milliseconds(1);
    return true;
  }
  return false;
}

bool alter(Canary canary, const ReadBy&, core::Register& change) {
  if (canary == Canary::secret_mixed_up && !change.webhook.empty()) {
    change.webhook_secret[1] ^= 1;
    return true;
  }
  if (canary == Canary::hub_ignored && change.dialect == core::Dialect::superprompt) {
    change.role = "orchestrator";
    return true;
  }
  return false;
}

bool alter(Canary canary, const ReadBy&, core::OpenStream& open) {
  if (open.window > 1 && (canary == Canary::window_shrunk || canary == Canary::window_ignored)) {
    open.window = canary == Canary::window_shrunk ? 1 : open.window + 1;
    return true;
  }
  if (canary == Canary::resume_ignored && !open.after.is_none()) {
    open.after = {};
    return true;
  }
  return false;
}

bool alter(Canary canary, const ReadBy& by, core::Send& send) {
  core::Envelope& e = send.envelope;
  if (canary == Canary::task_unrecorded && !e.task.empty()) {
    e.task = {};
  } else if (canary == Canary::notice_unmarked && send.outbox_item != 0) {
    send.outbox_item = 0;
  } else if (canary == Canary::gather_ignored && send.gathering) {
    send.gathering->window = base::hours(1);
  } else if (canary == Canary::stage_left_out && send.later_stages.size() > 1) {
    send.later_stages.pop_back();
  } else if (canary == Canary::chain_forgotten && core::asks(e.kind)) {
    send.cause = {};
    e.in_reply_to = {};
  } else {
    return alter_envelope(canary, by, e);
  }
  return true;
}

bool alter(Canary canary, const ReadBy&, core::SetRules& rules) {
  return alter_rules(canary, rules);
}

// Alters the entry, or returns false.
bool alter_entry(Canary canary, const ReadBy& by, Entry& entry) {
  if (canary == Canary::command_acts_twice && by.repeated) {
    entry.id.origin = ~by.seq.n;
    return true;
  }
  return std::visit([&](auto& command) { return alter(canary, by, command); }, entry.command) ||
         replace(canary, by, entry.command);
}

void repeat_first(std::vector<NamedEffect>& effects, NamedEffect::Kind kind) {
  const auto at = std::ranges::find(effects, kind, &NamedEffect::kind);
  if (at != effects.end()) {
    effects.insert(at, NamedEffect(*at));
  }
}

void swap_deliveries(std::vector<NamedEffect>& effects) {
  const auto first = std::ranges::find(effects, NamedEffect::Kind::deliver, &NamedEffect::kind);
  if (first == effects.end()) {
    return;
  }
  const auto second = std::find_if(first + 1, effects.end(), [&](const NamedEffect& effect) {
    return effect.kind == NamedEffect::Kind::deliver && effect.receiver == first->receiver;
  });
  if (second != effects.end()) {
    std::swap(*first, *second);
  }
}

// Hides what ends as dead without a dead letter.
void keep_superseded(std::vector<NamedEffect>& effects) {
  const bool has_letter = std::ranges::any_of(
      effects, [](const NamedEffect& f) { return f.kind == NamedEffect::Kind::dead_lettered; });
  std::erase_if(effects, [has_letter](const NamedEffect& f) {
    return !has_letter && f.kind == NamedEffect::Kind::settled && f.state == core::State::dead;
  });
}

// Hands out a message that waits because its session is paused.
void deliver_at_once(const core::Entry& entry, const core::Outcome& outcome,
                     std::vector<NamedEffect>& effects) {
  const auto* const send = std::get_if<core::Send>(&entry.command);
  if (send == nullptr || send->envelope.session.empty() || !outcome || outcome->duplicate ||
      outcome->count != 1 || !effects.empty()) {
    return;
  }
  NamedEffect effect;
  effect.kind = NamedEffect::Kind::deliver;
  effect.workspace = entry.workspace;
  effect.receiver = send->envelope.receivers.front();
  effect.message = outcome->message;
  effect.attempt = 1;
  effects.push_back(std::move(effect));
}

}  // namespace

std::span<const CanaryInfo> all_canaries() { return table; }

std::optional<std::string> planted_record(Canary canary, const ReadBy& by,
                                          std::string_view payload) {
  if (canary == Canary::none) {
    return std::nullopt;
  }
  auto entry = core::decode_entry(by.seq, {}, payload);
  if (!entry || !alter_entry(canary, by, *entry)) {
    return std::nullopt;
  }
  std::string altered;
  core::encode(*entry, altered);
  return altered;
}

void plant_effects(Canary canary, const core::Entry& entry, core::Outcome& outcome,
                   std::vector<NamedEffect>& effects) {
  if (canary == Canary::delivered_twice) {
    repeat_first(effects, NamedEffect::Kind::deliver);
  } else if (canary == Canary::settled_twice) {
    repeat_first(effects, NamedEffect::Kind::settled);
  } else if (canary == Canary::order_swapped) {
    swap_deliveries(effects);
  } else if (canary == Canary::letter_unrecorded) {
    std::erase_if(effects,
                  [](const NamedEffect& f) { return f.kind == NamedEffect::Kind::dead_lettered; });
  } else if (canary == Canary::superseded_untold) {
    const auto* const send = std::get_if<core::Send>(&entry.command);
    if (send != nullptr && !send->envelope.task.empty()) {
      keep_superseded(effects);
    }
  } else if (canary == Canary::seen_invented) {
    for (NamedEffect& effect : effects) {
      effect.seen |= effect.attempt > 1 && effect.stream != core::stream_none;
    }
  } else if (canary == Canary::pause_ignored) {
    deliver_at_once(entry, outcome, effects);
  } else if (canary == Canary::lock_order_ignored || canary == Canary::lock_given_twice) {
    const base::Code code =
        canary == Canary::lock_order_ignored ? base::Code::lock_order : base::Code::lock_held;
    if (!outcome && outcome.error().code == code) {
      outcome = core::Receipt{.lock_granted = true};
    }
  } else if (canary == Canary::right_borrowed) {
    if (!outcome && std::holds_alternative<core::ResolveFlag>(entry.command)) {
      outcome = core::Receipt{};
    }
  } else if (canary == Canary::approval_borrowed || canary == Canary::approval_again) {
    const base::Code code =
        canary == Canary::approval_borrowed ? base::Code::forbidden : base::Code::conflict;
    if (!outcome && std::holds_alternative<core::DecideApproval>(entry.command) &&
        outcome.error().code == code &&
        (code == base::Code::forbidden || outcome.error().detail.starts_with("it is "))) {
      outcome = core::Receipt{};
    }
  } else if (canary == Canary::announced_twice) {
    const auto at =
        std::ranges::find(effects, core::OutboxKind::overdue, &NamedEffect::outbox_kind);
    if (at != effects.end()) {
      effects.insert(at, NamedEffect(*at));
    }
  } else if (canary == Canary::alarm_silent) {
    std::erase_if(effects, [](const NamedEffect& f) { return f.kind == NamedEffect::Kind::alarm; });
  } else if (canary == Canary::closing_untold) {
    std::erase_if(effects, [](const NamedEffect& f) {
      return f.kind == NamedEffect::Kind::owed && f.outbox_kind == core::OutboxKind::thread_closed;
    });
  } else if (canary == Canary::receipt_untold) {
    std::erase_if(effects, [](const NamedEffect& f) {
      return f.kind == NamedEffect::Kind::owed && f.outbox_kind == core::OutboxKind::acknowledged;
    });
  } else if (canary == Canary::pressure_untold) {
    std::erase_if(effects, [](const NamedEffect& f) {
      return f.kind == NamedEffect::Kind::owed && f.outbox_kind == core::OutboxKind::backpressure;
    });
  } else if (canary == Canary::mail_forgotten) {
    std::erase_if(effects, [](const NamedEffect& f) { return f.kind == NamedEffect::Kind::mail; });
  } else if (canary == Canary::news_forgotten) {
    std::erase_if(effects, [](const NamedEffect& f) {
      return f.kind == NamedEffect::Kind::owed && f.outbox_kind == core::OutboxKind::published;
    });
  } else if (canary == Canary::wrong_first && outcome && outcome->duplicate) {
    outcome->message = outcome->message.next();
  } else if (canary == Canary::delay_untold && outcome) {
    outcome->delay = {};
  }
}

std::string altered_snapshot(const std::string& state) {
  // It begins at the end: the newest messages are there, which the tail is most likely to touch.
  for (size_t at = state.size(); at > 0; --at) {
    std::string altered = state;
    altered[at - 1] = static_cast<char>(altered[at - 1] ^ 1);
    const auto before = core::Machine::restore(state);
    const auto restored = core::Machine::restore(altered);
    if (before && restored && restored->seq() == before->seq()) {
      return altered;
    }
  }
  return state;
}

}  // namespace parley::sim
