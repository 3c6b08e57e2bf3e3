// SPDX-License-Identifier: Apache-2.0
#include "node/waiters.h"

#include <variant>

namespace parley::node {

namespace {

using base::Seq;

// Takes all of them out of the table before the first is called: they may wait again from within.
template <class Table, class... Told>
void call_all(Table& table, const typename Table::key_type& key, const Told&... told) {
  if (const auto node = table.extract(key)) {
    for (const auto& [id, call] : node.mapped()) {
      call(told...);
    }
  }
}

template <class Table>
void drop(Table& table, const typename Table::key_type& key, uint64_t id) {
  const auto at = table.find(key);
  if (at == table.end()) {
    return;
  }
  at->second.erase(id);
  if (at->second.empty()) {
    table.erase(at);
  }
}

}  // namespace

Waiter Waiters::on_mail(core::WorkspaceId workspace, core::AgentRef agent,
                        std::function<void()> wake) {
  mail_[{workspace, agent}].emplace(next_id_, std::move(wake));
  return {.workspace = workspace, .agent = agent, .id = next_id_++};
}

Waiter Waiters::on_answer(core::WorkspaceId workspace, Seq question,
                          std::function<void(Answer)> answered) {
  answers_[{workspace, question}].emplace(next_id_, std::move(answered));
  return {.workspace = workspace, .question = question, .id = next_id_++};
}

Waiter Waiters::on_approval(core::WorkspaceId workspace, uint64_t approval,
                            std::function<void()> changed) {
  approvals_[{workspace, approval}].emplace(next_id_, std::move(changed));
  return {.workspace = workspace, .approval = approval, .id = next_id_++};
}

void Waiters::forget(const Waiter& waiter) {
  if (waiter.approval) {
    drop(approvals_, {waiter.workspace, *waiter.approval}, waiter.id);
    return;
  }
  drop(mail_, {waiter.workspace, waiter.agent}, waiter.id);
  drop(answers_, {waiter.workspace, waiter.question}, waiter.id);
}

void Waiters::hear(const core::Machine& machine, const core::Entry& entry,
                   const core::Effect& effect) {
  if (const auto* mail = std::get_if<core::Mail>(&effect)) {
    call_all(mail_, {mail->workspace, mail->receiver});
  } else if (const auto* settled = std::get_if<core::Settled>(&effect)) {
    hear_settled(machine, entry, *settled);
  } else if (const auto* change = std::get_if<core::ApprovalChanged>(&effect)) {
    call_all(approvals_, {change->workspace, change->approval});
    call_all(approvals_, {change->workspace, uint64_t{0}});
  } else if (const auto* turn = std::get_if<core::LockTurn>(&effect)) {
    call_all(answers_, {turn->workspace, turn->place},
             turn->granted ? Answer(turn->place) : std::unexpected(base::Code::timeout));
  } else if (const auto* late = std::get_if<core::RequestTimedOut>(&effect)) {
    if (late->is_final) {
      call_all(answers_, {late->workspace, late->message},
               Answer(std::unexpected(late->is_rejected ? base::Code::not_answered
                                                        : base::Code::timeout)));
    }
  }
}

void Waiters::hear_settled(const core::Machine& machine, const core::Entry& entry,
                           const core::Settled& settled) {
  const std::pair key{settled.workspace, settled.message};
  if (!answers_.contains(key)) {
    return;
  }
  const core::Messages& messages = machine.find(settled.workspace)->tables().messages;
  const core::MessageRef ref = messages.find(settled.message);
  if (settled.state == core::State::answered) {
    // An answer that people had to approve came before the entry that lets it pass.
    call_all(answers_, key,
             Answer(ref == core::none ? entry.seq : messages.message(ref).answer));
  } else if (settled.state != core::State::acked) {
    if (ref == core::none || messages.has_failed(ref)) {
      call_all(answers_, key, Answer(std::unexpected(base::Code::not_answered)));
    }
  }
}

}  // namespace parley::node
