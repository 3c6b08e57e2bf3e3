// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <set>

#include "sim/checks/delivery/order.h"
#include "sim/checks/delivery/retries.h"
#include "sim/model/model.h"

namespace parley::sim {

// Checks how messages are handed out: to one holder at a time, for as long as the lease says, not
// after the time to live, and to a client that comes back only what it did not see. Compares every
// delivery in the tables with the model.
class DeliveryChecks {
 public:
  DeliveryChecks(Model& model, OrderChecks& order, RetryChecks& retries)
      : model_(model), order_(order), retries_(retries) {}

  // Keeps what held before the entry.
  void begin();
  void on_deliver(const Step& step, const NamedEffect& effect);
  // After all effects: every delivery in the tables stands where the model says.
  void reconcile(const Step& step);
  // Leases, delays and times to live end.
  void check_overdue(const Step& step);
  void check_streams(const Step& step);

 private:
  void check_source(const Step& step, const NamedEffect& effect, bool by_name);
  void check_size(const Step& step, const SentMessage& sent, const Delivery& delivery);
  bool leaves_marks(const Step& step, const SentMessage& sent, const Delivery& delivery) const;
  void check_mark(const Step& step, const NamedEffect& effect, const SentMessage& sent,
                  Delivery& delivery);
  void reconcile_delivery(const Step& step, SentMessage& sent, Delivery& delivery,
                          const core::Delivery& actual);
  void reconcile_state(const Step& step, const SentMessage& sent, Delivery& delivery,
                       const core::Delivery& actual);
  void reconcile_mark(const Step& step, const SentMessage& sent, const Delivery& delivery,
                      const core::Delivery& actual);
  void check_lease(const Step& step, const SentMessage& sent, const Delivery& delivery,
                   const core::Delivery& actual);

  Model& model_;
  OrderChecks& order_;
  RetryChecks& retries_;
  std::set<uint32_t> stream_numbers_;  // The numbers in marks that were given to streams.
};

}  // namespace parley::sim
