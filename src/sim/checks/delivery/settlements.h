// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/checks/delivery/dead_letters.h"
#include "sim/checks/delivery/order.h"
#include "sim/checks/delivery/retries.h"
#include "sim/checks/waiting/answers.h"
#include "sim/model/model.h"

namespace parley::sim {

// Checks that a message settles once for each receiver, as was asked; that what fails has a dead
// letter with a true reason; and that nothing is forgotten before it is settled.
class SettlementChecks {
 public:
  SettlementChecks(Model& model, DeadLetterChecks& dead_letters, const OrderChecks& order,
                   const RetryChecks& retries, AnswerChecks& answers)
      : model_(model),
        dead_letters_(dead_letters),
        order_(order),
        retries_(retries),
        answers_(answers) {}

  // A broadcast that a node kept in memory only ends when the node starts again.
  void end_broadcasts(const Step& step);
  void on_settled(const Step& step, const NamedEffect& effect);
  // After all effects: what was asked and confirmed was done.
  void check_confirmed(const Step& step);
  // Drops from the model what the tables have forgotten, where they may.
  void forget(const Step& step);

 private:
  bool was_asked(const Step& step, const NamedEffect& effect, const SentMessage& sent,
                 const Delivery& delivery) const;
  bool settles_by_reading(const Step& step, const SentMessage& sent,
                          const Delivery& delivery) const;
  bool may_not_take(const SentMessage& sent, const Delivery& delivery) const;
  bool is_unfailed(const Step& step, const SentMessage& sent, const Delivery& delivery) const;
  void check_expired(const Step& step, const NamedEffect& effect, const SentMessage& sent);
  void check_failure(const Step& step, const NamedEffect& effect, const SentMessage& sent,
                     const Delivery& delivery);
  void check_dead_letter(const Step& step, const NamedEffect& letter, const Delivery& delivery);
  bool is_true(const Step& step, core::Reason reason, const SentMessage& sent,
               const Delivery& delivery) const;

  Model& model_;
  DeadLetterChecks& dead_letters_;
  const OrderChecks& order_;
  const RetryChecks& retries_;
  AnswerChecks& answers_;
};

}  // namespace parley::sim
