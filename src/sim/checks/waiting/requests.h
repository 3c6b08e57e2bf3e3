// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "sim/checks/agents/presence.h"
#include "sim/checks/waiting/answers.h"
#include "sim/checks/waiting/pipelines.h"
#include "sim/checks/waiting/receipts.h"
#include "sim/checks/waiting/scatters.h"
#include "sim/model/model.h"

namespace parley::sim {

// Checks all that someone waits for: a message begins a request, a scatter, a pipeline or a
// receipt, and each of them ends. A request ends by an answer, a failure or the clock; it is
// retried as was asked, and its sender is told of a timeout. What ends the others is said at their
// own checks.
class RequestChecks {
 public:
  RequestChecks(Model& model, PresenceChecks& presence, AnswerChecks& answers)
      : model_(model), presence_(presence), scatters_(model, answers) {}

  // A new message, whose deliveries are known: begins what is to be waited for.
  void begin(const Step& step, const core::Send& command);
  // No one waits for what an agent asked that is removed.
  void remove(std::string_view name);
  // The broker owes the result of a scatter or a pipeline, the next stage's request, or a receipt.
  void on_owed(const Step& step, const NamedEffect& effect);
  void on_timed_out(const Step& step, const NamedEffect& effect);

  // The timer of the request, or of the receipt, stands still while the message `held` waits for
  // people, and goes on with what was left then.
  void stop_timer(Seq request, Seq held);
  void start_timer(Seq request, Seq held);
  // Its receiver `by` reports a failure that another try may mend: there is one, or it was the last
  // and the broker tells that. False: the failure passes on as it is, or `is_wish`: it was the
  // last, and its sender wants people to approve it.
  bool try_again(Seq request, const std::string& by, bool is_wish);
  // Its receiver gets more time for it.
  void extend(const Step& step, Seq request, core::Duration more);
  // Its task goes to an agent; is_moved: another than the one who had it.
  void reassign(Seq request, bool is_moved);
  // True when the request stands still for an answer of this agent.
  bool is_held_by(Seq request, const std::string& sender) const;
  // What is waited for, of a request whose answer `held` people do not allow.
  enum class Waits : uint8_t { for_this, for_others, no_more };
  Waits waits_for(Seq request, Seq held) const;
  // The request fails with this entry, before its time is over.
  void expect_failure(Seq request) { failing_.insert(request); }
  // The sender is told of a failure of what nothing waits for.
  void expect_notice(const std::string& sender, Seq request);

  // The broker owes the sender a notice of a timeout.
  void on_notice(const std::string& sender) { --unreported_[sender]; }
  // After all effects: ends the requests that failed for everyone.
  void end_failed(const Step& step);
  void check_notices(const Step& step);
  // Nothing of all that is overdue.
  void check_overdue(const Step& step);

 private:
  void check_overdue_requests(const Step& step);
  void check_timers(const Step& step);
  std::map<Seq, Request>::iterator find_waiting(Seq seq) const;
  void begin_pause(Seq seq, Request& request);
  void on_failed(const NamedEffect& effect);
  void ask_again(const Step& step, SentMessage& sent);
  std::optional<core::Duration> pause_of(Seq message, const Request& request,
                                         const core::Rules& rules) const;

  Model& model_;
  PresenceChecks& presence_;
  ScatterChecks scatters_;
  PipelineChecks pipelines_{model_};
  ReceiptChecks receipts_{model_};
  std::map<std::string, int> unreported_;  // By sender: timeouts less notices of them.
  std::set<Seq> failing_;                  // Whose last answer people do not allow.
  core::Rules rules_;                      // After the entry before: time passes by these.
};

}  // namespace parley::sim
