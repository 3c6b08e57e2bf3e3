// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>

#include "sim/checks/agents/presence.h"
#include "sim/checks/waiting/pipelines.h"
#include "sim/checks/waiting/receipts.h"
#include "sim/checks/waiting/scatters.h"
#include "sim/model/model.h"

namespace parley::sim {

// Checks that a request ends by an answer, a failure or the clock, that it is retried as was asked,
// and that its sender is told of a timeout.
class RequestChecks {
 public:
  RequestChecks(Model& model, PresenceChecks& presence, ScatterChecks& scatters,
                PipelineChecks& pipelines, ReceiptChecks& receipts)
      : model_(model),
        presence_(presence),
        scatters_(scatters),
        pipelines_(pipelines),
        receipts_(receipts) {}

  // A new message, whose deliveries are known: begins what is to be waited for.
  void begin(const Step& step, const core::Send& command);
  void on_timed_out(const Step& step, const NamedEffect& effect);
  // The broker owes the sender a notice of a timeout.
  void on_notice(const std::string& sender) { --unreported_[sender]; }
  // After all effects: ends the requests that failed for everyone.
  void end_failed(const Step& step);
  void check_notices(const Step& step);
  void check_overdue(const Step& step);

 private:
  void ask_again(const Step& step, SentMessage& sent);
  std::optional<core::Duration> pause_of(Seq message, const Request& request) const;

  Model& model_;
  PresenceChecks& presence_;
  ScatterChecks& scatters_;
  PipelineChecks& pipelines_;
  ReceiptChecks& receipts_;
  std::map<std::string, int> unreported_;  // By sender: timeouts less notices of them.
};

}  // namespace parley::sim
