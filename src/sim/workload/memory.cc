// SPDX-License-Identifier: Apache-2.0
#include "sim/workload/memory.h"

#include <algorithm>

namespace parley::sim {

void Memory::saw(const core::Entry& entry, const core::Outcome& outcome,
                 const std::vector<NamedEffect>& effects) {
  if (std::holds_alternative<core::AddWorkspace>(entry.command) && outcome) {
    workspaces = std::max(workspaces, static_cast<uint32_t>(outcome->workspace) + 1);
  }
  if (const auto* take = std::get_if<core::TakeLock>(&entry.command); take && outcome) {
    lock = {std::string(take->name), std::string(entry.actor), outcome->message};
  }
  if (const auto* change = std::get_if<core::ChangeSession>(&entry.command); change && outcome) {
    if (change->act == core::SessionAct::pause) {
      paused_session = change->id;
    } else if (!core::is_entry(change->act) && paused_session == change->id) {
      paused_session.clear();
    }
  }
  if (const auto* send = std::get_if<core::Send>(&entry.command)) {
    saw_message(entry.seq, *send);
  }
  for (const NamedEffect& effect : effects) {
    if (effect.kind == NamedEffect::Kind::deliver) {
      const Held message{effect.workspace,        effect.receiver,       effect.message,
                         ids[effect.message],     effect.stream,         effect.mark,
                         senders[effect.message], askers[effect.message]};
      remember(held, message, 24);
      if (disputes.contains(effect.message)) {
        remember(disputes_held, message, 8);
      }
      if (stages.contains(effect.message)) {
        remember(stages_held, message, 8);
      } else if (passed_on.contains(effect.message)) {
        remember(passed_on_held, message, 8);
      } else if (tried.contains(effect.message)) {
        remember(tried_held, message, 8);
      }
    } else if (effect.kind == NamedEffect::Kind::dead_lettered) {
      remember(dead_letters, std::pair(effect.workspace, effect.letter), 30);
    }
  }
}

void Memory::saw_approval(core::WorkspaceId workspace, const core::Approval& approval) {
  const Waiting seen{workspace, approval.id, approval.digest, approval.asker};
  std::deque<Waiting>& list = approval.held.n != 0 ? waiting : asked;
  if (std::ranges::find(list, seen) == list.end()) {  // Each node tells of it.
    remember(list, seen, 24);
  }
}

void Memory::saw_message(core::Seq seq, const core::Send& send) {
  const core::Envelope& e = send.envelope;
  ids[seq] = e.id;
  senders[seq] = e.sender;
  const bool names_other = !e.reply_to.empty();
  askers[seq] = names_other ? e.reply_to : e.sender;
  threads[seq] = e.thread;
  const bool asks = e.kind == core::Kind::request;
  if (asks && (!send.later_stages.empty() || send.outbox_item != 0)) {
    stages.insert(seq);
  }
  if (core::asks(e.kind) && e.dialect == core::Dialect::superprompt && !send.gathering) {
    tried.insert(seq);
  }
  if (e.kind == core::Kind::challenge || e.stance != core::Stance::unset) {
    disputes.insert(seq);
  }
  if (names_other && core::asks(e.kind)) {
    passed_on.insert(seq);
  }
}

}  // namespace parley::sim
