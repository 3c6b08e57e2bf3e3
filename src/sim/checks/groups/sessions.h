// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/model/model.h"

namespace parley::sim {

// Checks sessions: every write that was accepted is there and has its own version, and only those
// take part who may. That nothing is handed out inside a paused session is checked with deliveries.
class SessionChecks {
 public:
  explicit SessionChecks(Model& model) : model_(model) {}

  // Before the effects: what the time and the command change.
  void learn(const Step& step);
  // A new message: whether it may be sent in the session that it names, and whether it is in it.
  void join(const Step& step, const core::Envelope& envelope, SentMessage& sent);
  // After all effects.
  void check(const Step& step);

 private:
  void learn_start(const Step& step, const core::StartSession& start);
  void learn_change(const Step& step, const core::ChangeSession& change);
  bool may_change(const Step& step, const core::ChangeSession& change, Session* session);
  void apply(const Step& step, const core::ChangeSession& change, Session& session);
  void remove(std::string_view name);
  void end(Session& session);

  Model& model_;
};

}  // namespace parley::sim
