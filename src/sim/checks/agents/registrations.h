// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>
#include <string>

#include "sim/model/model.h"

namespace parley::sim {

// Learns who is registered, who subscribes to what and which rules hold. Checks the webhooks, and
// that the broker publishes on its own topics when someone listens, and only then.
class RegistrationChecks {
 public:
  explicit RegistrationChecks(Model& model) : model_(model) {}

  // The broker will publish on this topic.
  void on_published(const std::string& topic) { published_.insert(topic); }
  // After all effects, which come by the rules and the subscriptions that held before.
  void check(const Step& step);

 private:
  void check_broker_topics(const Step& step);
  void learn(const Step& step);
  void learn_webhook(const Step& step, const core::Register& command, Principal& principal);

  Model& model_;
  std::set<std::string> published_;  // With the entry at hand.
};

}  // namespace parley::sim
