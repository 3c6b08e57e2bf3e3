// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "sim/model/model.h"

namespace parley::sim {

// Checks what a sender is told that asked for acknowledgements: of one message once all receivers
// have acknowledged it or it is too late, and of a roll call who is there.
class ReceiptChecks {
 public:
  explicit ReceiptChecks(Model& model) : model_(model) {}

  void begin_roll_call(const Step& step, const core::Envelope& envelope);
  void begin_receipt(const Step& step, const core::Envelope& envelope);
  // The broker owes the sender the report.
  void on_roll_called(const Step& step, const core::OutboxItem& item);
  void on_receipt(const Step& step, const core::OutboxItem& item);
  void remove_sender(std::string_view name);
  // The message waits for people, and nobody can acknowledge it.
  void stop_timer(Seq message);
  void start_timer(Seq message);
  bool is_awaited(Seq message) const {
    return roll_calls_.contains(message) || receipts_.contains(message);
  }
  // After all effects: no report is overdue.
  void check(const Step& step);

 private:
  struct RollCall {
    std::string sender;
    Time due;
    bool gone = false;  // Its sender was removed: there may be no one to tell.
    std::optional<core::Duration> left{};  // While its timer stands still.
  };
  struct Receipt {
    std::string sender;
    Time due;
    std::optional<core::Duration> left{};
  };

  void check_roll_calls(const Step& step);
  void check_receipts(const Step& step);

  Model& model_;
  std::map<Seq, RollCall> roll_calls_;  // By message, as long as they are not reported.
  std::map<Seq, Receipt> receipts_;     // The same.
};

}  // namespace parley::sim
