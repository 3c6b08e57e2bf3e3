// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "sim/checks/agents/backpressure.h"
#include "sim/checks/agents/breakers.h"
#include "sim/checks/agents/budgets.h"
#include "sim/checks/agents/presence.h"
#include "sim/checks/agents/rates.h"
#include "sim/checks/agents/registrations.h"
#include "sim/checks/delivery/dead_letters.h"
#include "sim/checks/delivery/deliveries.h"
#include "sim/checks/delivery/limits.h"
#include "sim/checks/delivery/order.h"
#include "sim/checks/delivery/receivers.h"
#include "sim/checks/delivery/retries.h"
#include "sim/checks/delivery/settlements.h"
#include "sim/checks/delivery/shares.h"
#include "sim/checks/groups/approvals.h"
#include "sim/checks/groups/debates.h"
#include "sim/checks/groups/flags.h"
#include "sim/checks/groups/handoffs.h"
#include "sim/checks/groups/locks.h"
#include "sim/checks/groups/sessions.h"
#include "sim/checks/groups/tasks.h"
#include "sim/checks/groups/threads.h"
#include "sim/checks/waiting/answers.h"
#include "sim/checks/waiting/deadlocks.h"
#include "sim/checks/waiting/held.h"
#include "sim/checks/waiting/outbox.h"
#include "sim/checks/waiting/requests.h"
#include "sim/checks/waiting/tries.h"
#include "sim/model/model.h"

namespace parley::sim {

// Holds one workspace to its model: calls every check, entry by entry, in one order. A new promise
// is a class beside the others, a member here, and a line in `check_tables` or where it must learn.
class EffectChecks {
 public:
  EffectChecks(Verdict& verdict, Coverage& coverage) : model_(verdict, coverage) {}

  void observe(const Step& step);

  // Adds a principal that no Register made: the admin of a new workspace.
  void add_principal(const std::string& name, core::PrincipalKind kind);
  // A life of a node is over: no stream of it may be left.
  void end_life(uint64_t origin) { model_.ended_lives.insert(origin); }

  uint64_t unsettled() const { return model_.unsettled(); }
  // How many outbox items the broker has not sent yet.
  uint64_t unsent_items() const { return model_.outbox.items.size(); }

 private:
  void begin(const Step& step);
  void learn(const Step& step);
  void learn_message(const Step& step, const core::Send& command);
  void observe_effects(const Step& step);
  void on(const Step& step, const NamedEffect& effect);
  void on_stream_closed(const NamedEffect& effect);
  void on_owed(const Step& step, const NamedEffect& effect);
  void on_outbox_item(const Step& step, const NamedEffect& effect);
  void check_tables(const Step& step);

  Model model_;
  SessionChecks sessions_{model_};
  LockChecks locks_{model_};
  FlagChecks flags_{model_};
  ApprovalChecks approvals_{model_};
  DebateChecks debates_{model_};
  HandoffChecks handoffs_{model_};
  PresenceChecks presence_{model_};
  RegistrationChecks registrations_{model_};
  RateChecks rates_{model_};
  BackpressureChecks backpressure_{model_};
  BreakerChecks breakers_{model_};
  AnswerChecks answers_{model_};
  BudgetChecks budgets_{model_, rates_, answers_};
  ThreadChecks threads_{model_, answers_};
  DeadlockChecks deadlocks_{model_};
  TaskChecks tasks_{model_, deadlocks_};
  ReceiverChecks receivers_{model_, sessions_};
  OrderChecks order_{model_};
  RetryChecks retries_{model_};
  DeliveryChecks deliveries_{model_, order_, retries_};
  DeadLetterChecks dead_letters_{model_};
  SettlementChecks settlements_{model_, dead_letters_, order_, retries_, answers_};
  RequestChecks requests_{model_, presence_, answers_};
  HeldChecks held_{model_, answers_, requests_};
  TryChecks tries_{model_, answers_, requests_};
  OutboxChecks outbox_{model_};
  LimitChecks limits_{model_};
  ShareChecks shares_{model_};
};

}  // namespace parley::sim
