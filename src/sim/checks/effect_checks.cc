// SPDX-License-Identifier: Apache-2.0
#include "sim/checks/effect_checks.h"

#include <span>

#include "sim/checks/waiting/pipelines.h"

namespace parley::sim {

void EffectChecks::observe(const Step& step) {
  begin(step);
  learn(step);
  observe_effects(step);
  check_tables(step);
}

void EffectChecks::begin(const Step& step) {
  model_.now = step.after.tables().now;
  model_.closed_streams.clear();
  model_.changed_dialect.clear();
  order_.begin();
  answers_.begin();
  dead_letters_.begin();
  deliveries_.begin();
}

// What the time and the command bring about, before the effects.
void EffectChecks::learn(const Step& step) {
  settlements_.end_broadcasts(step);
  presence_.learn_silence(step);
  sessions_.learn(step);
  held_.learn(step);
  if (const auto* send = asked<core::Send>(step)) {
    learn_message(step, *send);
  } else if (done<core::Subscribe>(step) != nullptr || done<core::Register>(step) != nullptr) {
    receivers_.add_deliveries(step);
  } else if (const auto* move = done<core::ReassignTask>(step)) {
    tasks_.learn_move(step, *move);
  }
  if (const auto* gone = done<core::Unregister>(step)) {
    requests_.remove(gone->name);
  } else if (const auto* open = done<core::OpenStream>(step)) {
    model_.streams[open->stream] = Stream{
        .agent = std::string(step.entry.actor), .window = open->window, .after = open->after};
  } else if (const auto* rules = done<core::SetRules>(step)) {
    dead_letters_.learn_rules(*rules);
  } else if (const auto* change = done<core::Register>(step)) {
    const auto at = model_.principals.find(std::string(change->name));
    if (at != model_.principals.end() && at->second.dialect != change->dialect) {
      model_.changed_dialect = change->name;
    }
  }
  outbox_.learn_summaries(step);
}

void EffectChecks::learn_message(const Step& step, const core::Send& command) {
  receivers_.check_repeat(step, command);
  answers_.learn(command);
  threads_.learn(step, command);
  if (!step.outcome) {
    return;
  }
  if (!step.outcome->duplicate) {
    answers_.learn_question(step, command);
    receivers_.accept(step, command);
  }
  receivers_.add_deliveries(step);
  if (step.outcome->duplicate) {
    return;
  }
  if (!is_held_back(step, command)) {
    receivers_.check_receivers(step, command);
  }
  requests_.begin(step, command);
  tries_.learn_message(step, command);
  held_.learn_message(step, command);
}

// A dead letter that the command resolves may come with the effects of the same entry. So each
// effect is followed by another try to follow the command.
void EffectChecks::observe_effects(const Step& step) {
  const auto* const command = done<core::ResolveDeadLetter>(step);
  std::span<const NamedEffect> later = step.effects;
  bool resolved = command == nullptr || dead_letters_.learn_resolved(step, *command, later);
  for (const NamedEffect& effect : step.effects) {
    held_.before(step, effect);
    tries_.before(effect);
    on(step, effect);
    later = later.subspan(1);
    resolved = resolved || dead_letters_.learn_resolved(step, *command, later);
  }
  tries_.finish(step);
  held_.finish(step);
  if (const auto* move = done<core::ReassignTask>(step);
      move != nullptr && model_.messages.contains(step.outcome->message)) {
    requests_.reassign(step.outcome->message, tasks_.was_of_another(step, *move));
  }
  if (!resolved) {
    model_.fail(Check::letter, step, "resolved a dead letter that was never told of");
  }
}

void EffectChecks::on(const Step& step, const NamedEffect& effect) {
  switch (effect.kind) {
    case NamedEffect::Kind::deliver:
      deliveries_.on_deliver(step, effect);
      return;
    case NamedEffect::Kind::settled:
      settlements_.on_settled(step, effect);
      return;
    case NamedEffect::Kind::mail:
      order_.on_mail(effect);
      return;
    case NamedEffect::Kind::dead_lettered:
      dead_letters_.on_dead_lettered(step, effect);
      return;
    case NamedEffect::Kind::letter_dropped:
      dead_letters_.on_dropped(step, effect);
      return;
    case NamedEffect::Kind::letter_resolved:
      dead_letters_.on_resolved(step, effect);
      return;
    case NamedEffect::Kind::alarm:
      dead_letters_.on_alarm(step);
      return;
    case NamedEffect::Kind::stream_closed:
      on_stream_closed(effect);
      return;
    case NamedEffect::Kind::owed:
      on_owed(step, effect);
      return;
    case NamedEffect::Kind::timed_out:
      requests_.on_timed_out(step, effect);
      return;
    case NamedEffect::Kind::lock_turn:
      locks_.on_turn(step, effect);
      return;
    case NamedEffect::Kind::approval_changed:
      approvals_.on_changed(effect);
      return;
  }
}

void EffectChecks::on_stream_closed(const NamedEffect& effect) {
  if (const auto at = model_.streams.find(effect.stream); at != model_.streams.end()) {
    presence_.on_disconnected(at->second.agent);
    model_.streams.erase(at);
  }
  model_.closed_streams.insert(effect.stream);
}

void EffectChecks::on_owed(const Step& step, const NamedEffect& effect) {
  if (!effect.receiver.empty()) {
    on_outbox_item(step, effect);
    outbox_.on_owed(step, effect);
    return;
  }
  // The item is gone from the outbox again: it was sent in the same entry, or the one to be told
  // was removed.
  const auto* const send = done<core::Send>(step);
  if (send == nullptr || send->outbox_item != effect.outbox_item) {
    return;
  }
  outbox_.on_owed_and_sent(*send);
  const std::string to(send->envelope.receivers.front());
  if (send->envelope.action == core::outbox_kind_name(core::OutboxKind::delivery_failed)) {
    dead_letters_.on_notice(to);
  } else if (send->envelope.action == core::outbox_kind_name(core::OutboxKind::request_timed_out) ||
             send->envelope.action == core::outbox_kind_name(core::OutboxKind::task_failed)) {
    requests_.on_notice(to);
  }
}

// Tells the check that is concerned what the broker owes.
void EffectChecks::on_outbox_item(const Step& step, const NamedEffect& effect) {
  switch (effect.outbox_kind) {
    case core::OutboxKind::delivery_failed:
    case core::OutboxKind::message_malformed:
      dead_letters_.on_notice(effect.receiver);
      return;
    case core::OutboxKind::request_timed_out:
    case core::OutboxKind::task_failed:
      requests_.on_notice(effect.receiver);
      return;
    case core::OutboxKind::deadlock_warned:
      deadlocks_.on_warned();
      return;
    case core::OutboxKind::published:
      registrations_.on_published(effect.receiver);
      return;
    case core::OutboxKind::gathered:
    case core::OutboxKind::stage:
    case core::OutboxKind::pipeline_ended:
    case core::OutboxKind::roll_called:
    case core::OutboxKind::acknowledged:
    case core::OutboxKind::not_acknowledged:
      requests_.on_owed(step, effect);
      return;
    case core::OutboxKind::backpressure:   // BackpressureChecks reads it from the effects.
    case core::OutboxKind::thread_closed:  // ThreadChecks does.
    case core::OutboxKind::escalated:      // Of these it is only checked that they are sent, once.
    case core::OutboxKind::escalation_resolved:
    case core::OutboxKind::dead_letter_alert:
    case core::OutboxKind::session_changed:
    case core::OutboxKind::session_warning:
    case core::OutboxKind::session_ended:
    case core::OutboxKind::task_reassigned:
    case core::OutboxKind::summary:
    case core::OutboxKind::approval_asked:
    case core::OutboxKind::approval_reminder:
    case core::OutboxKind::approval_decided:
    case core::OutboxKind::protocol_violation:
    case core::OutboxKind::debate_changed:  // DebateChecks reads the table.
    case core::OutboxKind::agent_session_ended:
      return;
    case core::OutboxKind::overdue:
      handoffs_.on_announced(step, effect);
      return;
  }
}

// The list of all checks, after the effects. The order matters where one learns what another reads:
// the registrations change who is registered and which rules hold, so what depends on the state
// before the entry comes before them.
void EffectChecks::check_tables(const Step& step) {
  dead_letters_.check_pending(step);
  requests_.end_failed(step);
  locks_.learn(step);
  deliveries_.reconcile(step);
  settlements_.check_confirmed(step);
  held_.check(step);
  threads_.check(step);
  dead_letters_.check_care(step);
  rates_.check(step);
  backpressure_.check(step);
  budgets_.check(step);
  breakers_.check(step);
  deadlocks_.check(step);
  presence_.check(step);
  registrations_.check(step);
  threads_.forget(step);
  sessions_.check(step);
  locks_.check(step);
  flags_.check(step);
  approvals_.check(step);
  debates_.check(step);
  handoffs_.check(step);
  tasks_.check(step);
  settlements_.forget(step);
  deliveries_.check_overdue(step);
  order_.check_idle(step);
  deliveries_.check_streams(step);
  requests_.check_notices(step);
  answers_.check(step);
  requests_.check_overdue(step);
  outbox_.check(step);
  dead_letters_.check_notices(step);
  dead_letters_.check_kept(step);
  limits_.check_counters(step);
  limits_.check_sizes(step);
  shares_.check(step);
}

void EffectChecks::add_principal(const std::string& name, core::PrincipalKind kind) {
  model_.principals[name].kind = kind;
}

}  // namespace parley::sim
